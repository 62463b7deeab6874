"""Multi-head attention: several attentions side by side, each in its own few dimensions, joined by one linear map.

The book derives it in eq-head, eq-multi-head, eq-multi-head-sum, eq-multi-head-backward and eq-grouped-query (Chapter
3). The twin, where autograd does the backward, is `attnlib.nn.multihead`.
"""

from typing import NamedTuple

import numpy as np

from attnlib import rules
from attnlib.reference.attention import (
    AttentionCache,
    scaled_dot_product_attention,
    scaled_dot_product_attention_backward,
)
from attnlib.reference.grouped import repeat_heads, repeat_heads_backward
from attnlib.reference.heads import mask_for_heads, merge_heads, split_heads
from attnlib.reference.ops import linear
from attnlib.reference.projections import (
    Gradients,
    MultiHeadParameters,
    combine,
    combine_backward,
    project,
    project_backward,
)
from attnlib.shapes import Array, Bool, Float, Number, checked, same_size


@checked
@same_size(h="n_heads", g="n_heads")
def multi_head_attention_by_loops(
    X: Float[Array, "*b m d_model"],
    source: Float[Array, "*b n d_source"],
    parameters: MultiHeadParameters,
    n_heads: Number[int, "1.."],
    mask: Bool[Array, "*#b #m #n"] | Bool[Array, "*#b #{n_heads} #m #n"] | None = None,
) -> Float[Array, "*b m d_out"]:
    """One head after the other, each with its own columns of the matrices; for reading, and as a test (eq-head)."""
    shared = mask_for_heads(mask, X.ndim)
    outputs = []
    for i in range(n_heads):
        q, k, v = (_columns(parameters, name, i, n_heads) for name in "QKV")
        seen = shared if shared is None or shared.ndim < 3 else shared[..., i % shared.shape[-3], :, :]
        Q, K, V = linear(X, *q)[0], linear(source, *k)[0], linear(source, *v)[0]
        outputs.append(scaled_dot_product_attention(Q, K, V, seen)[0])  # eq-head  (*b, m, d_v)
    return linear(np.concatenate(outputs, axis=-1), parameters.W_O, parameters.b_O)[0]  # eq-multi-head


def _columns(parameters: MultiHeadParameters, name: str, i: int, n_heads: int) -> tuple[Array, Array | None]:
    """The columns of head i of W_Q, W_K or W_V, and its part of the bias."""
    W, b = getattr(parameters, f"W_{name}"), getattr(parameters, f"b_{name}")
    d_head = W.shape[1] // n_heads
    mine = slice(i * d_head, (i + 1) * d_head)
    return W[:, mine], None if b is None else b[mine]


class MultiHeadCache(NamedTuple):
    X: Float[Array, "*b m d_model"]
    source: Float[Array, "*b n d_source"]
    parameters: MultiHeadParameters
    Q: Float[Array, "*b h m d_k"]
    K: Float[Array, "*b g n d_k"]
    V: Float[Array, "*b g n d_v"]
    P: Float[Array, "*b h m n"]
    Z: Float[Array, "*b h m d_v"]


