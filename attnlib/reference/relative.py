"""Where a key stands from its query: numbers that are added to the scores, one for each distance.

Chapter 4 derives them (eq-offset-bias, eq-shaw, eq-alibi). A distance counts how many positions before its query a key
stands; it is below zero for keys that come after. The twin, where autograd does the backward, is `attnlib.nn.relative`.
"""

import math
from typing import NamedTuple

import numpy as np

from attnlib import rules
from attnlib.shapes import Array, Float, Int, Number, checked


@checked
def distances(m: Number[int, "1.."], n: Number[int, "1.."]) -> Int[Array, "{m} {n}"]:
    """How many positions each of n keys stands before each of the last m of them.

    >>> distances(2, 3)
    array([[ 1,  0, -1],
           [ 2,  1,  0]])
    """
    return np.arange(n - m, n)[:, None] - np.arange(n)


@checked
def clipped(distance: Int[Array, "..."], most: Number[int, "1.."]) -> Int[Array, "..."]:
    """A row of a table with 2 most + 1 rows: one for each distance up to `most`, and those beyond share the last.

    >>> clipped(np.array([-9, -1, 0, 2, 9]), most=2)
    array([0, 1, 2, 4, 4])
    """
    return np.clip(distance, -most, most) + most


@checked
def t5_buckets(
    distance: Int[Array, "..."],
    buckets: Number[int, "4.."] = 32,
    farthest: Number[int, "2.."] = 128,
    both: bool = True,
) -> Int[Array, "..."]:
    """T5's rows: near distances have one each, farther ones share ever wider rows, and all from `farthest` on the last.

    both    half of the rows are for keys that come after; without it these count as distance zero

    >>> t5_buckets(np.array([0, 1, 7, 8, 20, 500, -1, -500]), buckets=32)
    array([ 0,  1,  7,  8, 10, 15, 17, 31])
    """
    half = buckets // 2 if both else buckets
    after = np.where(distance < 0, half, 0) if both else 0
    far = np.abs(distance) if both else np.maximum(distance, 0)
    exact = half // 2
    room = f"farthest must be above {exact}, up to which each distance has a row; got {farthest=}."
    rules.must(farthest > exact, "t5_buckets", room)
    grown = np.log(np.maximum(far, 1) / exact) / math.log(farthest / exact) * (half - exact)
    shared = np.minimum(exact + np.trunc(grown).astype(int), half - 1)
    return np.where(far < exact, far, shared) + after


class OffsetCache(NamedTuple):
    rows: Int[Array, "m n"]
    table: Float[Array, "h rows"]


@checked
def offset_bias(
    table: Float[Array, "h rows"], rows: Int[Array, "m n"]
) -> tuple[Float[Array, "h m n"], OffsetCache]:
    """For each head the number of each distance, to be added to the scores (eq-offset-bias).

    >>> offset_bias(np.array([[5.0, 6.0, 7.0]]), clipped(distances(2, 2), most=1))[0]
    array([[[6., 5.],
            [7., 6.]]])
    """
    return np.take(table, rows, axis=1), OffsetCache(rows, table)


@checked
def offset_bias_backward(dB: Float[Array, "h m n"], cache: OffsetCache) -> Float[Array, "h rows"]:
    """dtable: a row collects from all pairs at its distance."""
    dtable = np.zeros_like(cache.table)
    for row, dB_row in zip(dtable, dB, strict=True):  # a head
        np.add.at(row, cache.rows, dB_row)
    return dtable


class ShawCache(NamedTuple):
    Q: Float[Array, "*b m d_k"]
    R: Float[Array, "rows d_k"]
    rows: Int[Array, "m n"]


@checked
def shaw_scores(
    Q: Float[Array, "*b m d_k"], R: Float[Array, "rows d_k"], rows: Int[Array, "m n"]
) -> tuple[Float[Array, "*b m n"], ShawCache]:
    """Each query times the vector of each distance, divided by the root of d_k as the scores are (eq-shaw).

    A query meets each row of R once, whatever the length: m times rows products, and then they are looked up.

    >>> rows = clipped(distances(2, 3), most=1)
    >>> shaw_scores(np.array([[1.0], [2.0]]), np.array([[5.0], [6.0], [7.0]]), rows)[0]
    array([[ 7.,  6.,  5.],
           [14., 14., 12.]])
    """
    S = Q @ R.T / math.sqrt(Q.shape[-1])
    return np.take_along_axis(S, np.broadcast_to(rows, (*S.shape[:-1], rows.shape[-1])), -1), ShawCache(
        Q, R, rows
    )


@checked
def shaw_scores_backward(
    dS: Float[Array, "*b m n"], cache: ShawCache
) -> tuple[Float[Array, "*b m d_k"], Float[Array, "rows d_k"]]:
    """dQ and dR: the scores of one row are gathered again from all keys at its distance."""
    Q, R, rows = cache
    chosen = np.eye(len(R), dtype=dS.dtype)[rows]  # (m, n, rows)
    met = np.einsum("...mn,mnr->...mr", dS, chosen) / math.sqrt(Q.shape[-1])
    flat_Q, flat = Q.reshape(-1, Q.shape[-1]), met.reshape(-1, len(R))
    return met @ R, flat.T @ flat_Q


@checked
def alibi_slopes(h: Number[int, "1.."]) -> Float[Array, "{h}"]:
    """How fast each head's scores fall with the distance: from a half down to 1/256 where h = 8.

    For a number of heads that is no power of two, the published rule takes every other number of the next power.

    >>> alibi_slopes(4)
    array([0.25      , 0.0625    , 0.015625  , 0.00390625])
    """
    whole = 2 ** int(math.log2(h))
    slopes = 2.0 ** (-8 / whole * np.arange(1, whole + 1))
    more = 2.0 ** (-4 / whole * np.arange(1, 2 * whole + 1, 2))
    return np.concatenate([slopes, more[: h - whole]])


@checked
def alibi(h: Number[int, "1.."], m: Number[int, "1.."], n: Number[int, "1.."]) -> Float[Array, "{h} {m} {n}"]:
    """A penalty that grows with the distance, with nothing to learn (eq-alibi).

    >>> alibi(1, 2, 3) * 256
    array([[[-1.,  0., -1.],
            [-2., -1.,  0.]]])
    """
    return alibi_slopes(h)[:, None, None] * -np.abs(distances(m, n))
