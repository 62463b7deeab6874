"""The twin of `attnlib.reference.scores`: six scores in PyTorch, and modules for those with parameters.

The book derives them in eq-dot-score, eq-scaled-score, eq-multiplicative-score, eq-additive-score, eq-cosine-score and
eq-location-score (Chapter 1).
"""

import math

import torch
from torch import Tensor, nn

from attnlib.nn.ops import unit
from attnlib.shapes import Float, checked


@checked
def dot_scores(Q: Float[Tensor, "*b m d_k"], K: Float[Tensor, "*b n d_k"]) -> Float[Tensor, "*b m n"]:
    """The dot product of every query with every key (eq-dot-score)."""
    return Q @ K.mT  # eq-dot-score


@checked
def scaled_dot_scores(Q: Float[Tensor, "*b m d_k"], K: Float[Tensor, "*b n d_k"]) -> Float[Tensor, "*b m n"]:
    """Dot products divided by the square root of the width (eq-scaled-score)."""
    return Q @ K.mT / math.sqrt(Q.shape[-1])  # eq-scaled-score


@checked
def multiplicative_scores(
    Q: Float[Tensor, "*b m d_q"], K: Float[Tensor, "*b n d_k"], W: Float[Tensor, "d_q d_k"]
) -> Float[Tensor, "*b m n"]:
    """The bilinear score: queries mapped to the width of the keys, then dot products (eq-multiplicative-score)."""
    return (Q @ W) @ K.mT  # eq-multiplicative-score


@checked
def additive_scores(
    Q: Float[Tensor, "*b m d_q"],
    K: Float[Tensor, "*b n d_k"],
    W_q: Float[Tensor, "d_q d_a"],
    W_k: Float[Tensor, "d_k d_a"],
    v: Float[Tensor, "d_a"],
) -> Float[Tensor, "*b m n"]:
    """A network with one hidden layer for every pair: map both, add, tanh, weighted sum (eq-additive-score)."""
    H = torch.tanh((Q @ W_q)[..., :, None, :] + (K @ W_k)[..., None, :, :])
    return H @ v  # eq-additive-score


@checked
def cosine_scores(Q: Float[Tensor, "*b m d_k"], K: Float[Tensor, "*b n d_k"]) -> Float[Tensor, "*b m n"]:
    """The cosine of the angle between every query and every key (eq-cosine-score)."""
    return unit(Q) @ unit(K).mT  # eq-cosine-score


@checked
def location_scores(Q: Float[Tensor, "*b m d_q"], W: Float[Tensor, "d_q n"]) -> Float[Tensor, "*b m n"]:
    """Scores from the query alone: each position has a column of W (eq-location-score)."""
    return Q @ W  # eq-location-score


def _parameter(*shape: int) -> nn.Parameter:
    """Random entries with the variance that preserves the size of vectors."""
    return nn.Parameter(torch.randn(shape) / math.sqrt(shape[0]))


class AdditiveScore(nn.Module):
    """The additive score with its parameters; queries and keys may differ in width."""

    @checked
    def __init__(self, *, d_q: int, d_k: int, d_a: int) -> None:
        super().__init__()
        self.W_q, self.W_k, self.v = _parameter(d_q, d_a), _parameter(d_k, d_a), _parameter(d_a)

    def forward(self, Q: Tensor, K: Tensor) -> Tensor:
        return additive_scores(Q, K, self.W_q, self.W_k, self.v)


class MultiplicativeScore(nn.Module):
    """The bilinear score with its matrix."""

    @checked
    def __init__(self, *, d_q: int, d_k: int) -> None:
        super().__init__()
        self.W = _parameter(d_q, d_k)

    def forward(self, Q: Tensor, K: Tensor) -> Tensor:
        return multiplicative_scores(Q, K, self.W)


class LocationScore(nn.Module):
    """The location-based score with one column of numbers for each of n positions; it reads no keys."""

    @checked
    def __init__(self, *, d_q: int, n: int) -> None:
        super().__init__()
        self.W = _parameter(d_q, n)

    def forward(self, Q: Tensor) -> Tensor:
        return location_scores(Q, self.W)
