"""Scores: how well each key matches each query, by six different functions, each with its backward.

The book derives them in eq-dot-score, eq-scaled-score, eq-multiplicative-score, eq-additive-score, eq-cosine-score and
eq-location-score (Chapter 1). The twin, where autograd does the backward, is `attnlib.nn.scores`.
"""

import math
from typing import NamedTuple

import numpy as np

from attnlib.reference.ops import unit, unit_backward
from attnlib.shapes import Array, Float, checked


class DotCache(NamedTuple):
    Q: Float[Array, "*b m d_k"]
    K: Float[Array, "*b n d_k"]


def _pairs(X: Float[Array, "..."], Y: Float[Array, "..."]) -> Float[Array, "..."]:
    """X^T Y over all rows of the batch: the gradient of a matrix that all rows share."""
    return X.reshape(-1, X.shape[-1]).T @ Y.reshape(-1, Y.shape[-1])


@checked
def dot_scores(
    Q: Float[Array, "*b m d_k"], K: Float[Array, "*b n d_k"]
) -> tuple[Float[Array, "*b m n"], DotCache]:
    """The dot product of every query with every key (eq-dot-score).

    >>> dot_scores(np.array([[1.0, 2.0]]), np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))[0]
    array([[1., 2., 3.]])
    """
    return Q @ K.swapaxes(-1, -2), DotCache(Q, K)  # eq-dot-score  (*b, m, n)


@checked
def dot_scores_backward(
    dS: Float[Array, "*b m n"], cache: DotCache
) -> tuple[Float[Array, "*b m d_k"], Float[Array, "*b n d_k"]]:
    """dQ and dK: dQ sums over keys, dK over queries (eq-dot-score-backward)."""
    Q, K = cache
    return dS @ K, dS.swapaxes(-1, -2) @ Q  # eq-dot-score-backward


@checked
def scaled_dot_scores(
    Q: Float[Array, "*b m d_k"], K: Float[Array, "*b n d_k"]
) -> tuple[Float[Array, "*b m n"], DotCache]:
    """Dot products divided by the square root of the width, so that their size does not grow with it (eq-scaled-score).

    >>> scaled_dot_scores(np.array([[1.0, 1.0, 1.0, 1.0]]), np.array([[2.0, 2.0, 2.0, 2.0]]))[0]
    array([[4.]])
    """
    return Q @ K.swapaxes(-1, -2) / math.sqrt(Q.shape[-1]), DotCache(Q, K)  # eq-scaled-score  (*b, m, n)


@checked
def scaled_dot_scores_backward(
    dS: Float[Array, "*b m n"], cache: DotCache
) -> tuple[Float[Array, "*b m d_k"], Float[Array, "*b n d_k"]]:
    """dQ and dK, with the same divisor (eq-scaled-score-backward)."""
    return dot_scores_backward(dS / math.sqrt(cache.Q.shape[-1]), cache)  # eq-scaled-score-backward


class MultiplicativeCache(NamedTuple):
    Q: Float[Array, "*b m d_q"]
    K: Float[Array, "*b n d_k"]
    W: Float[Array, "d_q d_k"]


@checked
def multiplicative_scores(
    Q: Float[Array, "*b m d_q"], K: Float[Array, "*b n d_k"], W: Float[Array, "d_q d_k"]
) -> tuple[Float[Array, "*b m n"], MultiplicativeCache]:
    """The bilinear score: the query is mapped to the width of the keys, then compared by dot product
    (eq-multiplicative-score).

    Mapping the m queries first costs m d_q d_k; mapping the n keys instead would cost n d_q d_k.

    >>> Q, K, W = np.array([[1.0, 2.0]]), np.array([[1.0, 0.0, 1.0]]), np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 3.0]])
    >>> multiplicative_scores(Q, K, W)[0]
    array([[7.]])
    """
    return (Q @ W) @ K.swapaxes(-1, -2), MultiplicativeCache(Q, K, W)  # eq-multiplicative-score  (*b, m, n)


@checked
def multiplicative_scores_backward(
    dS: Float[Array, "*b m n"], cache: MultiplicativeCache
) -> tuple[Float[Array, "*b m d_q"], Float[Array, "*b n d_k"], Float[Array, "d_q d_k"]]:
    """dQ, dK and dW; every pair in the batch adds to dW (eq-multiplicative-score-backward)."""
    Q, K, W = cache
    dS_K = dS @ K  #                                            (*b, m, d_k)
    dQ, dK = dS_K @ W.T, dS.swapaxes(-1, -2) @ (Q @ W)  #       eq-multiplicative-score-backward
    return dQ, dK, _pairs(Q, dS_K)


