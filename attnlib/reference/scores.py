"""Scores: how well each key fits each query, by six different rules, each with its backward.

The book derives them in eq-dot-score, eq-scaled-score, eq-multiplicative-score, eq-additive-score, eq-cosine-score and
eq-location-score (Chapter 1). The twin, where autograd does the backward, is `attnlib.nn.scores`.
"""

import math
from typing import NamedTuple

import numpy as np

from attnlib.reference import _check
from attnlib.reference.ops import unit, unit_backward
from attnlib.shapes import Array, Float


class DotCache(NamedTuple):
    Q: Float[Array, "*b m d_k"]
    K: Float[Array, "*b n d_k"]


def _pairs(X: Float[Array, "..."], Y: Float[Array, "..."]) -> Float[Array, "..."]:
    """X^T Y over all rows of the batch: the gradient of a weight that all of them share."""
    return X.reshape(-1, X.shape[-1]).T @ Y.reshape(-1, Y.shape[-1])


def _check_same_width(who: str, Q: Float[Array, "..."], K: Float[Array, "..."]) -> None:
    _check.matrices(who, Q=Q, K=K)
    _check.same_width(who, "queries and keys", "d_k", Q=Q, K=K)


def dot_scores(
    Q: Float[Array, "*b m d_k"], K: Float[Array, "*b n d_k"]
) -> tuple[Float[Array, "*b m n"], DotCache]:
    """The dot product of every query with every key (eq-dot-score).

    >>> dot_scores(np.array([[1.0, 2.0]]), np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))[0]
    array([[1., 2., 3.]])
    """
    _check_same_width("dot_scores", Q, K)
    return Q @ K.swapaxes(-1, -2), DotCache(Q, K)  # eq-dot-score  (*b, m, n)


def dot_scores_backward(
    dS: Float[Array, "*b m n"], cache: DotCache
) -> tuple[Float[Array, "*b m d_k"], Float[Array, "*b n d_k"]]:
    """dQ and dK: each query collects keys, each key collects queries (eq-dot-score-backward)."""
    Q, K = cache
    return dS @ K, dS.swapaxes(-1, -2) @ Q  # eq-dot-score-backward


def scaled_dot_scores(
    Q: Float[Array, "*b m d_k"], K: Float[Array, "*b n d_k"]
) -> tuple[Float[Array, "*b m n"], DotCache]:
    """Dot products divided by the square root of the width, so that their size does not grow with it (eq-scaled-score).

    >>> scaled_dot_scores(np.array([[1.0, 1.0, 1.0, 1.0]]), np.array([[2.0, 2.0, 2.0, 2.0]]))[0]
    array([[4.]])
    """
    _check_same_width("scaled_dot_scores", Q, K)
    return Q @ K.swapaxes(-1, -2) / math.sqrt(Q.shape[-1]), DotCache(Q, K)  # eq-scaled-score  (*b, m, n)


def scaled_dot_scores_backward(
    dS: Float[Array, "*b m n"], cache: DotCache
) -> tuple[Float[Array, "*b m d_k"], Float[Array, "*b n d_k"]]:
    """dQ and dK, with the same divisor (eq-scaled-score-backward)."""
    return dot_scores_backward(dS / math.sqrt(cache.Q.shape[-1]), cache)  # eq-scaled-score-backward


class MultiplicativeCache(NamedTuple):
    Q: Float[Array, "*b m d_q"]
    K: Float[Array, "*b n d_k"]
    W: Float[Array, "d_q d_k"]


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
    _check.matrices("multiplicative_scores", Q=Q, K=K)
    _check.floats("multiplicative_scores", Q=Q, W=W)
    if W.shape != (Q.shape[-1], K.shape[-1]):
        raise ValueError(
            f"multiplicative_scores: W must be (d_q, d_k) = ({Q.shape[-1]}, {K.shape[-1]}), the widths of Q and K; "
            f"got {W.shape}."
        )
    return (Q @ W) @ K.swapaxes(-1, -2), MultiplicativeCache(Q, K, W)  # eq-multiplicative-score  (*b, m, n)


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


