"""The twin of `attnlib.reference.scores`: six scores in PyTorch, and homes for the weights of those that have some.

The book derives them in eq-dot-score, eq-scaled-score, eq-multiplicative-score, eq-additive-score, eq-cosine-score and
eq-location-score (Chapter 1).
"""

import math

import torch
from torch import Tensor, nn

from attnlib.nn import _check
from attnlib.nn.ops import unit
from attnlib.shapes import Float


def _check_same_width(who: str, Q: Tensor, K: Tensor) -> None:
    _check.matrices(who, Q=Q, K=K)
    _check.same_width(who, "queries and keys", "d_k", Q=Q, K=K)


def dot_scores(Q: Float[Tensor, "*b m d_k"], K: Float[Tensor, "*b n d_k"]) -> Float[Tensor, "*b m n"]:
    """The dot product of every query with every key (eq-dot-score)."""
    _check_same_width("dot_scores", Q, K)
    return Q @ K.mT  # eq-dot-score


def scaled_dot_scores(Q: Float[Tensor, "*b m d_k"], K: Float[Tensor, "*b n d_k"]) -> Float[Tensor, "*b m n"]:
    """Dot products divided by the square root of the width (eq-scaled-score)."""
    _check_same_width("scaled_dot_scores", Q, K)
    return Q @ K.mT / math.sqrt(Q.shape[-1])  # eq-scaled-score


def multiplicative_scores(
    Q: Float[Tensor, "*b m d_q"], K: Float[Tensor, "*b n d_k"], W: Float[Tensor, "d_q d_k"]
) -> Float[Tensor, "*b m n"]:
    """The bilinear score: queries mapped to the width of the keys, then dot products (eq-multiplicative-score)."""
    _check.matrices("multiplicative_scores", Q=Q, K=K)
    _check.floats("multiplicative_scores", Q=Q, W=W)
    if tuple(W.shape) != (Q.shape[-1], K.shape[-1]):
        raise ValueError(
            f"multiplicative_scores: W must be (d_q, d_k) = ({Q.shape[-1]}, {K.shape[-1]}), the widths of Q and K; "
            f"got {tuple(W.shape)}."
        )
    return (Q @ W) @ K.mT  # eq-multiplicative-score


def additive_scores(
    Q: Float[Tensor, "*b m d_q"],
    K: Float[Tensor, "*b n d_k"],
    W_q: Float[Tensor, "d_q d_a"],
    W_k: Float[Tensor, "d_k d_a"],
    v: Float[Tensor, "d_a"],
) -> Float[Tensor, "*b m n"]:
    """A network with one hidden layer for every pair: map both, add, squash, weigh (eq-additive-score)."""
    _check.matrices("additive_scores", Q=Q, K=K)
    _check.floats("additive_scores", Q=Q, W_q=W_q, W_k=W_k, v=v)
    _check.weight("additive_scores", "d_q", "d_a", "Q", Q.shape[-1], W_q=W_q)
    _check.weight("additive_scores", "d_k", "d_a", "K", K.shape[-1], W_k=W_k)
    if not W_q.shape[1:] == W_k.shape[1:] == v.shape:
        raise ValueError(
            "additive_scores: W_q, W_k and v must share the hidden width d_a; "
            f"got W_q {tuple(W_q.shape)}, W_k {tuple(W_k.shape)} and v {tuple(v.shape)}."
        )
    H = torch.tanh((Q @ W_q)[..., :, None, :] + (K @ W_k)[..., None, :, :])
    return H @ v  # eq-additive-score


def cosine_scores(Q: Float[Tensor, "*b m d_k"], K: Float[Tensor, "*b n d_k"]) -> Float[Tensor, "*b m n"]:
    """The cosine of the angle between every query and every key (eq-cosine-score)."""
    _check_same_width("cosine_scores", Q, K)
    return unit(Q) @ unit(K).mT  # eq-cosine-score


def location_scores(Q: Float[Tensor, "*b m d_q"], W: Float[Tensor, "d_q n"]) -> Float[Tensor, "*b m n"]:
    """Scores from the query alone: each position has a column of W (eq-location-score)."""
    _check.matrices("location_scores", Q=Q)
    _check.floats("location_scores", Q=Q, W=W)
    _check.weight("location_scores", "d_q", "n", "Q", Q.shape[-1], W=W)
    return Q @ W  # eq-location-score


def _weight(*shape: int) -> nn.Parameter:
    """Independent entries with the variance that keeps the size of what passes through."""
    return nn.Parameter(torch.randn(shape) / math.sqrt(shape[0]))


class AdditiveScore(nn.Module):
    """The additive score with its weights; queries and keys may differ in width."""

    def __init__(self, *, d_query: int, d_key: int, d_hidden: int) -> None:
        super().__init__()
        self.W_q, self.W_k, self.v = _weight(d_query, d_hidden), _weight(d_key, d_hidden), _weight(d_hidden)

    def forward(self, Q: Tensor, K: Tensor) -> Tensor:
        return additive_scores(Q, K, self.W_q, self.W_k, self.v)


class MultiplicativeScore(nn.Module):
    """The bilinear score with its matrix."""

    def __init__(self, *, d_query: int, d_key: int) -> None:
        super().__init__()
        self.W = _weight(d_query, d_key)

    def forward(self, Q: Tensor, K: Tensor) -> Tensor:
        return multiplicative_scores(Q, K, self.W)


class LocationScore(nn.Module):
    """The location-based score with one column of weights for each of n positions; it reads no keys."""

    def __init__(self, *, d_query: int, n: int) -> None:
        super().__init__()
        self.W = _weight(d_query, n)

    def forward(self, Q: Tensor) -> Tensor:
        return location_scores(Q, self.W)
