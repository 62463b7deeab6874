"""Fewer keys and values than queries: groups of heads share them (grouped-query), or all do (multi-query).

The book derives it in eq-grouped-query (Chapter 3). The twin is `attnlib.nn.grouped`, and the module
`attnlib.nn.multihead.MultiHeadAttention` with `n_kv_heads`.
"""

import numpy as np

from attnlib import rules
from attnlib.reference.attention import (
    AttentionCache,
    scaled_dot_product_attention,
    scaled_dot_product_attention_backward,
)
from attnlib.reference.heads import mask_for_heads, merge_heads, split_heads
from attnlib.reference.multihead import HeadsCache, MultiHeadCache
from attnlib.reference.projections import (
    MultiHeadWeights,
    combine,
    combine_backward,
    project,
    project_backward,
)
from attnlib.shapes import Array, Bool, Float, Number, checked, where


@checked
def repeat_heads(K: Float[Array, "*b g n d"], times: Number[int, "1.."]) -> Float[Array, "*b h n d"]:
    """Each head `times` times in a row, so that query head i meets key head i // times (eq-grouped-query).

    >>> repeat_heads(np.array([[[1.0]], [[2.0]]]), times=2)[:, 0, 0]
    array([1., 1., 2., 2.])
    """
    return np.repeat(K, times, axis=-3)  # eq-grouped-query


@checked
def repeat_heads_backward(
    dR: Float[Array, "*b h n d"], times: Number[int, "1.."]
) -> Float[Array, "*b g n d"]:
    """dK: what was read several times collects several gradients (eq-grouped-query)."""
    rules.splits_evenly("repeat_heads_backward", "the number of heads", dR.shape[-3], "times", times)
    return dR.reshape(*dR.shape[:-3], dR.shape[-3] // times, times, *dR.shape[-2:]).sum(axis=-3)


@checked
@where(h="n_heads", g="n_kv_heads")
def grouped_query_attention(
    X_Q: Float[Array, "*b m d_query"],
    X: Float[Array, "*b n d_source"],
    weights: MultiHeadWeights,
    n_heads: Number[int, "1.."],
    n_kv_heads: Number[int, "1.."],
    mask: Bool[Array, "*#b #m #n"] | Bool[Array, "*#b #{n_heads} #m #n"] | None = None,
) -> tuple[Float[Array, "*b m d_out"], MultiHeadCache]:
    """Multi-head attention in which n_kv_heads key and value heads serve n_heads query heads (eq-grouped-query).

    n_kv_heads    n_heads is multi-head attention, 1 is multi-query attention; W_K and W_V are as many times narrower

    >>> eye, one, X = np.eye(2), np.ones((2, 1)), np.array([[2.0, 4.0]])
    >>> grouped_query_attention(X, X, MultiHeadWeights(eye, one, one, eye), n_heads=2, n_kv_heads=1)[0]
    array([[6., 6.]])
    """
    rules.splits_evenly("grouped_query_attention", "n_heads", n_heads, "n_kv_heads", n_kv_heads)
    Q, K, V = project(X_Q, X, weights)
    Q, K, V = split_heads(Q, n_heads), split_heads(K, n_kv_heads), split_heads(V, n_kv_heads)
    times = n_heads // n_kv_heads
    shared = mask_for_heads(mask, X_Q.ndim)
    Z, attention = scaled_dot_product_attention(Q, repeat_heads(K, times), repeat_heads(V, times), shared)
    heads = HeadsCache(X_Q, X, weights, Q, K, V, attention.P)
    return combine(Z, weights), MultiHeadCache(heads, Z)  # eq-grouped-query  (*b, m, d_out)


@checked
def grouped_query_attention_backward(
    dY: Float[Array, "*b m d_out"], cache: MultiHeadCache
) -> tuple[Float[Array, "*b m d_query"], Float[Array, "*b n d_source"], MultiHeadWeights]:
    """dX_Q, dX and the gradients of the weights; a shared head collects from its whole group (eq-grouped-query)."""
    X_Q, X, weights, Q, K, V, P = cache.heads
    times = Q.shape[-3] // K.shape[-3]
    dZ, d_out = combine_backward(dY, cache.Z, weights)
    repeated = AttentionCache(Q, repeat_heads(K, times), repeat_heads(V, times), P)
    dQ, dK, dV = scaled_dot_product_attention_backward(dZ, repeated)
    dK, dV = repeat_heads_backward(dK, times), repeat_heads_backward(dV, times)
    dX_Q, dX, d_in = project_backward(merge_heads(dQ), merge_heads(dK), merge_heads(dV), X_Q, X, weights)
    return dX_Q, dX, MultiHeadWeights(**d_in, **d_out)
