"""How well each query fits each key: six score functions, each (*b, m, n) for m queries and n keys.

The book derives them in eq-dot-score, eq-scores, eq-multiplicative-score, eq-additive-score, eq-cosine-score and
eq-location-score (Chapter 1). The twin is `attnlib.nn.scores`; `attention.attend` turns any of them into attention.
"""

import math
from typing import NamedTuple

import numpy as np

from attnlib.reference import _check
from attnlib.reference.ops import LinearCache, linear, linear_backward, unit, unit_backward
from attnlib.shapes import Array, Float


def _transposed(X: Float[Array, "*b n d"]) -> Float[Array, "*b d n"]:
    return X.swapaxes(-1, -2)


class DotCache(NamedTuple):
    Q: Float[Array, "*b m d_k"]
    K: Float[Array, "*b n d_k"]


def dot_scores(
    Q: Float[Array, "*b m d_k"], K: Float[Array, "*b n d_k"]
) -> tuple[Float[Array, "*b m n"], DotCache]:
    """The inner product of every query with every key (eq-dot-score).

    >>> S, cache = dot_scores(np.array([[1.0, 2.0]]), np.array([[3.0, 0.0], [0.0, 4.0]]))
    >>> S
    array([[3., 8.]])
    """
    _check.matrices("dot_scores", Q=Q, K=K)
    _check.same_width("dot_scores", "queries and keys", "d_k", Q=Q, K=K)
    return Q @ _transposed(K), DotCache(Q, K)  # eq-dot-score  (*b, m, n)


def dot_scores_backward(
    dS: Float[Array, "*b m n"], cache: DotCache
) -> tuple[Float[Array, "*b m d_k"], Float[Array, "*b n d_k"]]:
    """dQ, dK (eq-dot-score-backward)."""
    Q, K = cache
    return dS @ K, _transposed(dS) @ Q  # eq-dot-score-backward


def scaled_dot_scores(
    Q: Float[Array, "*b m d_k"], K: Float[Array, "*b n d_k"]
) -> tuple[Float[Array, "*b m n"], DotCache]:
    """Inner products divided by sqrt(d_k), so that their spread does not grow with the width (eq-scores).

    >>> S, cache = scaled_dot_scores(np.ones((1, 4)), np.ones((1, 4)))
    >>> S
    array([[2.]])
    """
    _check.matrices("scaled_dot_scores", Q=Q, K=K)
    _check.same_width("scaled_dot_scores", "queries and keys", "d_k", Q=Q, K=K)
    return Q @ _transposed(K) / math.sqrt(Q.shape[-1]), DotCache(Q, K)  # eq-scores  (*b, m, n)


def scaled_dot_scores_backward(
    dS: Float[Array, "*b m n"], cache: DotCache
) -> tuple[Float[Array, "*b m d_k"], Float[Array, "*b n d_k"]]:
    """dQ, dK: those of the inner product, divided by sqrt(d_k) (eq-scores-backward)."""
    return dot_scores_backward(dS / math.sqrt(cache.Q.shape[-1]), cache)  # eq-scores-backward


class MultiplicativeWeights(NamedTuple):
    W: Float[Array, "d_q d_k"]


class MultiplicativeCache(NamedTuple):
    Q: LinearCache
    QW: Float[Array, "*b m d_k"]
    K: Float[Array, "*b n d_k"]


def multiplicative_scores(
    Q: Float[Array, "*b m d_q"], K: Float[Array, "*b n d_k"], W: Float[Array, "d_q d_k"]
) -> tuple[Float[Array, "*b m n"], MultiplicativeCache]:
    """q W k^T: the inner product after a learned map of the query, whose width may differ (eq-multiplicative-score).

    Q W comes first: mapping the m queries once is cheaper than mapping the keys where keys are many or wide.

    >>> swap = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> S, cache = multiplicative_scores(np.array([[1.0, 2.0]]), np.array([[3.0, 0.0], [0.0, 4.0]]), swap)
    >>> S
    array([[6., 4.]])
    """
    _check.matrices("multiplicative_scores", Q=Q, K=K)
    _check.floats("multiplicative_scores", Q=Q, W=W)
    _check.weight("multiplicative_scores", "d_q", "d_k", "Q", Q.shape[-1], W=W)
    _check.same_width("multiplicative_scores", "W and the keys", "d_k", W=W, K=K)
    QW, cache = linear(Q, W)
    return QW @ _transposed(K), MultiplicativeCache(cache, QW, K)  # eq-multiplicative-score  (*b, m, n)


def multiplicative_scores_backward(
    dS: Float[Array, "*b m n"], cache: MultiplicativeCache
) -> tuple[Float[Array, "*b m d_q"], Float[Array, "*b n d_k"], Float[Array, "d_q d_k"]]:
    """dQ, dK, dW (eq-multiplicative-score-backward)."""
    dQ, dW, _ = linear_backward(dS @ cache.K, cache.Q)
    return dQ, _transposed(dS) @ cache.QW, dW  # eq-multiplicative-score-backward


class AdditiveWeights(NamedTuple):
    W_q: Float[Array, "d_q d_a"]
    W_k: Float[Array, "d_k d_a"]
    v: Float[Array, "d_a"]


