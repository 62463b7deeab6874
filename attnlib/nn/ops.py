"""The twin of `attnlib.reference.ops`: the same functions in PyTorch, where autograd does the backward.

The book derives them in eq-linear-map, eq-norm, eq-softmax, eq-masked-softmax, eq-temperature and eq-entropy
(Chapter 1).
"""

import math

import torch
from torch import Tensor

from attnlib import rules
from attnlib.shapes import Bool, Float, Number, checked


@checked
def linear(
    X: Float[Tensor, "*b d_in"], W: Float[Tensor, "d_in d_out"], b: Float[Tensor, "d_out"] | None = None
) -> Float[Tensor, "*b d_out"]:
    """A linear map of every vector in X, plus a bias if there is one (eq-linear-map)."""
    Y = X @ W
    return Y if b is None else Y + b  # eq-linear-map


def _scaled(
    X: Float[Tensor, "*b d"],
) -> tuple[Float[Tensor, "*b d"], Float[Tensor, "*b"], Float[Tensor, "*b 1"]]:
    """X divided by its largest entry so that squares do not overflow, the lengths of that, and the divisor."""
    largest = X.detach().abs().amax(dim=-1, keepdim=True)
    scale = torch.where((largest > 0) & (largest < math.inf), largest, 1.0)
    return X / scale, torch.linalg.vector_norm(X / scale, dim=-1), scale  # eq-norm


@checked
def length(X: Float[Tensor, "*b d"]) -> Float[Tensor, "*b"]:
    """The Euclidean length of every vector in X (eq-norm)."""
    _, lengths, scale = _scaled(X)
    return lengths * scale[..., 0]  # eq-norm


@checked
def unit(X: Float[Tensor, "*b d"]) -> Float[Tensor, "*b d"]:
    """Every vector of X divided by its length (eq-unit)."""
    scaled, lengths, _ = _scaled(X)
    return scaled / lengths[..., None]  # eq-unit


@checked
def softmax(S: Float[Tensor, "*b n"], axis: Number[int, "axis"] = -1) -> Float[Tensor, "*b n"]:
    """Positive weights that sum to one along an axis (eq-softmax).

    >>> softmax(torch.tensor([0.0, math.log(3.0)]))
    tensor([0.2500, 0.7500])
    """
    return torch.softmax(S, dim=axis)  # eq-softmax


@checked
def masked_softmax(
    S: Float[Tensor, "*b n"], mask: Bool[Tensor, "*#b #n"] | None = None
) -> Float[Tensor, "*b n"]:
    """The softmax of the last axis where mask is True, zero elsewhere; an empty row is zeros (eq-masked-softmax)."""
    if mask is None:
        return softmax(S)
    empty = ~mask.any(dim=-1, keepdim=True)
    visible = S.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
    return torch.softmax(visible, dim=-1).masked_fill(empty, 0.0)  # eq-masked-softmax


@checked
def log_sum_exp(S: Float[Tensor, "*b n"]) -> Float[Tensor, "*b"]:
    """The logarithm of the softmax's denominator, without overflow (eq-log-sum-exp)."""
    return torch.logsumexp(S, dim=-1)  # eq-log-sum-exp


@checked
def log_softmax(S: Float[Tensor, "*b n"], axis: Number[int, "axis"] = -1) -> Float[Tensor, "*b n"]:
    """The logarithm of the softmax, exact where the softmax itself rounds to zero (eq-log-softmax)."""
    return torch.log_softmax(S, dim=axis)  # eq-log-softmax


@checked
def softmax_with_temperature(S: Float[Tensor, "*b n"], T: Number[float, "0<.."]) -> Float[Tensor, "*b n"]:
    """The softmax of S / T over the last axis: sharp for small T, uniform for large T (eq-temperature)."""
    wide = torch.float32 if S.dtype in (torch.float16, torch.bfloat16) else S.dtype
    rules.in_dtype("softmax_with_temperature", "T", T, torch.finfo(wide).tiny)
    largest = S.amax(dim=-1, keepdim=True)
    gaps = S.to(wide) - largest.to(wide)  # differences of float16 leave its range (65504)
    return torch.softmax(gaps / T, dim=-1).to(S.dtype)  # eq-temperature


@checked
def entropy(P: Float[Tensor, "*b n"]) -> Float[Tensor, "*b"]:
    """How spread out each row of weights is, in nats; 0 log 0 counts as 0 (eq-entropy)."""
    return 0 - (P * torch.log(torch.where(P > 0, P, 1.0))).sum(dim=-1)  # eq-entropy