def additive_scores(
    Q: Float[Array, "*b m d_q"],
    K: Float[Array, "*b n d_k"],
    W_q: Float[Array, "d_q d_a"],
    W_k: Float[Array, "d_k d_a"],
    v: Float[Array, "d_a"],
) -> tuple[Float[Array, "*b m n"], AdditiveCache]:
    """A network with one hidden layer for every pair: map both, add, squash, weigh (eq-additive-score).

    Queries and keys may differ in width. A score never exceeds the sum of |v|.

    >>> one = np.array([[1.0]])
    >>> additive_scores(np.array([[0.0]]), np.array([[0.0], [100.0]]), one, one, np.array([2.0]))[0]
    array([[0., 2.]])
    """
    _check.matrices("additive_scores", Q=Q, K=K)
    _check.floats("additive_scores", Q=Q, W_q=W_q, W_k=W_k, v=v)
    _check.weight("additive_scores", "d_q", "d_a", "Q", Q.shape[-1], W_q=W_q)
    _check.weight("additive_scores", "d_k", "d_a", "K", K.shape[-1], W_k=W_k)
    if not W_q.shape[1:] == W_k.shape[1:] == v.shape:
        raise ValueError(
            "additive_scores: W_q, W_k and v must share the hidden width d_a; "
            f"got W_q {W_q.shape}, W_k {W_k.shape} and v {v.shape}."
        )
    H = np.tanh((Q @ W_q)[..., :, None, :] + (K @ W_k)[..., None, :, :])  # (*b, m, n, d_a)
    return H @ v, AdditiveCache(Q, K, W_q, W_k, v, H)  # eq-additive-score  (*b, m, n)


def additive_scores_backward(
    dS: Float[Array, "*b m n"], cache: AdditiveCache
) -> tuple[
    Float[Array, "*b m d_q"],
    Float[Array, "*b n d_k"],
    Float[Array, "d_q d_a"],
    Float[Array, "d_k d_a"],
    Float[Array, "d_a"],
]:
    """dQ, dK, dW_q, dW_k, dv; 1 - H^2 is the slope of tanh (eq-additive-score-backward)."""
    Q, K, W_q, W_k, v, H = cache
    dZ = dS[..., None] * v * (1 - H**2)  # eq-additive-score-backward  (*b, m, n, d_a)
    dZ_q, dZ_k = dZ.sum(axis=-2), dZ.sum(axis=-3)
    dv = _pairs(dS[..., None], H)[0]
    return dZ_q @ W_q.T, dZ_k @ W_k.T, _pairs(Q, dZ_q), _pairs(K, dZ_k), dv


def cosine_scores(
    Q: Float[Array, "*b m d_k"], K: Float[Array, "*b n d_k"]
) -> tuple[Float[Array, "*b m n"], DotCache]:
    """The cosine of the angle between every query and every key: lengths do not count (eq-cosine-score).

    >>> cosine_scores(np.array([[10.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 7.0], [-2.0, 0.0]]))[0]
    array([[ 1.,  0., -1.]])
    """
    _check_same_width("cosine_scores", Q, K)
    return unit(Q) @ unit(K).swapaxes(-1, -2), DotCache(Q, K)  # eq-cosine-score  (*b, m, n)


def cosine_scores_backward(
    dS: Float[Array, "*b m n"], cache: DotCache
) -> tuple[Float[Array, "*b m d_k"], Float[Array, "*b n d_k"]]:
    """dQ and dK: the dot product's, between unit vectors, then through the division (eq-cosine-score-backward)."""
    Q, K = cache
    dU_q, dU_k = dot_scores_backward(dS, DotCache(unit(Q), unit(K)))
    return unit_backward(dU_q, Q), unit_backward(dU_k, K)  # eq-cosine-score-backward


class LocationCache(NamedTuple):
    Q: Float[Array, "*b m d_q"]
    W: Float[Array, "d_q n"]


def location_scores(
    Q: Float[Array, "*b m d_q"], W: Float[Array, "d_q n"]
) -> tuple[Float[Array, "*b m n"], LocationCache]:
    """Scores from the query alone: each position has a column of W, whatever stands there (eq-location-score).

    >>> location_scores(np.array([[1.0, 2.0]]), np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]))[0]
    array([[1., 2., 3.]])
    """
    _check.matrices("location_scores", Q=Q)
    _check.floats("location_scores", Q=Q, W=W)
    _check.weight("location_scores", "d_q", "n", "Q", Q.shape[-1], W=W)
    return Q @ W, LocationCache(Q, W)  # eq-location-score  (*b, m, n)


def location_scores_backward(
    dS: Float[Array, "*b m n"], cache: LocationCache
) -> tuple[Float[Array, "*b m d_q"], Float[Array, "d_q n"]]:
    """dQ and dW; there are no keys to learn (eq-location-score-backward)."""
    Q, W = cache
    return dS @ W.T, _pairs(Q, dS)  # eq-location-score-backward
