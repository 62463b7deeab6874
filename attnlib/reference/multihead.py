"""Multi-head attention: several attentions side by side, each in its own few dimensions, joined by one linear map.

The book derives it in eq-head, eq-multi-head, eq-multi-head-sum and eq-multi-head-backward (Chapter 3). The twin,
where autograd does the backward, is `attnlib.nn.multihead`.
"""

from typing import NamedTuple

import numpy as np

from attnlib.reference.attention import (
    AttentionCache,
    scaled_dot_product_attention,
    scaled_dot_product_attention_backward,
)
from attnlib.reference.heads import mask_for_heads, merge_heads, split_heads
from attnlib.reference.ops import linear
from attnlib.reference.projections import (
    Gradients,
    MultiHeadWeights,
    combine,
    combine_backward,
    project,
    project_backward,
)
from attnlib.shapes import Array, Bool, Float, Number, checked, where


@checked
@where(h="n_heads", g="n_heads")
def multi_head_attention_by_loops(
    X_Q: Float[Array, "*b m d_query"],
    X: Float[Array, "*b n d_source"],
    weights: MultiHeadWeights,
    n_heads: Number[int, "1.."],
    mask: Bool[Array, "*#b #m #n"] | Bool[Array, "*#b #{n_heads} #m #n"] | None = None,
) -> Float[Array, "*b m d_out"]:
    """One head after the other, each with its own columns of the weights; for reading, and as a test (eq-head)."""
    shared = mask_for_heads(mask, X_Q.ndim)
    outputs = []
    for i in range(n_heads):
        q, k, v = (_columns(weights, name, i, n_heads) for name in "QKV")
        seen = shared if shared is None or shared.ndim < 3 else shared[..., i % shared.shape[-3], :, :]
        Q, K, V = linear(X_Q, *q)[0], linear(X, *k)[0], linear(X, *v)[0]
        outputs.append(scaled_dot_product_attention(Q, K, V, seen)[0])  # eq-head  (*b, m, d_v)
    return linear(np.concatenate(outputs, axis=-1), weights.W_O, weights.b_O)[0]  # eq-multi-head


def _columns(weights: MultiHeadWeights, name: str, i: int, n_heads: int) -> tuple[Array, Array | None]:
    """The columns of head i of W_Q, W_K or W_V, and its part of the bias."""
    W, b = getattr(weights, f"W_{name}"), getattr(weights, f"b_{name}")
    d_head = W.shape[1] // n_heads
    mine = slice(i * d_head, (i + 1) * d_head)
    return W[:, mine], None if b is None else b[mine]


class HeadsCache(NamedTuple):
    X_Q: Float[Array, "*b m d_query"]
    X: Float[Array, "*b n d_source"]
    weights: MultiHeadWeights
    Q: Float[Array, "*b h m d_k"]
    K: Float[Array, "*b g n d_k"]
    V: Float[Array, "*b g n d_v"]
    P: Float[Array, "*b h m n"]


@checked
@where(h="n_heads", g="n_heads")
def head_outputs(
    X_Q: Float[Array, "*b m d_query"],
    X: Float[Array, "*b n d_source"],
    weights: MultiHeadWeights,
    n_heads: Number[int, "1.."],
    mask: Bool[Array, "*#b #m #n"] | Bool[Array, "*#b #{n_heads} #m #n"] | None = None,
) -> tuple[Float[Array, "*b h m d_v"], HeadsCache]:
    """What each head says, before the heads are joined; all heads in one batched product (eq-head)."""
    Q, K, V = (split_heads(A, n_heads) for A in project(X_Q, X, weights))  # eq-split-heads
    Z, (*_, P) = scaled_dot_product_attention(Q, K, V, mask_for_heads(mask, X_Q.ndim))  # eq-head
    return Z, HeadsCache(X_Q, X, weights, Q, K, V, P)


@checked
def head_outputs_backward(
    dZ: Float[Array, "*b h m d_v"], cache: HeadsCache
) -> tuple[Float[Array, "*b m d_query"], Float[Array, "*b n d_source"], Gradients]:
    """dX_Q, dX and the gradients of the weights of Q, K and V by name (eq-multi-head-backward)."""
    X_Q, X, weights, *attention = cache
    dQ, dK, dV = scaled_dot_product_attention_backward(dZ, AttentionCache(*attention))
    return project_backward(merge_heads(dQ), merge_heads(dK), merge_heads(dV), X_Q, X, weights)


class MultiHeadCache(NamedTuple):
    heads: HeadsCache
    Z: Float[Array, "*b h m d_v"]

    @property
    def P(self) -> Float[Array, "*b h m n"]:
        """The weights: who looks where, for each head."""
        return self.heads.P


