"""Attention: normalise scores, average values. For any scores, for dot products, and as a layer with its projections.

The book derives it in eq-score, eq-weights, eq-output, eq-attend, eq-attention and eq-layer (Chapter 1). The twin,
where autograd does the backward, is `attnlib.nn.attention`.
"""

import math
from typing import NamedTuple

import numpy as np

from attnlib import rules
from attnlib.reference.ops import LinearCache, linear_backward, masked_softmax, masked_softmax_backward
from attnlib.shapes import Array, Bool, Float, checked


@checked
def attention_by_loops(
    Q: Float[Array, "m d_k"], K: Float[Array, "n d_k"], V: Float[Array, "n d_v"]
) -> Float[Array, "m d_v"]:
    """Scaled dot-product attention written out, one number at a time; for reading, and as a test of the fast form.

    >>> attention_by_loops(np.array([[1.0]]), np.array([[5.0], [5.0]]), np.array([[1.0], [3.0]]))
    array([[2.]])
    """
    (m, d_k), (n, d_v) = Q.shape, V.shape
    O = np.zeros((m, d_v), dtype=V.dtype)
    for i in range(m):
        scores = [0.0] * n
        for j in range(n):
            for c in range(d_k):
                scores[j] += float(Q[i, c]) * float(K[j, c]) / math.sqrt(d_k)  # eq-scaled-score
        largest = max(scores)
        exponentials = [math.exp(score - largest) for score in scores]
        total = sum(exponentials)
        for j in range(n):
            weight = exponentials[j] / total  # eq-weights
            for c in range(d_v):
                O[i, c] += weight * V[j, c]  # eq-output
    return O


class AttendCache(NamedTuple):
    P: Float[Array, "*b m n"]
    V: Float[Array, "*b n d_v"]


@checked
def attend(
    S: Float[Array, "*b m n"], V: Float[Array, "*b n d_v"], mask: Bool[Array, "*#b #m #n"] | None = None
) -> tuple[Float[Array, "*b m d_v"], AttendCache]:
    """Normalise any scores to weights and average the values with them (eq-attend).

    mask    True where a query may look; a query that may look nowhere gets zeros

    >>> O, cache = attend(np.array([[0.0, math.log(3.0)]]), np.array([[4.0], [8.0]]))
    >>> cache.P, O
    (array([[0.25, 0.75]]), array([[7.]]))
    """
    rules.finite("attend", "V", V)
    P = masked_softmax(S, mask)  #           eq-weights     (*b, m, n)
    return P @ V, AttendCache(P, V)  #       eq-output      (*b, m, d_v)


@checked
def attend_backward(
    dO: Float[Array, "*b m d_v"], cache: AttendCache
) -> tuple[Float[Array, "*b m n"], Float[Array, "*b n d_v"]]:
    """dS and dV: dV is weighted by P, dS goes through the softmax (eq-attend-backward)."""
    P, V = cache
    dP = dO @ V.swapaxes(-1, -2)  # eq-attend-backward
    return masked_softmax_backward(dP, P), P.swapaxes(-1, -2) @ dO


class AttentionCache(NamedTuple):
    Q: Float[Array, "*b m d_k"]
    K: Float[Array, "*b n d_k"]
    V: Float[Array, "*b n d_v"]
    P: Float[Array, "*b m n"]


@checked
def scaled_dot_product_attention(
    Q: Float[Array, "*b m d_k"],
    K: Float[Array, "*b n d_k"],
    V: Float[Array, "*b n d_v"],
    mask: Bool[Array, "*#b #m #n"] | None = None,
) -> tuple[Float[Array, "*b m d_v"], AttentionCache]:
    """Attention with scaled dot-product scores (eq-attention).

    mask    True where a query may look; a query that may look nowhere gets zeros

    >>> Q, K, V = np.array([[1.0]]), np.array([[0.0], [math.log(3.0)]]), np.array([[4.0], [8.0]])
    >>> scaled_dot_product_attention(Q, K, V)[0].round(12)
    array([[7.]])
    """
    rules.finite("scaled_dot_product_attention", "V", V)
    S = Q @ K.swapaxes(-1, -2) / math.sqrt(Q.shape[-1])  # eq-scaled-score  (*b, m, n)
    P = masked_softmax(S, mask)  #                         eq-weights       (*b, m, n)
    O = P @ V  #                                           eq-attention     (*b, m, d_v)
    return O, AttentionCache(Q, K, V, P)


@checked
def scaled_dot_product_attention_backward(
    dO: Float[Array, "*b m d_v"], cache: AttentionCache
) -> tuple[Float[Array, "*b m d_k"], Float[Array, "*b n d_k"], Float[Array, "*b n d_v"]]:
    """dQ, dK, dV, from the output back to the projections (eq-attention-backward)."""
    Q, K, V, P = cache
    dS, dV = attend_backward(dO, AttendCache(P, V))
    dS = dS / math.sqrt(Q.shape[-1])
    return dS @ K, dS.swapaxes(-1, -2) @ Q, dV  # eq-attention-backward


class AttentionParameters(NamedTuple):
    W_Q: Float[Array, "d_model d_k"]
    W_K: Float[Array, "d_source d_k"]
    W_V: Float[Array, "d_source d_v"]


class LayerCache(NamedTuple):
    X: Float[Array, "*b m d_model"]
    source: Float[Array, "*b n d_source"]
    parameters: AttentionParameters
    Q: Float[Array, "*b m d_k"]
    K: Float[Array, "*b n d_k"]
    V: Float[Array, "*b n d_v"]
    P: Float[Array, "*b m n"]


@checked
def attention_layer(
    X: Float[Array, "*b m d_model"],
    source: Float[Array, "*b n d_source"],
    parameters: AttentionParameters,
    mask: Bool[Array, "*#b #m #n"] | None = None,
) -> tuple[Float[Array, "*b m d_v"], LayerCache]:
    """Attention from X to a source, with separate projections for queries, keys and values (eq-layer).

    >>> one = np.array([[1.0]])
    >>> attention_layer(one, np.array([[2.0], [2.0]]), AttentionParameters(one, one, 3 * one))[0]
    array([[6.]])
    """
    Q, K, V = X @ parameters.W_Q, source @ parameters.W_K, source @ parameters.W_V  # eq-layer
    O, attention = scaled_dot_product_attention(Q, K, V, mask)
    return O, LayerCache(X, source, parameters, *attention)


@checked
def attention_layer_backward(
    dO: Float[Array, "*b m d_v"], cache: LayerCache
) -> tuple[Float[Array, "*b m d_model"], Float[Array, "*b n d_source"], AttentionParameters]:
    """dX, dsource, gradients of the parameters; the source is used twice: two gradients add up (eq-layer-backward)."""
    X, source, parameters, *attention = cache
    dQ, dK, dV = scaled_dot_product_attention_backward(dO, AttentionCache(*attention))
    dX, dW_Q, _ = linear_backward(dQ, LinearCache(X, parameters.W_Q))
    dsource_K, dW_K, _ = linear_backward(dK, LinearCache(source, parameters.W_K))
    dsource_V, dW_V, _ = linear_backward(dV, LinearCache(source, parameters.W_V))
    return dX, dsource_K + dsource_V, AttentionParameters(dW_Q, dW_K, dW_V)  # eq-layer-backward