class AdditiveCache(NamedTuple):
    Q: Float[Array, "*b m d_q"]
    K: Float[Array, "*b n d_k"]
    W_q: Float[Array, "d_q d_a"]
    W_k: Float[Array, "d_k d_a"]
    v: Float[Array, "d_a"]
    H: Float[Array, "*b m n d_a"]


@checked
def additive_scores(
    Q: Float[Array, "*b m d_q"],
    K: Float[Array, "*b n d_k"],
    W_q: Float[Array, "d_q d_a"],
    W_k: Float[Array, "d_k d_a"],
    v: Float[Array, "d_a"],
) -> tuple[Float[Array, "*b m n"], AdditiveCache]:
    """A network with one hidden layer for every pair: map both, add, tanh, weighted sum (eq-additive-score).

    Queries and keys may differ in width. A score never exceeds the sum of |v|.

    >>> one = np.array([[1.0]])
    >>> additive_scores(np.array([[0.0]]), np.array([[0.0], [100.0]]), one, one, np.array([2.0]))[0]
    array([[0., 2.]])
    """
    H = np.tanh((Q @ W_q)[..., :, None, :] + (K @ W_k)[..., None, :, :])  # (*b, m, n, d_a)
    return H @ v, AdditiveCache(Q, K, W_q, W_k, v, H)  # eq-additive-score  (*b, m, n)


@checked
def additive_scores_backward(
    dS: Float[Array, "*b m n"], cache: AdditiveCache
) -> tuple[
    Float[Array, "*b m d_q"],
    Float[Array, "*b n d_k"],
    Float[Array, "d_q d_a"],
    Float[Array, "d_k d_a"],
    Float[Array, "d_a"],
]:
    """dQ, dK, dW_q, dW_k, dv; 1 - H^2 is the derivative of tanh (eq-additive-score-backward)."""
    Q, K, W_q, W_k, v, H = cache
    dZ = dS[..., None] * v * (1 - H**2)  # eq-additive-score-backward  (*b, m, n, d_a)
    dZ_q, dZ_k = dZ.sum(axis=-2), dZ.sum(axis=-3)
    dv = _pairs(dS[..., None], H)[0]
    return dZ_q @ W_q.T, dZ_k @ W_k.T, _pairs(Q, dZ_q), _pairs(K, dZ_k), dv


@checked
def cosine_scores(
    Q: Float[Array, "*b m d_k"], K: Float[Array, "*b n d_k"]
) -> tuple[Float[Array, "*b m n"], DotCache]:
    """The cosine of the angle between every query and every key: independent of their lengths (eq-cosine-score).

    >>> cosine_scores(np.array([[10.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 7.0], [-2.0, 0.0]]))[0]
    array([[ 1.,  0., -1.]])
    """
    return unit(Q) @ unit(K).swapaxes(-1, -2), DotCache(Q, K)  # eq-cosine-score  (*b, m, n)


@checked
def cosine_scores_backward(
    dS: Float[Array, "*b m n"], cache: DotCache
) -> tuple[Float[Array, "*b m d_k"], Float[Array, "*b n d_k"]]:
    """dQ and dK: the backward of the dot product of unit vectors, then that of `unit` (eq-cosine-score-backward)."""
    Q, K = cache
    dU_q, dU_k = dot_scores_backward(dS, DotCache(unit(Q), unit(K)))
    return unit_backward(dU_q, Q), unit_backward(dU_k, K)  # eq-cosine-score-backward


class LocationCache(NamedTuple):
    Q: Float[Array, "*b m d_q"]
    W: Float[Array, "d_q n"]


@checked
def location_scores(
    Q: Float[Array, "*b m d_q"], W: Float[Array, "d_q n"]
) -> tuple[Float[Array, "*b m n"], LocationCache]:
    """Scores from the query alone: each position has a column of W, whatever its content (eq-location-score).

    >>> location_scores(np.array([[1.0, 2.0]]), np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]))[0]
    array([[1., 2., 3.]])
    """
    return Q @ W, LocationCache(Q, W)  # eq-location-score  (*b, m, n)


@checked
def location_scores_backward(
    dS: Float[Array, "*b m n"], cache: LocationCache
) -> tuple[Float[Array, "*b m d_q"], Float[Array, "d_q n"]]:
    """dQ and dW; there are no keys to learn (eq-location-score-backward)."""
    Q, W = cache
    return dS @ W.T, _pairs(Q, dS)  # eq-location-score-backward