@checked
@where(h="n_heads", g="n_heads")
def multi_head_attention(
    X_Q: Float[Array, "*b m d_query"],
    X: Float[Array, "*b n d_source"],
    weights: MultiHeadWeights,
    n_heads: Number[int, "1.."],
    mask: Bool[Array, "*#b #m #n"] | Bool[Array, "*#b #{n_heads} #m #n"] | None = None,
) -> tuple[Float[Array, "*b m d_out"], MultiHeadCache]:
    """Attention from X_Q to X with n_heads heads (eq-multi-head); self-attention where X_Q is X.

    mask    (*b, m, n) for all heads, or (*b, h, m, n) for each. Where a query may look nowhere every head says
            zeros, and the output is the bias b_O.

    >>> eye = np.eye(2)
    >>> X = np.array([[2.0, 0.0], [0.0, 4.0]])
    >>> multi_head_attention(X, X, MultiHeadWeights(0 * eye, eye, eye, eye), n_heads=2)[0]
    array([[1., 2.],
           [1., 2.]])
    """
    Z, heads = head_outputs(X_Q, X, weights, n_heads, mask)  # eq-head        (*b, h, m, d_v)
    return combine(Z, weights), MultiHeadCache(heads, Z)  #    eq-multi-head  (*b, m, d_out)


@checked
def multi_head_attention_backward(
    dY: Float[Array, "*b m d_out"], cache: MultiHeadCache
) -> tuple[Float[Array, "*b m d_query"], Float[Array, "*b n d_source"], MultiHeadWeights]:
    """dX_Q, dX and the gradients of the weights (eq-multi-head-backward); for self-attention add the first two."""
    dZ, d_out = combine_backward(dY, cache.Z, cache.heads.weights)
    dX_Q, dX, d_in = head_outputs_backward(dZ, cache.heads)
    return dX_Q, dX, MultiHeadWeights(**d_in, **d_out)  # eq-multi-head-backward


class SumCache(NamedTuple):
    heads: HeadsCache
    Z: Float[Array, "*b h m d_v"]
    C: Float[Array, "*b h m d_out"]

    @property
    def P(self) -> Float[Array, "*b h m n"]:
        """The weights: who looks where, for each head."""
        return self.heads.P


@checked
@where(h="n_heads", g="n_heads")
def multi_head_as_sum(
    X_Q: Float[Array, "*b m d_query"],
    X: Float[Array, "*b n d_source"],
    weights: MultiHeadWeights,
    n_heads: Number[int, "1.."],
    mask: Bool[Array, "*#b #m #n"] | Bool[Array, "*#b #{n_heads} #m #n"] | None = None,
) -> tuple[Float[Array, "*b m d_out"], SumCache]:
    """The same output as a sum: each head has its own rows of W_O and adds its contribution (eq-multi-head-sum).

    `cache.C` holds the contributions; they sum to the output without its bias.

    >>> eye, X = np.eye(2), np.array([[2.0, 4.0]])
    >>> multi_head_as_sum(X, X, MultiHeadWeights(eye, eye, eye, eye), n_heads=2)[1].C
    array([[[2., 0.]],
    <BLANKLINE>
           [[0., 4.]]])
    """
    Z, heads = head_outputs(X_Q, X, weights, n_heads, mask)
    W_h = weights.W_O.reshape(n_heads, -1, weights.W_O.shape[1])  #                      (h, d_v, d_out)
    C = Z @ W_h  #                                                                       (*b, h, m, d_out)
    Y = C.sum(axis=-3)  #                                              eq-multi-head-sum (*b, m, d_out)
    return Y if weights.b_O is None else Y + weights.b_O, SumCache(heads, Z, C)


@checked
def multi_head_as_sum_backward(
    dY: Float[Array, "*b m d_out"], cache: SumCache
) -> tuple[Float[Array, "*b m d_query"], Float[Array, "*b n d_source"], MultiHeadWeights]:
    """A sum hands the same dY to every head, and each passes it through its own rows (eq-multi-head-backward)."""
    weights, Z, h = cache.heads.weights, cache.Z, cache.Z.shape[-3]
    d_v, d_out = Z.shape[-1], dY.shape[-1]
    dC = dY[..., None, :, :]  #                                                     (*b, 1, m, d_out)
    dZ = dC @ weights.W_O.reshape(h, d_v, d_out).swapaxes(-1, -2)  #                (*b, h, m, d_v)
    dW_h = (Z.swapaxes(-1, -2) @ dC).reshape(-1, h, d_v, d_out).sum(axis=0)  #      (h, d_v, d_out)
    dX_Q, dX, d_in = head_outputs_backward(dZ, cache.heads)
    db_O = None if weights.b_O is None else dY.reshape(-1, d_out).sum(axis=0)
    d_weights = MultiHeadWeights(**d_in, W_O=dW_h.reshape(h * d_v, d_out))
    return dX_Q, dX, d_weights._replace(b_O=db_O)
