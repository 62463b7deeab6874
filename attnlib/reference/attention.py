"""The attention function: score, normalise, average; and the layer that makes queries, keys and values from inputs.

m queries look at n keys; value j belongs to key j. The book derives it in eq-scores, eq-weights, eq-attention,
eq-projections and, backwards, eq-attention-backward (Chapter 1). The twin is `attnlib.nn.attention`.
"""

import math
from typing import NamedTuple

import numpy as np

from attnlib.reference import _check
from attnlib.reference.ops import (
    LinearCache,
    linear,
    linear_backward,
    masked_softmax,
    masked_softmax_backward,
)
from attnlib.shapes import Array, Bool, Float


def attention_by_loops(
    Q: Float[Array, "m d_k"], K: Float[Array, "n d_k"], V: Float[Array, "n d_v"]
) -> Float[Array, "m d_v"]:
    """Attention as one would do it by hand: a loop over queries, over keys, over coordinates (eq-attention).

    >>> attention_by_loops(np.zeros((1, 2)), np.eye(2), np.array([[1.0], [3.0]]))  # equal scores: the plain mean
    array([[2.]])
    """
    (m, d_k), (n, d_v) = Q.shape, V.shape
    O = np.zeros((m, d_v), dtype=V.dtype)
    for i in range(m):
        scores = []
        for j in range(n):
            dot = 0.0
            for c in range(d_k):
                dot += float(Q[i, c]) * float(K[j, c])
            scores.append(dot / math.sqrt(d_k))  # eq-scores
        exponentials = [math.exp(score - max(scores)) for score in scores]
        for j in range(n):
            weight = exponentials[j] / sum(exponentials)  # eq-weights
            for c in range(d_v):
                O[i, c] += weight * V[j, c]  # eq-attention
    return O


class AttendCache(NamedTuple):
    P: Float[Array, "*b m n"]
    V: Float[Array, "*b n d_v"]


def attend(
    S: Float[Array, "*b m n"], V: Float[Array, "*b n d_v"], mask: Bool[Array, "..."] | None = None
) -> tuple[Float[Array, "*b m d_v"], AttendCache]:
    """Normalise the scores and average the values, whatever the scores came from (eq-weights, eq-attention).

    mask broadcasts to S, True = may look; a query that may look nowhere gets zeros.

    >>> O, cache = attend(np.array([[0.0, 0.0], [0.0, -math.inf]]), np.array([[1.0], [3.0]]))
    >>> O
    array([[2.],
           [1.]])
    """
    _check.matrices("attend", S=S, V=V)
    _check.one_value_per_score("attend", S, V)
    _check.boolean_mask("attend", mask, S.shape)
    _check.finite("attend", V=V)
    P = masked_softmax(S, mask)  # eq-weights    (*b, m, n)
    O = P @ V  #                   eq-attention  (*b, m, d_v)
    return O, AttendCache(P, V)


def attend_backward(
    dO: Float[Array, "*b m d_v"], cache: AttendCache
) -> tuple[Float[Array, "*b m n"], Float[Array, "*b n d_v"]]:
    """dS, dV (eq-attention-backward)."""
    P, V = cache
    dP = dO @ V.swapaxes(-1, -2)  # eq-attention-backward  (*b, m, n)
    dV = P.swapaxes(-1, -2) @ dO  # eq-attention-backward  (*b, n, d_v)
    return masked_softmax_backward(dP, P), dV


class AttentionCache(NamedTuple):
    Q: Float[Array, "*b m d_k"]
    K: Float[Array, "*b n d_k"]
    V: Float[Array, "*b n d_v"]
    P: Float[Array, "*b m n"]


def scaled_dot_product_attention(
    Q: Float[Array, "*b m d_k"],
    K: Float[Array, "*b n d_k"],
    V: Float[Array, "*b n d_v"],
    mask: Bool[Array, "..."] | None = None,
) -> tuple[Float[Array, "*b m d_v"], AttentionCache]:
    """For each query, an average of the values, weighted by how well their keys fit (eq-attention).

    mask broadcasts to (*b, m, n), True = may look; a query that may look nowhere gets zeros. `cache.P` are the weights.

    >>> Q, K, V = np.zeros((1, 2)), np.eye(2), np.array([[1.0], [3.0]])
    >>> O, cache = scaled_dot_product_attention(Q, K, V)
    >>> cache.P, O  # equal scores, equal weights, the plain mean
    (array([[0.5, 0.5]]), array([[2.]]))
    >>> O, cache = scaled_dot_product_attention(Q, K, V, mask=np.array([[False, True]]))
    >>> cache.P, O
    (array([[0., 1.]]), array([[3.]]))
    """
    who = "scaled_dot_product_attention"
    _check.matrices(who, Q=Q, K=K, V=V)
    _check.same_width(who, "queries and keys", "d_k", Q=Q, K=K)
    _check.same_count(who, "keys and values", "n", K=K, V=V)
    _check.boolean_mask(who, mask, (*Q.shape[:-1], K.shape[-2]))
    _check.finite(who, Q=Q, K=K, V=V)
    S = Q @ K.swapaxes(-1, -2) / math.sqrt(Q.shape[-1])  # eq-scores     (*b, m, n)
    P = masked_softmax(S, mask)  #                         eq-weights    (*b, m, n)
    O = P @ V  #                                           eq-attention  (*b, m, d_v)
    return O, AttentionCache(Q, K, V, P)


