"""Two levels of attention: near tokens one by one, and one summary for each chunk of tokens before them.

The book derives it in eq-two-levels, eq-level-edges and eq-needle (Chapter 6). The twin, where autograd does the
backward, is `attnlib.nn.hierarchical`. Everything is causal: a query attends to its own chunk up to itself, and to the
summaries of chunks that ended before. With `near` chunks attended to token by token, the own one is the last of them.
Queries may be fewer than keys; they are the last positions then, as in generation.
"""

import math
from typing import NamedTuple

import numpy as np

from attnlib import rules
from attnlib.reference.attention import (
    AttendCache,
    AttentionCache,
    attend,
    attend_backward,
    scaled_dot_product_attention,
    scaled_dot_product_attention_backward,
)
from attnlib.reference.patterns import Pattern, _pairs
from attnlib.reference.sparse import top_k_mask
from attnlib.shapes import Array, Bool, Float, Number, checked

# ---- Which query attends to what, and how much that is --------------------------------------------------------------


@checked
def near_tokens(chunk: Number[int, "1.."], near: Number[int, "1.."] = 1) -> Pattern:
    """The tokens up to the query in its own chunk, and in the `near` - 1 chunks before it.

    >>> from attnlib.reference.patterns import dense_mask
    >>> dense_mask(near_tokens(2), 4).astype(int)
    array([[1, 0, 0, 0],
           [1, 1, 0, 0],
           [0, 0, 1, 0],
           [0, 0, 1, 1]])
    """
    return lambda query, key: (key <= query) & (query // chunk - key // chunk < near)


@checked
def far_chunks(chunk: Number[int, "1.."], near: Number[int, "1.."] = 1) -> Pattern:
    """The chunks before those that are attended to token by token: `far_chunks(...)(query, number of the chunk)`.

    >>> far_chunks(2)(np.arange(6)[:, None], np.arange(3)).astype(int)
    array([[0, 0, 0],
           [0, 0, 0],
           [1, 0, 0],
           [1, 0, 0],
           [1, 1, 0],
           [1, 1, 0]])
    """
    return lambda query, number: number + near <= query // chunk


def _both(who: str, m: int, n: int, chunk: int, near: int, summaries: int) -> tuple[np.ndarray, np.ndarray]:
    """Masks (m, n) for tokens and (m, n // chunk) for summaries; the queries are the last m of n positions."""
    rules.must(m <= n, who, f"the queries are the last of the positions; got m={m} of n={n}.")
    came = f"n={n} tokens with chunk={chunk} have {n // chunk} whole chunks; got {summaries} summaries."
    rules.must(summaries == n // chunk, who, f"there must be one summary for each whole chunk: {came}")
    queries = range(n - m, n)
    return _pairs(near_tokens(chunk, near), queries, range(n)), _pairs(
        far_chunks(chunk, near), queries, range(summaries)
    )


@checked
def two_level_edges(n: Number[int, "1.."], chunk: Number[int, "1.."], near: Number[int, "1.."] = 1) -> int:
    """How many tokens and summaries all n queries attend to (eq-level-edges).

    With one near chunk that divides n these are n (chunk + n / chunk) / 2, least at the root of n.

    >>> two_level_edges(8, 4), 8 * (4 + 2) // 2
    (24, 24)
    """
    tokens, summaries = _both("two_level_edges", n, n, chunk, near, n // chunk)
    return int(tokens.sum()) + int(summaries.sum())  # eq-level-edges


@checked
def level_edges(n: Number[int, "1.."], branch: Number[int, "2.."]) -> int:
    """The same with as many levels as there are: `branch` tokens make a chunk, `branch` chunks a larger one, and so on.

    A query attends, at each level, to the earlier pieces of its own larger piece. For n = branch^L these are
    n (L (branch - 1) / 2 + 1) edges: n^1.5 for two levels, about 1.5 n^(4/3) for three, n (log2(n) / 2 + 1) for halves.

    >>> level_edges(16, 4), level_edges(16, 2), 16 * 17 // 2
    (64, 48, 136)
    """
    pieces, edges = np.arange(n), n  # a query attends to itself
    while pieces[-1] > 0:
        edges += int((pieces % branch).sum())  # eq-level-edges
        pieces = pieces // branch
    return edges


# ---- What a summary is ----------------------------------------------------------------------------------------------


class PoolCache(NamedTuple):
    X: Float[Array, "*b n d"]
    W: Float[Array, "*b c chunk d"]  # the weights of the tokens of each chunk
    Y: Float[Array, "*b c d"]


def _in_chunks(X: Array, chunk: int) -> Array:
    """(*b, c, chunk, d): the whole chunks; what is left at the end has no summary yet."""
    c = X.shape[-2] // chunk
    return X[..., : c * chunk, :].reshape(*X.shape[:-2], c, chunk, X.shape[-1])


@checked
def pool_chunks(
    X: Float[Array, "*b n d"], Z: Float[Array, "*b n d"] | None, chunk: Number[int, "1..n"]
) -> tuple[Float[Array, "*b c d"], PoolCache]:
    """One summary for each whole chunk: the mean of its tokens, weighted by a softmax of scores (eq-two-levels).

    Z    a score for each coordinate of each token, made from the token: learned pooling. None: the plain mean

    >>> pool_chunks(np.array([[1.0], [3.0], [5.0]]), None, chunk=2)[0]
    array([[2.]])
    >>> pool_chunks(np.array([[1.0], [3.0]]), np.array([[0.0], [math.log(3.0)]]), chunk=2)[0].round(12)
    array([[2.5]])
    """
    pieces = _in_chunks(X, chunk)
    scores = _in_chunks(np.zeros_like(X) if Z is None else Z, chunk)
    E = np.exp(scores - scores.max(axis=-2, keepdims=True))
    W = E / E.sum(axis=-2, keepdims=True)
    Y = (W * pieces).sum(axis=-2)  # eq-two-levels  (*b, c, d)
    return Y, PoolCache(X, W, Y)


@checked
def pool_chunks_backward(
    dY: Float[Array, "*b c d"], cache: PoolCache
) -> tuple[Float[Array, "*b n d"], Float[Array, "*b n d"]]:
    """dX and dZ; a token that was in no whole chunk gets zeros."""
    X, W, Y = cache
    c, chunk = W.shape[-3:-1]
    came = f"got X {X.shape} and {c} chunks of {chunk}."
    rules.must(
        X.shape[-2] // chunk == c, "pool_chunks_backward", f"X must have as many whole chunks as W; {came}"
    )
    dX, dZ, whole, dY = np.zeros_like(X), np.zeros_like(X), np.s_[..., : c * chunk, :], dY[..., None, :]
    dX[whole] = (W * dY).reshape(X[whole].shape)
    dZ[whole] = (W * dY * (_in_chunks(X, chunk) - Y[..., None, :])).reshape(X[whole].shape)
    return dX, dZ


@checked
def score_bounds(
    Q: Float[Array, "*b m d_k"], K: Float[Array, "*b n d_k"], chunk: Number[int, "1..n"]
) -> Float[Array, "*b m c"]:
    """For each query and whole chunk a number that no score of the chunk's keys exceeds, after Quest (eq-needle).

    It needs two summaries of a chunk, its smallest and its largest number in each coordinate of the keys.

    >>> score_bounds(np.array([[1.0, -1.0]]), np.array([[2.0, 0.0], [0.0, -3.0]]), chunk=2) * math.sqrt(2)
    array([[5.]])
    """
    pieces = _in_chunks(K, chunk)
    low, high = pieces.min(axis=-2), pieces.max(axis=-2)  # (*b, c, d_k)
    up, down = np.maximum(Q, 0), np.minimum(Q, 0)
    return (up @ high.swapaxes(-1, -2) + down @ low.swapaxes(-1, -2)) / math.sqrt(Q.shape[-1])


# ---- Attention ------------------------------------------------------------------------------------------------------


class TwoLevelCache(NamedTuple):
    Q: Float[Array, "*b m d_k"]
    K: Float[Array, "*b keys d_k"]  # those of the tokens, then those of the summaries
    V: Float[Array, "*b keys d_v"]
    P: Float[Array, "*b m keys"]
    n: int  # how many tokens there are


@checked
def two_level_attention(
    Q: Float[Array, "*b m d_k"],
    K: Float[Array, "*b n d_k"],
    V: Float[Array, "*b n d_v"],
    K_far: Float[Array, "*b c d_k"],
    V_far: Float[Array, "*b c d_v"],
    chunk: Number[int, "1..n"],
    near: Number[int, "1.."] = 1,
    counts_as: Number[float, "0<.."] | None = None,
) -> tuple[Float[Array, "*b m d_v"], TwoLevelCache]:
    """One softmax over the near tokens and the summaries of the chunks before them (eq-two-levels).

    near         how many chunks are attended to token by token, the query's own included
    counts_as    how many tokens a summary counts as; by default `chunk`, right where the scores of a chunk are equal

    >>> Q = K = np.zeros((4, 1))
    >>> V = np.array([[2.0], [4.0], [9.0], [9.0]])
    >>> K_far, V_far = pool_chunks(K, None, 2)[0], pool_chunks(V, None, 2)[0]
    >>> two_level_attention(Q, K, V, K_far, V_far, chunk=2)[0]  # the third token: 3, which counts twice, and 9
    array([[2.],
           [3.],
           [5.],
           [6.]])
    """
    tokens, summaries = _both("two_level_attention", Q.shape[-2], K.shape[-2], chunk, near, K_far.shape[-2])
    K_all, V_all = np.concatenate([K, K_far], axis=-2), np.concatenate([V, V_far], axis=-2)
    S = Q @ K_all.swapaxes(-1, -2) / math.sqrt(Q.shape[-1])
    S[..., K.shape[-2] :] += math.log(chunk if counts_as is None else counts_as)
    O, (P, _) = attend(S, V_all, np.concatenate([tokens, summaries], axis=-1))  # eq-two-levels  (*b, m, d_v)
    return O, TwoLevelCache(Q, K_all, V_all, P, K.shape[-2])


@checked
def two_level_attention_backward(
    dO: Float[Array, "*b m d_v"], cache: TwoLevelCache
) -> tuple[
    Float[Array, "*b m d_k"],
    Float[Array, "*b n d_k"],
    Float[Array, "*b n d_v"],
    Float[Array, "*b c d_k"],
    Float[Array, "*b c d_v"],
]:
    """dQ, dK, dV, and the gradients of the summaries, which `pool_chunks_backward` takes further."""
    Q, K, V, P, n = cache
    dS, dV = attend_backward(dO, AttendCache(P, V))
    dS = dS / math.sqrt(Q.shape[-1])
    dK = dS.swapaxes(-1, -2) @ Q
    return dS @ K, dK[..., :n, :], dV[..., :n, :], dK[..., n:, :], dV[..., n:, :]


def _chosen(near: Bool[Array, "m n"], best: Bool[Array, "*b m c"], chunk: int) -> Bool[Array, "*b m n"]:
    """The near tokens and all tokens of the best chunks."""
    whole = np.repeat(best, chunk, axis=-1)
    rest = near.shape[-1] - whole.shape[-1]
    return near | np.pad(whole, [(0, 0)] * (whole.ndim - 1) + [(0, rest)])


@checked
def coarse_to_fine_attention(
    Q: Float[Array, "*b m d_k"],
    K: Float[Array, "*b n d_k"],
    V: Float[Array, "*b n d_v"],
    S_far: Float[Array, "*b m c"],
    k: Number[int, "0..c"],
    chunk: Number[int, "1..n"],
    near: Number[int, "1.."] = 1,
) -> tuple[Float[Array, "*b m d_v"], AttentionCache]:
    """Scores of summaries choose k earlier chunks for each query, whose tokens are then attended to (eq-needle).

    S_far    a score of each whole chunk for each query, such as `Q @ K_far.T` or `score_bounds`; chunks that are
             near, or not over yet, are not chosen

    >>> Q, K, V = np.ones((5, 1)), np.array([[0.0], [0.0], [1.0], [1.0], [0.0]]), np.arange(5.0)[:, None]
    >>> K_far = pool_chunks(K, None, 2)[0]
    >>> coarse_to_fine_attention(Q, K, V, Q @ K_far.T, k=1, chunk=2)[1].P[-1].round(2)
    array([0.  , 0.  , 0.42, 0.42, 0.16])
    """
    tokens, summaries = _both(
        "coarse_to_fine_attention", Q.shape[-2], K.shape[-2], chunk, near, S_far.shape[-1]
    )
    best = np.zeros(S_far.shape, dtype=bool)
    if k:
        best = top_k_mask(np.where(summaries, S_far, -np.inf), k) & summaries
    return scaled_dot_product_attention(Q, K, V, _chosen(tokens, best, chunk))


@checked
def coarse_to_fine_attention_backward(
    dO: Float[Array, "*b m d_v"], cache: AttentionCache
) -> tuple[Float[Array, "*b m d_k"], Float[Array, "*b n d_k"], Float[Array, "*b n d_v"]]:
    """dQ, dK, dV: as in any attention. The choice has no gradient: S_far learns nothing from what was chosen."""
    return scaled_dot_product_attention_backward(dO, cache)