@checked
@same_size(h="n_heads", g="n_kv_heads")
def head_outputs(
    X: Float[Array, "*b m d_model"],
    source: Float[Array, "*b n d_source"],
    parameters: MultiHeadParameters,
    n_heads: Number[int, "1.."],
    n_kv_heads: Number[int, "1.."],
    mask: Bool[Array, "*#b #m #n"] | Bool[Array, "*#b #{n_heads} #m #n"] | None = None,
) -> tuple[Float[Array, "*b h m d_v"], MultiHeadCache]:
    """The output of each head, before they are merged; all heads in one batched product (eq-head)."""
    rules.splits_evenly("head_outputs", "n_heads", n_heads, "n_kv_heads", n_kv_heads)
    Q, K, V = project(X, source, parameters)
    Q = split_heads(Q, n_heads)  #                                          eq-split-heads   (*b, h, m, d_k)
    K, V = (split_heads(A, n_kv_heads) for A in (K, V))  #                                   (*b, g, n, d)
    K_h, V_h = (repeat_heads(A, n_heads // n_kv_heads) for A in (K, V))  #  eq-grouped-query (*b, h, n, d)
    Z, (*_, P) = scaled_dot_product_attention(Q, K_h, V_h, mask_for_heads(mask, X.ndim))  # eq-head
    return Z, MultiHeadCache(X, source, parameters, Q, K, V, P, Z)


@checked
def head_outputs_backward(
    dZ: Float[Array, "*b h m d_v"], cache: MultiHeadCache
) -> tuple[Float[Array, "*b m d_model"], Float[Array, "*b n d_source"], Gradients]:
    """dX, dsource, and by name the gradients of the query, key and value projections (eq-multi-head-backward)."""
    X, source, parameters, Q, K, V, P, _ = cache
    times = Q.shape[-3] // K.shape[-3]
    K_h, V_h = repeat_heads(K, times), repeat_heads(V, times)
    dQ, dK_h, dV_h = scaled_dot_product_attention_backward(dZ, AttentionCache(Q, K_h, V_h, P))
    dK, dV = repeat_heads_backward(dK_h, times), repeat_heads_backward(dV_h, times)
    return project_backward(merge_heads(dQ), merge_heads(dK), merge_heads(dV), X, source, parameters)


@checked
@same_size(h="n_heads", g="n_heads")
def multi_head_attention(
    X: Float[Array, "*b m d_model"],
    source: Float[Array, "*b n d_source"],
    parameters: MultiHeadParameters,
    n_heads: Number[int, "1.."],
    mask: Bool[Array, "*#b #m #n"] | Bool[Array, "*#b #{n_heads} #m #n"] | None = None,
) -> tuple[Float[Array, "*b m d_out"], MultiHeadCache]:
    """Attention from X to a source with n_heads heads (eq-multi-head); self-attention where the source is X.

    mask    (*b, m, n) for all heads, or (*b, h, m, n) for each. For a query that may look nowhere every head
            returns zeros, and the output is the bias b_O.

    >>> eye = np.eye(2)
    >>> X = np.array([[2.0, 0.0], [0.0, 4.0]])
    >>> multi_head_attention(X, X, MultiHeadParameters(0 * eye, eye, eye, eye), n_heads=2)[0]
    array([[1., 2.],
           [1., 2.]])
    """
    Z, cache = head_outputs(X, source, parameters, n_heads, n_heads, mask)  # eq-head        (*b, h, m, d_v)
    return combine(Z, parameters), cache  #                                   eq-multi-head  (*b, m, d_out)


@checked
def multi_head_attention_backward(
    dY: Float[Array, "*b m d_out"], cache: MultiHeadCache
) -> tuple[Float[Array, "*b m d_model"], Float[Array, "*b n d_source"], MultiHeadParameters]:
    """dX, dsource, gradients of the parameters (eq-multi-head-backward); for self-attention add the first two."""
    dZ, d_out = combine_backward(dY, cache.Z, cache.parameters)
    dX, dsource, d_in = head_outputs_backward(dZ, cache)
    return dX, dsource, MultiHeadParameters(**d_in, **d_out)  # eq-multi-head-backward


@checked
@same_size(h="n_heads", g="n_kv_heads")
def grouped_query_attention(
    X: Float[Array, "*b m d_model"],
    source: Float[Array, "*b n d_source"],
    parameters: MultiHeadParameters,
    n_heads: Number[int, "1.."],
    n_kv_heads: Number[int, "1.."],
    mask: Bool[Array, "*#b #m #n"] | Bool[Array, "*#b #{n_heads} #m #n"] | None = None,
) -> tuple[Float[Array, "*b m d_out"], MultiHeadCache]:
    """Multi-head attention in which n_kv_heads key and value heads serve n_heads query heads (eq-grouped-query).

    n_kv_heads    n_heads is multi-head attention, 1 multi-query attention; W_K and W_V are n_kv_heads heads wide

    >>> eye, one, X = np.eye(2), np.ones((2, 1)), np.array([[2.0, 4.0]])
    >>> grouped_query_attention(X, X, MultiHeadParameters(eye, one, one, eye), n_heads=2, n_kv_heads=1)[0]
    array([[6., 6.]])
    """
    rules.splits_evenly("grouped_query_attention", "n_heads", n_heads, "n_kv_heads", n_kv_heads)
    Z, cache = head_outputs(X, source, parameters, n_heads, n_kv_heads, mask)  # eq-grouped-query
    return combine(Z, parameters), cache


@checked
def grouped_query_attention_backward(
    dY: Float[Array, "*b m d_out"], cache: MultiHeadCache
) -> tuple[Float[Array, "*b m d_model"], Float[Array, "*b n d_source"], MultiHeadParameters]:
    """The same backward; a shared head gets the sum of its group's gradients (eq-grouped-query)."""
    return multi_head_attention_backward(dY, cache)


class SumCache(NamedTuple):
    heads: MultiHeadCache
    C: Float[Array, "*b h m d_out"]


@checked
@same_size(h="n_heads", g="n_heads")
def multi_head_as_sum(
    X: Float[Array, "*b m d_model"],
    source: Float[Array, "*b n d_source"],
    parameters: MultiHeadParameters,
    n_heads: Number[int, "1.."],
    mask: Bool[Array, "*#b #m #n"] | Bool[Array, "*#b #{n_heads} #m #n"] | None = None,
) -> tuple[Float[Array, "*b m d_out"], SumCache]:
    """The same output as a sum: each head has its own rows of W_O and adds its contribution (eq-multi-head-sum).

    `cache.C` holds the contributions; they sum to the output without its bias.

    >>> eye, X = np.eye(2), np.array([[2.0, 4.0]])
    >>> multi_head_as_sum(X, X, MultiHeadParameters(eye, eye, eye, eye), n_heads=2)[1].C
    array([[[2., 0.]],
    <BLANKLINE>
           [[0., 4.]]])
    """
    Z, heads = head_outputs(X, source, parameters, n_heads, n_heads, mask)
    W_O, b_O = parameters.W_O, parameters.b_O
    C = Z @ W_O.reshape(n_heads, -1, W_O.shape[1])  #                                    (*b, h, m, d_out)
    Y = C.sum(axis=-3)  #                                              eq-multi-head-sum (*b, m, d_out)
    return Y if b_O is None else Y + b_O, SumCache(heads, C)


@checked
def multi_head_as_sum_backward(
    dY: Float[Array, "*b m d_out"], cache: SumCache
) -> tuple[Float[Array, "*b m d_model"], Float[Array, "*b n d_source"], MultiHeadParameters]:
    """Every head of the sum gets the same dY, multiplied with its own rows of W_O (eq-multi-head-backward)."""
    parameters, Z = cache.heads.parameters, cache.heads.Z
    h, d_v, d_out = Z.shape[-3], Z.shape[-1], dY.shape[-1]
    dC = dY[..., None, :, :]  #                                                     (*b, 1, m, d_out)
    dZ = dC @ parameters.W_O.reshape(h, d_v, d_out).swapaxes(-1, -2)  #             (*b, h, m, d_v)
    dW_h = (Z.swapaxes(-1, -2) @ dC).reshape(-1, h, d_v, d_out).sum(axis=0)  #      (h, d_v, d_out)
    dX, dsource, d_in = head_outputs_backward(dZ, cache.heads)
    db_O = None if parameters.b_O is None else dY.reshape(-1, d_out).sum(axis=0)
    return dX, dsource, MultiHeadParameters(**d_in, W_O=dW_h.reshape(h * d_v, d_out), b_O=db_O)