def scaled_dot_product_attention_backward(
    dO: Float[Array, "*b m d_v"], cache: AttentionCache
) -> tuple[Float[Array, "*b m d_k"], Float[Array, "*b n d_k"], Float[Array, "*b n d_v"]]:
    """dQ, dK, dV (eq-attention-backward); masks need no care here, their weights in P are zero."""
    Q, K, V, P = cache
    dS, dV = attend_backward(dO, AttendCache(P, V))
    dS = dS / math.sqrt(Q.shape[-1])
    return dS @ K, dS.swapaxes(-1, -2) @ Q, dV  # eq-attention-backward


class AttentionWeights(NamedTuple):
    W_Q: Float[Array, "d_query d_k"]
    W_K: Float[Array, "d_input d_k"]
    W_V: Float[Array, "d_input d_v"]


class AttentionLayerCache(NamedTuple):
    Q: LinearCache
    K: LinearCache
    V: LinearCache
    attention: AttentionCache


def attention_layer(
    X_Q: Float[Array, "*b m d_query"],
    X: Float[Array, "*b n d_input"],
    weights: AttentionWeights,
    mask: Bool[Array, "..."] | None = None,
) -> tuple[Float[Array, "*b m d_v"], AttentionLayerCache]:
    """Queries from X_Q, keys and values from X, then attention (eq-projections, eq-attention).

    With X_Q = X this is self-attention. `cache.attention.P` are the weights.

    >>> identity = AttentionWeights(np.eye(2), np.eye(2), np.eye(2))
    >>> Y, cache = attention_layer(np.zeros((1, 2)), np.array([[1.0, 0.0], [3.0, 2.0]]), identity)
    >>> Y
    array([[2., 1.]])
    """
    who = "attention_layer"
    W_Q, W_K, W_V = weights
    _check.matrices(who, X_Q=X_Q, X=X)
    _check.floats(who, X=X, W_Q=W_Q, W_K=W_K, W_V=W_V)
    _check.weight(who, "d_query", "d_k", "X_Q", X_Q.shape[-1], W_Q=W_Q)
    _check.weight(who, "d_input", "d_k", "X", X.shape[-1], W_K=W_K)
    _check.weight(who, "d_input", "d_v", "X", X.shape[-1], W_V=W_V)
    _check.same_width(who, "W_Q and W_K", "d_k", W_Q=W_Q, W_K=W_K)
    Q, Q_cache = linear(X_Q, W_Q)  # eq-projections  (*b, m, d_k)
    K, K_cache = linear(X, W_K)  #   eq-projections  (*b, n, d_k)
    V, V_cache = linear(X, W_V)  #   eq-projections  (*b, n, d_v)
    Y, cache = scaled_dot_product_attention(Q, K, V, mask)  # eq-attention
    return Y, AttentionLayerCache(Q_cache, K_cache, V_cache, cache)


def attention_layer_backward(
    dY: Float[Array, "*b m d_v"], cache: AttentionLayerCache
) -> tuple[Float[Array, "*b m d_query"], Float[Array, "*b n d_input"], AttentionWeights]:
    """dX_Q, dX and the gradients of the weights; X fed keys and values, so its two gradients add."""
    dQ, dK, dV = scaled_dot_product_attention_backward(dY, cache.attention)
    dX_Q, dW_Q, _ = linear_backward(dQ, cache.Q)  # eq-projections-backward
    dX_K, dW_K, _ = linear_backward(dK, cache.K)  # eq-projections-backward
    dX_V, dW_V, _ = linear_backward(dV, cache.V)  # eq-projections-backward
    return dX_Q, dX_K + dX_V, AttentionWeights(dW_Q, dW_K, dW_V)