class AdditiveCache(NamedTuple):
    Q: LinearCache
    K: LinearCache
    H: Float[Array, "*b m n d_a"]
    v: Float[Array, "d_a"]


def additive_scores(
    Q: Float[Array, "*b m d_q"],
    K: Float[Array, "*b n d_k"],
    W_q: Float[Array, "d_q d_a"],
    W_k: Float[Array, "d_k d_a"],
    v: Float[Array, "d_a"],
) -> tuple[Float[Array, "*b m n"], AdditiveCache]:
    """tanh(q W_q + k W_k) · v: a network of one hidden layer reads each pair (eq-additive-score).

    >>> one = np.ones((1, 1))
    >>> S, cache = additive_scores(one, np.array([[-1.0], [0.0]]), one, one, np.array([2.0]))
    >>> S.round(4)  # 2 tanh(1 - 1), 2 tanh(1 + 0)
    array([[0.    , 1.5232]])
    """
    who = "additive_scores"
    _check.matrices(who, Q=Q, K=K)
    _check.floats(who, Q=Q, W_q=W_q, W_k=W_k, v=v)
    _check.weight(who, "d_q", "d_a", "Q", Q.shape[-1], W_q=W_q)
    _check.weight(who, "d_k", "d_a", "K", K.shape[-1], W_k=W_k)
    _check.same_width(who, "W_q, W_k and v", "d_a", W_q=W_q, W_k=W_k, v=v)
    A_q, q_cache = linear(Q, W_q)
    A_k, k_cache = linear(K, W_k)
    H = np.tanh(A_q[..., :, None, :] + A_k[..., None, :, :])  # eq-additive-score  (*b, m, n, d_a)
    return H @ v, AdditiveCache(q_cache, k_cache, H, v)  # eq-additive-score  (*b, m, n)


def additive_scores_backward(
    dS: Float[Array, "*b m n"], cache: AdditiveCache
) -> tuple[
    Float[Array, "*b m d_q"],
    Float[Array, "*b n d_k"],
    Float[Array, "d_q d_a"],
    Float[Array, "d_k d_a"],
    Float[Array, "d_a"],
]:
    """dQ, dK, dW_q, dW_k, dv; a query's gradient sums over the keys it met (eq-additive-score-backward)."""
    H, v = cache.H, cache.v
    dv = np.tensordot(dS, H, axes=dS.ndim)  # eq-additive-score-backward  (d_a)
    dA = dS[..., None] * v * (1 - H**2)  # eq-additive-score-backward  (*b, m, n, d_a)
    dQ, dW_q, _ = linear_backward(dA.sum(axis=-2), cache.Q)
    dK, dW_k, _ = linear_backward(dA.sum(axis=-3), cache.K)
    return dQ, dK, dW_q, dW_k, dv


def cosine_scores(
    Q: Float[Array, "*b m d_k"], K: Float[Array, "*b n d_k"]
) -> tuple[Float[Array, "*b m n"], DotCache]:
    """The cosine of the angle between every query and every key; their lengths do not count (eq-cosine-score).

    >>> S, cache = cosine_scores(np.array([[2.0, 0.0]]), np.array([[3.0, 4.0], [0.0, 7.0]]))
    >>> S
    array([[0.6, 0. ]])
    """
    _check.matrices("cosine_scores", Q=Q, K=K)
    _check.same_width("cosine_scores", "queries and keys", "d_k", Q=Q, K=K)
    return unit(Q) @ _transposed(unit(K)), DotCache(Q, K)  # eq-cosine-score  (*b, m, n)


def cosine_scores_backward(
    dS: Float[Array, "*b m n"], cache: DotCache
) -> tuple[Float[Array, "*b m d_k"], Float[Array, "*b n d_k"]]:
    """dQ, dK: through the inner product of unit vectors (eq-cosine-score-backward)."""
    Q, K = cache
    dU_Q, dU_K = dot_scores_backward(dS, DotCache(unit(Q), unit(K)))
    return unit_backward(dU_Q, Q), unit_backward(dU_K, K)  # eq-cosine-score-backward


class LocationWeights(NamedTuple):
    W: Float[Array, "d_q n"]


def location_scores(
    Q: Float[Array, "*b m d_q"], W: Float[Array, "d_q n"]
) -> tuple[Float[Array, "*b m n"], LinearCache]:
    """Scores of n positions from the query alone, without a look at what stands there (eq-location-score).

    >>> S, cache = location_scores(np.array([[1.0, 2.0]]), np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]))
    >>> S
    array([[1., 2., 3.]])
    """
    _check.matrices("location_scores", Q=Q)
    _check.floats("location_scores", Q=Q, W=W)
    _check.weight("location_scores", "d_q", "n", "Q", Q.shape[-1], W=W)
    return linear(Q, W)  # eq-location-score  (*b, m, n)


def location_scores_backward(
    dS: Float[Array, "*b m n"], cache: LinearCache
) -> tuple[Float[Array, "*b m d_q"], Float[Array, "d_q n"]]:
    """dQ, dW (eq-linear-map-backward)."""
    dQ, dW, _ = linear_backward(dS, cache)
    return dQ, dW
