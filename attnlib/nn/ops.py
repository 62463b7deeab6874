"""The twin of `attnlib.reference.ops`: the same functions in PyTorch, where autograd does the backward.

The book derives them in eq-linear-map, eq-norm, eq-softmax, eq-masked-softmax, eq-temperature and eq-entropy
(Chapter 1).
"""

import math

import torch
from torch import Tensor

from attnlib.nn import _check
from attnlib.shapes import Bool, Float


def linear(
    X: Float[Tensor, "*b d_in"], W: Float[Tensor, "d_in d_out"], b: Float[Tensor, "d_out"] | None = None
) -> Float[Tensor, "*b d_out"]:
    """A linear map of every vector in X, plus a bias if there is one (eq-linear-map)."""
    _check.floats("linear", X=X, W=W, b=b)
    _check.linear_map("linear", X, W, b)
    Y = X @ W
    return Y if b is None else Y + b  # eq-linear-map


def norm(X: Float[Tensor, "*b d"]) -> Float[Tensor, "*b"]:
    """The Euclidean length of every vector in X (eq-norm)."""
    _check.floats("norm", X=X)
    return torch.linalg.vector_norm(X, dim=-1)  # eq-norm


def unit(X: Float[Tensor, "*b d"]) -> Float[Tensor, "*b d"]:
    """Every vector of X divided by its length (eq-unit)."""
    lengths = norm(X)[..., None]
    if not bool((lengths > 0).all()):
        raise ValueError(f"unit: a vector of length zero has no direction; got one in X {tuple(X.shape)}.")
    return X / lengths  # eq-unit


def softmax(S: Float[Tensor, "*s"], axis: int = -1) -> Float[Tensor, "*s"]:
    """Positive weights that sum to one along an axis (eq-softmax).

    >>> softmax(torch.tensor([0.0, math.log(3.0)]))
    tensor([0.2500, 0.7500])
    """
    _check.floats("softmax", S=S)
    _check.scores("softmax", S)
    _check.some_finite_score("softmax", S.amax(dim=axis))
    return torch.softmax(S, dim=axis)  # eq-softmax


def masked_softmax(S: Float[Tensor, "*s"], mask: Bool[Tensor, "*#s"] | None = None) -> Float[Tensor, "*s"]:
    """The softmax of the last axis where mask is True, zero elsewhere; an empty row is zeros (eq-masked-softmax)."""
    if mask is None:
        return softmax(S)
    _check.floats("masked_softmax", S=S)
    _check.boolean_mask("masked_softmax", mask, tuple(S.shape))
    visible = S.masked_fill(~mask, -math.inf)
    _check.scores("masked_softmax", visible)
    empty = ~mask.expand(S.shape).any(dim=-1, keepdim=True)
    P = torch.softmax(visible.masked_fill(empty, 0.0), dim=-1)  # eq-masked-softmax
    _check.some_finite_score("masked_softmax", visible.masked_fill(empty, 0.0).amax(dim=-1))
    return P.masked_fill(empty, 0.0)


def log_sum_exp(S: Float[Tensor, "*s"], axis: int = -1) -> Float[Tensor, "..."]:
    """The logarithm of the softmax's denominator, without overflow (eq-log-sum-exp)."""
    _check.floats("log_sum_exp", S=S)
    _check.scores("log_sum_exp", S)
    _check.some_finite_score("log_sum_exp", S.amax(dim=axis))
    return torch.logsumexp(S, dim=axis)  # eq-log-sum-exp


def log_softmax(S: Float[Tensor, "*s"], axis: int = -1) -> Float[Tensor, "*s"]:
    """The logarithm of the softmax, exact where the softmax itself rounds to zero (eq-log-softmax)."""
    _check.floats("log_sum_exp", S=S)
    _check.scores("log_sum_exp", S)
    _check.some_finite_score("log_sum_exp", S.amax(dim=axis))
    return torch.log_softmax(S, dim=axis)  # eq-log-softmax


def softmax_with_temperature(S: Float[Tensor, "*s"], T: float) -> Float[Tensor, "*s"]:
    """The softmax of S / T over the last axis: sharp for small T, uniform for large T (eq-temperature)."""
    _check.floats("softmax_with_temperature", S=S)
    _check.scores("softmax_with_temperature", S)
    least = torch.finfo(torch.float32 if S.dtype in (torch.float16, torch.bfloat16) else S.dtype).tiny
    _check.positive("softmax_with_temperature", "T", T, least)
    largest = S.amax(dim=-1, keepdim=True)
    _check.some_finite_score("softmax_with_temperature", largest)
    return torch.softmax((S - largest) / T, dim=-1)  # eq-temperature


def entropy(P: Float[Tensor, "*b n"]) -> Float[Tensor, "*b"]:
    """How spread out each row of weights is, in nats; 0 log 0 counts as 0 (eq-entropy)."""
    _check.floats("entropy", P=P)
    _check.probabilities("entropy", P)
    return 0 - (P * torch.log(torch.where(P > 0, P, 1.0))).sum(dim=-1)  # eq-entropy
