"""A lightning indexer: a few small heads score all earlier keys, so that attention computes the k best of them only.

The book derives it in eq-kept-mass, eq-indexer-score and eq-indexer-loss (Chapter 6), after DeepSeek-V3.2 (2025). The
twin, where autograd does the backward, is `attnlib.nn.indexer`. No gradient passes through the choice of the best k
keys, so an indexer has a loss of its own: its softmax shall equal the attention weights, averaged over the heads.
"""

import math
from typing import NamedTuple

import numpy as np

from attnlib import rules
from attnlib.reference.heads import merge_heads, split_heads
from attnlib.reference.norm import NormCache, layer_norm, layer_norm_backward
from attnlib.reference.ops import LinearCache, linear_backward, log_sum_exp, masked_softmax
from attnlib.reference.positional import index, rotary_halves, rotary_halves_backward
from attnlib.reference.sparse import top_k_mask
from attnlib.shapes import Array, Bool, Float, Number, checked, same_size

EPS = 1e-6  # under the root of the keys' norm


class IndexScoreCache(NamedTuple):
    Q: Float[Array, "*b h m d_k"]
    K: Float[Array, "*b n d_k"]
    w: Float[Array, "*b m h"]
    A: Float[Array, "*b h m n"]  # the products, after the ReLU


class IndexerParameters(NamedTuple):
    W_Q: Float[Array, "d_query h*d_k"]  # to the queries of all heads
    W_K: Float[Array, "d_model d_k"]  # to the one key that the heads share
    gain: Float[Array, "d_k"]  # of the norm of the keys
    shift: Float[Array, "d_k"]
    W_w: Float[Array, "d_model h"]  # to the weight of each head


class IndexerCache(NamedTuple):
    X: Float[Array, "*b n d_model"]
    X_Q: Float[Array, "*b n d_query"]
    parameters: IndexerParameters
    Y: Float[Array, "*b n d_k"]  # the normed keys before their gain
    size: Float[Array, "*b n 1"]
    Q: Float[Array, "*b h n d_k"]
    K: Float[Array, "*b n d_k"]
    w: Float[Array, "*b n h"]
    A: Float[Array, "*b h n n"]
    d_rotated: Number[int, "0.."]
    base: Number[float, "0<.."]


class IndexLossCache(NamedTuple):
    P: Float[Array, "*b n"]  # the target
    P_I: Float[Array, "*b n"]  # the softmax of the index scores


# ---- What a choice keeps --------------------------------------------------------------------------------------------


@checked
def kept_mass(P: Float[Array, "*b n"], chosen: Bool[Array, "*#b #n"]) -> Float[Array, "*b"] | np.floating:
    """The share of the attention weights that lies on the chosen keys (eq-kept-mass).

    >>> kept_mass(np.array([[0.5, 0.1, 0.4]]), np.array([[True, False, True]]))
    array([0.9])
    """
    rules.probabilities("kept_mass", P)
    return np.where(chosen, P, 0).sum(axis=-1)  # eq-kept-mass


@checked
def index_mask(
    I: Float[Array, "*b m n"], k: Number[int, "1.."], mask: Bool[Array, "*#b #m #n"]
) -> Bool[Array, "*b m n"]:
    """True at the k keys with the largest index scores, of those that the query may attend to.

    mask    True = may look: later keys are hidden before the choice, because a hidden key would use up one of the k

    >>> I = np.array([[1.0, 9.0, 9.0], [1.0, 2.0, 9.0], [3.0, 1.0, 2.0]])
    >>> index_mask(I, 2, np.tri(3, dtype=bool)).astype(int)
    array([[1, 0, 0],
           [1, 1, 0],
           [1, 0, 1]])
    """
    return top_k_mask(np.where(mask, I, -np.inf), min(k, I.shape[-1])) & mask


# ---- The scores -----------------------------------------------------------------------------------------------------


@checked
def index_scores(
    Q: Float[Array, "*b h m d_k"], K: Float[Array, "*b n d_k"], w: Float[Array, "*b m h"]
) -> tuple[Float[Array, "*b m n"], IndexScoreCache]:
    """For each query and key the heads' products after a ReLU, weighted and summed (eq-indexer-score).

    K    one key for all heads
    w    the weight of each head, computed from the query's token; it may be negative

    >>> Q, K = np.array([[[1.0, 0.0]], [[0.0, 1.0]]]), np.array([[2.0, -1.0], [-1.0, 3.0]])
    >>> index_scores(Q, K, w=np.array([[10.0, 1.0]]))[0]
    array([[20.,  3.]])
    """
    A = np.maximum(Q @ K[..., None, :, :].swapaxes(-1, -2), 0)
    return np.einsum("...mh,...hmn->...mn", w, A), IndexScoreCache(Q, K, w, A)  # eq-indexer-score  (*b, m, n)


@checked
def index_scores_backward(
    dI: Float[Array, "*b m n"], cache: IndexScoreCache
) -> tuple[Float[Array, "*b h m d_k"], Float[Array, "*b n d_k"], Float[Array, "*b m h"]]:
    """dQ, dK and dw: a product below zero gets no gradient, and the key that the heads share gets their sum."""
    Q, K, w, A = cache
    dw = np.einsum("...mn,...hmn->...mh", dI, A)
    dA = w.swapaxes(-1, -2)[..., None] * dI[..., None, :, :] * (A > 0)  # (*b, h, m, n)
    dQ = dA @ K[..., None, :, :]
    return dQ, (dA.swapaxes(-1, -2) @ Q).sum(axis=-3), dw


# ---- The indexer ----------------------------------------------------------------------------------------------------


