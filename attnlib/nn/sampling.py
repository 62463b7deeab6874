"""The twin of `attnlib.reference.sampling`: choosing the next token, in PyTorch.

Chapter 4 compares them.
"""

import torch
from torch import Tensor

from attnlib.shapes import Float, Int, Number, checked


@checked
def keep_top_k(S: Float[Tensor, "*b vocab"], k: Number[int, "1.."]) -> Float[Tensor, "*b vocab"]:
    """Keep the k highest scores and those equal to the k-th; the others become -inf."""
    border = S.topk(min(k, S.shape[-1]), dim=-1).values[..., -1:]
    return S.masked_fill(border > S, -torch.inf)


@checked
def keep_nucleus(S: Float[Tensor, "*b vocab"], p: Number[float, "0<..1"]) -> Float[Tensor, "*b vocab"]:
    """Keep the fewest tokens that together have probability p or more; the others become -inf."""
    ordered, order = S.sort(dim=-1, descending=True, stable=True)
    P = ordered.softmax(dim=-1)
    before = P.cumsum(dim=-1) - P  # the probability of all likelier tokens together
    return torch.empty_like(S).scatter(-1, order, ordered.masked_fill(before >= p, -torch.inf))


@checked
def keep_min_p(S: Float[Tensor, "*b vocab"], p: Number[float, "0..1"]) -> Float[Tensor, "*b vocab"]:
    """Keep tokens at least p times as probable as the likeliest one; the others become -inf."""
    kept = (S - S.amax(dim=-1, keepdim=True)).exp() >= p
    return S.masked_fill(~kept, -torch.inf)


@checked
def sample(S: Float[Tensor, "*b vocab"], u: Float[Tensor, "*b"]) -> Int[Tensor, "*b"]:
    """A token for each row, from uniform random numbers u: the first at which the cumulative probability exceeds u."""
    below = (S.softmax(dim=-1).cumsum(dim=-1) <= u[..., None]).sum(dim=-1)
    last = torch.where(-torch.inf < S, torch.arange(S.shape[-1], device=S.device), 0).amax(dim=-1)
    return torch.minimum(below, last)
