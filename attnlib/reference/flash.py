"""FlashAttention: attention in tiles, forward and backward, which never holds the weights of all pairs.

The book derives it in eq-tile, eq-tile-join and eq-tile-backward (Chapter 3). The twin, where compiled products do the
tiles, is `attnlib.nn.flash`. Only the output and one number for each query, lambda, are kept beside the inputs, so
memory grows with n and not with its square. Of a sparse pattern, given as `tiles`, the empty ones are left out (Chapter
6).
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from attnlib import rules
from attnlib.reference.ring_attention import Joined, join_tile
from attnlib.reference.tiles import EMPTY, FULL, Tiles
from attnlib.shapes import Array, Bool, Float, Number, checked


class FlashCache(NamedTuple):
    Q: Float[Array, "*b m d_k"]
    K: Float[Array, "*b n d_k"]
    V: Float[Array, "*b n d_v"]
    O: Float[Array, "*b m d_v"]
    lam: Float[Array, "*b m"]  # log of the sum of exp(score); -inf for a query that may look nowhere
    mask: Bool[Array, "*#b #m #n"] | None
    causal: bool
    block: Number[int, "1.."]
    tiles: Tiles | None = None


def _wide(X: np.ndarray) -> np.ndarray:
    """At least float32, for sums over many tiles."""
    return X.astype(np.float32) if X.dtype == np.float16 else X


def _blocks(n: int, block: int) -> list[slice]:
    return [slice(i, min(i + block, n)) for i in range(0, n, block)]


def _for_all_pairs(mask: np.ndarray | None, m: int, n: int) -> np.ndarray | None:
    """The mask with an entry for each query and each key: a view, which takes no memory."""
    return None if mask is None else np.broadcast_to(mask, (*mask.shape[:-2], m, n))


def _tiles(
    rows: slice, m: int, n: int, mask: np.ndarray | None, causal: bool, block: int, tiles: Tiles | None
) -> Iterator[tuple[slice, np.ndarray | None]]:
    """The tiles of these queries: some keys, and which of them each query may look at (None: all).

    A tile in which no query may look at any key is left out. With `causal` that is every tile after the diagonal.
    """
    rules.of_tiles("flash_attention", tiles, m, n)
    ahead = n - m  # the last query is at the position of the last key
    first, last = rows.start + ahead, rows.stop - 1 + ahead
    for keys in _blocks(n, block):
        if causal and keys.start > last:
            return
        kind = FULL if tiles is None else tiles.number[rows.start // block, keys.start // block]
        if kind == EMPTY:
            continue
        seen = None if mask is None else mask[..., rows, keys]
        if tiles is not None and kind != FULL:
            one = tiles.masks[kind, : rows.stop - rows.start, : keys.stop - keys.start]
            seen = one if seen is None else seen & one
        if causal and keys.stop - 1 > first:  # the diagonal goes through this tile
            past = np.arange(keys.start, keys.stop) <= np.arange(first, last + 1)[:, None]
            seen = past if seen is None else seen & past
        if seen is None or seen.any():
            yield keys, seen


def _scores(Q: np.ndarray, K: np.ndarray, seen: np.ndarray | None) -> np.ndarray:
    """The scores of one tile, -inf where a query may not look."""
    S = _wide(Q) @ _wide(K).swapaxes(-1, -2) / math.sqrt(Q.shape[-1])  # eq-scaled-score
    S = S if seen is None else np.where(seen, S, -math.inf)
    rules.scores("flash_attention", S)
    return S


@checked
def flash_attention(
    Q: Float[Array, "*b m d_k"],
    K: Float[Array, "*b n d_k"],
    V: Float[Array, "*b n d_v"],
    *,
    mask: Bool[Array, "*#b #m #n"] | None = None,
    causal: bool = False,
    block: Number[int, "1.."] = 64,
    tiles: Tiles | None = None,
) -> tuple[Float[Array, "*b m d_v"], FlashCache]:
    """Attention with scaled dot-product scores, in tiles of `block` queries and keys (eq-tile, eq-tile-join).

    mask      True where a query may look; a query that may look nowhere gets zeros
    causal    each query sees its own and earlier positions; the last query is at the position of the last key
    block     how many queries and how many keys a tile has; the output does not depend on it
    tiles     a pattern by `block_mask`, whose empty tiles are left out; their size then replaces `block`

    >>> Q, K, V = np.array([[1.0]]), np.array([[0.0], [math.log(3.0)]]), np.array([[4.0], [8.0]])
    >>> O, cache = flash_attention(Q, K, V, block=1)
    >>> O.round(12), np.exp(cache.lam).round(12)
    (array([[7.]]), array([4.]))
    """
    rules.finite("flash_attention", "V", V)
    block = block if tiles is None else tiles.masks.shape[-1]
    m, n, d_v, dtype = Q.shape[-2], K.shape[-2], V.shape[-1], _wide(Q[..., :0]).dtype
    O, lam = np.zeros((*Q.shape[:-1], d_v), dtype=Q.dtype), np.zeros(Q.shape[:-1], dtype=dtype)
    seen_by_all = _for_all_pairs(mask, m, n)
    for rows in _blocks(m, block):
        shape = (*Q.shape[:-2], rows.stop - rows.start)
        so_far = Joined(
            np.full(shape, -np.inf, dtype), np.zeros(shape, dtype), np.zeros((*shape, d_v), dtype)
        )
        for keys, seen in _tiles(rows, m, n, seen_by_all, causal, block, tiles):
            S = _scores(Q[..., rows, :], K[..., keys, :], seen)
            so_far = join_tile(so_far, S, _wide(V[..., keys, :]))  # eq-tile-join
        total = np.where(so_far.total > 0, so_far.total, 1)  # 1 for a query that may look nowhere
        O[..., rows, :] = so_far.summed / total[..., None]
        lam[..., rows] = so_far.largest + np.log(total)  # eq-tile
    return O, FlashCache(Q, K, V, O, lam, mask, causal, block, tiles)


@checked
def flash_attention_backward(
    dO: Float[Array, "*b m d_v"], cache: FlashCache
) -> tuple[Float[Array, "*b m d_k"], Float[Array, "*b n d_k"], Float[Array, "*b n d_v"]]:
    """dQ, dK, dV: the weights of each tile are computed again from its scores and lambda (eq-tile-backward)."""
    Q, K, V, O, lam, mask, causal, block, tiles = cache
    m, n, scale = Q.shape[-2], K.shape[-2], 1 / math.sqrt(Q.shape[-1])
    dQ, dK, dV = (np.zeros(X.shape, dtype=lam.dtype) for X in (Q, K, V))
    own = (_wide(dO) * O).sum(axis=-1, keepdims=True)
    base = np.where(lam > -np.inf, lam, 0)[..., None]
    seen_by_all = _for_all_pairs(mask, m, n)
    for a in _blocks(m, block):
        Q_a, dO_a = _wide(Q[..., a, :]), _wide(dO[..., a, :])
        for b, seen in _tiles(a, m, n, seen_by_all, causal, block, tiles):
            K_b, V_b = _wide(K[..., b, :]), _wide(V[..., b, :])
            P = np.exp(_scores(Q_a, K_b, seen) - base[..., a, :])
            dS = scale * P * (dO_a @ V_b.swapaxes(-1, -2) - own[..., a, :])  # eq-tile-backward
            dQ[..., a, :] += dS @ K_b
            dK[..., b, :] += dS.swapaxes(-1, -2) @ Q_a
            dV[..., b, :] += P.swapaxes(-1, -2) @ dO_a
    return dQ.astype(Q.dtype), dK.astype(K.dtype), dV.astype(V.dtype)