def _rotated(X: Array, d_rotated: int, base: float, back: bool = False) -> Array:
    """The first d_rotated coordinates rotated by the position, or back; the others have no position."""
    if not d_rotated:
        return X
    rotate = rotary_halves_backward if back else rotary_halves
    first = rotate(X[..., :d_rotated], index(X.shape[-2]).astype(X.dtype), base)
    return np.concatenate([first, X[..., d_rotated:]], axis=-1)


@checked
@same_size(h="n_heads")
def lightning_indexer(
    X: Float[Array, "*b n d_model"],
    parameters: IndexerParameters,
    n_heads: Number[int, "1.."],
    X_Q: Float[Array, "*b n d_query"] | None = None,
    d_rotated: Number[int, "0.."] = 0,
    base: Number[float, "0<.."] = 10_000.0,
) -> tuple[Float[Array, "*b n n"], IndexerCache]:
    """The index scores of all pairs of tokens, made from what the attention layer reads (eq-indexer-score).

    X_Q         what queries are made from, where it is not X: in DeepSeek-V3.2 the latent of the layer's own queries
    d_rotated   how many coordinates of queries and keys are rotated by their position, in the layout of two halves

    Keys pass a layer norm. Weights of the heads are divided by the root of h d_k, which scales all scores alike. Later
    keys have scores, too: `index_mask` hides them.

    >>> one = np.ones((1, 2))
    >>> parameters = IndexerParameters(np.array([[1.0, 1.0]]), one, np.ones(2), np.array([0.0, 1.0]), one[:, :1])
    >>> lightning_indexer(np.array([[1.0], [2.0]]), parameters, n_heads=1)[0].round(3)
    array([[0.707, 0.707],
           [2.828, 2.828]])
    """
    d_query, d_model = parameters.W_Q.shape[0], X.shape[-1]
    rule = f"X_Q must be given where queries are not made from X; got {d_query=} and {d_model=}."
    rules.must(X_Q is not None or d_query == d_model, "lightning_indexer", rule)
    X_Q = X if X_Q is None else X_Q
    Q = _rotated(split_heads(X_Q @ parameters.W_Q, n_heads), d_rotated, base)
    K, (Y, size, _) = layer_norm(X @ parameters.W_K, parameters.gain, parameters.shift, EPS)
    w = X @ parameters.W_w / math.sqrt(n_heads * Q.shape[-1])
    I, scores = index_scores(Q, _rotated(K, d_rotated, base), w)  # eq-indexer-score
    return I, IndexerCache(X, X_Q, parameters, Y, size, *scores, d_rotated, base)


@checked
def lightning_indexer_backward(
    dI: Float[Array, "*b n n"], cache: IndexerCache
) -> tuple[Float[Array, "*b n d_model"], Float[Array, "*b n d_query"], IndexerParameters]:
    """dX, dX_Q and the gradients of the parameters. Where queries are made from X, its gradient is the sum of the two.

    DeepSeek-V3.2 uses the parameters' gradients alone: the indexer reads X, and its loss does not change the model.
    """
    X, X_Q, parameters, Y, size, *scores, d_rotated, base = cache
    dQ, dK, dw = index_scores_backward(dI, IndexScoreCache(*scores))
    h, d_k = dQ.shape[-3], dQ.shape[-1]
    dX_Q, dW_Q, _ = linear_backward(
        merge_heads(_rotated(dQ, d_rotated, base, back=True)), LinearCache(X_Q, parameters.W_Q)
    )
    norm = NormCache(Y, size, parameters.gain)
    d_normed, d_gain, d_shift = layer_norm_backward(_rotated(dK, d_rotated, base, back=True), norm)
    dX_K, dW_K, _ = linear_backward(d_normed, LinearCache(X, parameters.W_K))
    dX_w, dW_w, _ = linear_backward(dw / math.sqrt(h * d_k), LinearCache(X, parameters.W_w))
    return dX_K + dX_w, dX_Q, IndexerParameters(dW_Q, dW_K, d_gain, d_shift, dW_w)


# ---- Its loss -------------------------------------------------------------------------------------------------------


@checked
def index_loss(
    I: Float[Array, "*b n"], P: Float[Array, "*b n"], mask: Bool[Array, "*#b #n"]
) -> tuple[Float[Array, "*b"] | np.floating, IndexLossCache]:
    """The divergence KL(P || softmax of the index scores) of each row, among the keys of the mask (eq-indexer-loss).

    P       the target: attention weights averaged over the heads; among the keys of the mask they are made to sum to 1
    mask    True = compared: what the query may attend to, or later in training the keys that were chosen

    A row without a key, or without weight on its keys, has the loss zero.

    >>> I, P, mask = np.array([[5.0, 5.0, 9.0]]), np.array([[1.0, 0.0, 0.0]]), np.array([[True, True, False]])
    >>> index_loss(I, P, mask)[0].round(4)  # log 2: half of the softmax is on the right key
    array([0.6931])
    """
    rules.probabilities("index_loss", P)
    target = np.where(mask, P, 0)
    total = target.sum(axis=-1, keepdims=True)
    target = target / np.where(total > 0, total, 1)
    visible = np.where(mask, I, -np.inf)
    L = I - np.expand_dims(
        log_sum_exp(np.where(total > 0, visible, 0)), -1
    )  # log of the softmax where mask is True
    there = target > 0
    loss = target * (np.log(np.where(there, target, 1)) - np.where(there, L, 0))
    return loss.sum(axis=-1), IndexLossCache(target, masked_softmax(I, mask) * (total > 0))  # eq-indexer-loss


@checked
def index_loss_backward(dL: Float[Array, "*b"] | np.floating, cache: IndexLossCache) -> Float[Array, "*b n"]:
    """dI = softmax of the index scores minus the target; the target is not trained (eq-indexer-loss)."""
    return np.expand_dims(dL, -1) * (cache.P_I - cache.P)
