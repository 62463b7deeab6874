"""Sparse attention: each query keeps few keys, the best-scoring ones or the near ones.

The book derives it in eq-top-k, eq-top-k-attention, eq-local-mask, eq-local-gaussian and eq-local-attention (Chapter
1), the last two after Luong et al. (2015). The twin is `attnlib.nn.sparse`.
"""

from typing import NamedTuple

import numpy as np

from attnlib import rules
from attnlib.reference.attention import (
    AttentionCache,
    scaled_dot_product_attention,
    scaled_dot_product_attention_backward,
)
from attnlib.reference.ops import masked_softmax, masked_softmax_backward
from attnlib.reference.scores import DotCache, scaled_dot_scores, scaled_dot_scores_backward
from attnlib.shapes import Array, Bool, Float, Number, checked


@checked
def scores_computed(mask: Bool[Array, "*s"]) -> int:
    """The number of scores that are computed if hidden ones are skipped (eq-scores-computed).

    >>> scores_computed(np.tril(np.ones((4, 4), dtype=bool)))
    10
    """
    return int(mask.sum())  # eq-scores-computed


@checked
def top_k_mask(S: Float[Array, "*b n"], k: Number[int, "1..n"]) -> Bool[Array, "*b n"]:
    """True at the k largest scores of each row, exactly k; of equal scores the first ones count (eq-top-k).

    >>> top_k_mask(np.array([[1.0, 3.0, 2.0], [5.0, 5.0, 5.0]]), k=2)
    array([[False,  True,  True],
           [ True,  True, False]])
    """
    rules.scores("top_k_mask", S)
    order = np.argsort(-S, axis=-1, kind="stable")  # stable: equal scores stay in the order of their keys
    mask = np.zeros(S.shape, dtype=bool)
    np.put_along_axis(mask, order[..., :k], True, axis=-1)  # eq-top-k  (*b, n)
    return mask


@checked
def top_k_attention(
    Q: Float[Array, "*b m d_k"],
    K: Float[Array, "*b n d_k"],
    V: Float[Array, "*b n d_v"],
    k: Number[int, "1..n"],
    mask: Bool[Array, "*#b #m #n"] | None = None,
) -> tuple[Float[Array, "*b m d_v"], AttentionCache]:
    """Scaled dot-product attention over the k best keys of each query (eq-top-k-attention).

    All m n scores are needed to find the best, so fewer values are read, but not fewer scores computed. A query that
    sees fewer than k keys through the mask keeps those that it sees.

    >>> Q, K, V = np.array([[1.0]]), np.array([[0.0], [2.0], [2.0]]), np.array([[9.0], [1.0], [3.0]])
    >>> top_k_attention(Q, K, V, k=2)[0]
    array([[2.]])
    """
    S, _ = scaled_dot_scores(Q, K)
    if mask is None:
        return scaled_dot_product_attention(Q, K, V, top_k_mask(S, k))
    best = top_k_mask(np.where(mask, S, -np.inf), k) & mask
    return scaled_dot_product_attention(Q, K, V, best)  # eq-top-k-attention  (*b, m, d_v)


@checked
def top_k_attention_backward(
    dO: Float[Array, "*b m d_v"], cache: AttentionCache
) -> tuple[Float[Array, "*b m d_k"], Float[Array, "*b n d_k"], Float[Array, "*b n d_v"]]:
    """dQ, dK, dV: as in any attention, because a key that was not kept has weight zero (eq-attention-backward).

    Where two keys tie for the last place the output is discontinuous; this is the gradient for the keys that were kept.
    """
    return scaled_dot_product_attention_backward(dO, cache)


@checked
def local_mask(
    m: Number[int, "1.."],
    n: Number[int, "1.."],
    window: Number[float, "0.."],
    centers: Float[Array, "*b {m}"] | None = None,
) -> Bool[Array, "*b {m} {n}"]:
    """True for the keys at most `window` positions from each query's centre (eq-local-mask).

    window      half the width: up to 2 window + 1 keys are seen
    centers     one position for each query, real-valued; by default query i looks around key i

    >>> local_mask(3, 4, window=1).astype(int)
    array([[1, 1, 0, 0],
           [1, 1, 1, 0],
           [0, 1, 1, 1]])
    """
    if centers is None:
        centers = np.arange(m, dtype=np.float64)
    rules.finite("local_mask", "centers", centers)
    return np.abs(np.arange(n) - centers[..., None]) <= window  # eq-local-mask  (*b, m, n)


class LocalCache(NamedTuple):
    Q: Float[Array, "*b m d_k"]
    K: Float[Array, "*b n d_k"]
    V: Float[Array, "*b n d_v"]
    P: Float[Array, "*b m n"]
    G: Float[Array, "*b m n"]
    centers: Float[Array, "*b m"]
    window: Number[float, "0<.."]


@checked
def local_attention(
    Q: Float[Array, "*b m d_k"],
    K: Float[Array, "*b n d_k"],
    V: Float[Array, "*b n d_v"],
    centers: Float[Array, "*b m"],
    window: Number[float, "0<.."],
    mask: Bool[Array, "*#b #m #n"] | None = None,
) -> tuple[Float[Array, "*b m d_v"], LocalCache]:
    """Attention in a window around a position that a model can predict, and learn to predict (eq-local-attention).

    centers     the centre of each query's window, real-valued; a query whose window holds no key gets zeros
    window      half the width D; the Gaussian's standard deviation is D / 2

    The weights P of the window are multiplied with a Gaussian G around the centre and not normalised again: a row of
    P G sums to less than one. Through G, and through it alone, the centre gets a gradient.

    >>> Q, K, V = np.zeros((1, 1)), np.zeros((3, 1)), np.array([[1.0], [0.0], [9.0]])
    >>> O, cache = local_attention(Q, K, V, centers=np.array([0.0]), window=1.0)
    >>> cache.P, cache.G[:, :2].round(4), O
    (array([[0.5, 0.5, 0. ]]), array([[1.    , 0.1353]]), array([[0.5]]))
    """
    rules.finite("local_attention", "V", V)
    rules.finite("local_attention", "centers", centers)
    S, _ = scaled_dot_scores(Q, K)
    near = local_mask(S.shape[-2], S.shape[-1], window, centers)
    P = masked_softmax(S, near if mask is None else near & mask)  # eq-local-mask
    distance = np.arange(S.shape[-1]) - centers[..., None]
    G = np.exp(-(distance**2) / (2 * (window / 2) ** 2)).astype(S.dtype)  # eq-local-gaussian
    return (P * G) @ V, LocalCache(Q, K, V, P, G, centers, window)  #       eq-local-attention  (*b, m, d_v)


@checked
def local_attention_backward(
    dO: Float[Array, "*b m d_v"], cache: LocalCache
) -> tuple[
    Float[Array, "*b m d_k"], Float[Array, "*b n d_k"], Float[Array, "*b n d_v"], Float[Array, "*b m"]
]:
    """dQ, dK, dV and the gradient of the centres (eq-local-attention-backward).

    The output is discontinuous where a key enters or leaves the window; the gradient does not include that.
    """
    Q, K, V, P, G, centers, window = cache
    dA = dO @ V.swapaxes(-1, -2)
    dS = masked_softmax_backward(dA * G, P)
    dQ, dK = scaled_dot_scores_backward(dS, DotCache(Q, K))
    distance = (np.arange(V.shape[-2]) - centers[..., None]).astype(G.dtype)
    d_centers = (dA * P * G * distance).sum(axis=-1) / (window / 2) ** 2
    return dQ, dK, (P * G).swapaxes(-1, -2) @ dO, d_centers  # eq-local-attention-backward
