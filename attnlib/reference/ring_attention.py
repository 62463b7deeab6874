"""Attention over a text that lies on several workers: keys and values go around a ring, and tiles are joined exactly.

Chapter 5 names it (many-workers); how tiles are joined is Chapter 1's (queries-keys-values). The workers are simulated:
row r of an array is what worker r holds. A worker never holds more than its queries and one tile of keys and values.
"""

import math
from typing import NamedTuple

import numpy as np

from attnlib import rules
from attnlib.shapes import Array, Bool, Float, Int, Number, checked


class Joined(NamedTuple):
    """What attention over some keys has come to: enough to go on with others."""

    largest: Float[Array, "m"]  # the largest score of each query so far
    total: Float[Array, "m"]  # the sum of the exponentials of all scores, less the largest
    summed: Float[Array, "m d_v"]  # the values, each times its exponential


@checked
def join_tile(
    so_far: Joined, S: Float[Array, "m n"], V: Float[Array, "n d_v"], mask: Bool[Array, "m n"] | None = None
) -> Joined:
    """The same with the scores and values of another tile; what was summed under another largest score is rescaled.

    >>> empty = Joined(np.array([-np.inf]), np.zeros(1), np.zeros((1, 1)))
    >>> found = join_tile(empty, np.array([[0.0, 0.0]]), np.array([[2.0], [4.0]]))
    >>> found.summed / found.total
    array([[3.]])
    """
    S = S if mask is None else np.where(mask, S, -np.inf)
    largest = np.maximum(so_far.largest, S.max(axis=-1))
    shrink, E = np.exp(so_far.largest - largest), np.exp(S - largest[:, None])
    return Joined(largest, shrink * so_far.total + E.sum(axis=-1), shrink[:, None] * so_far.summed + E @ V)


@checked
def attention_on_a_ring(
    Q: Float[Array, "p m d_k"], K: Float[Array, "p n d_k"], V: Float[Array, "p n d_v"], causal: bool = False
) -> tuple[Float[Array, "p m d_v"], Int[Array, "p"]]:
    """Each worker's queries over the keys of all, in p rounds; and how many numbers each worker has sent.

    causal    no query sees a key behind it; a worker's positions follow those of the worker before it

    >>> Q, K, V = np.zeros((2, 1, 1)), np.zeros((2, 1, 1)), np.array([[[2.0]], [[4.0]]])
    >>> attention_on_a_ring(Q, K, V)[0][:, 0, 0], attention_on_a_ring(Q, K, V, causal=True)[0][:, 0, 0]
    (array([3., 3.]), array([2., 3.]))
    """
    (p, m, d_k), n = Q.shape, K.shape[1]
    same = m == n or not causal
    rules.must(
        same, "attention_on_a_ring", f"causal, each worker must have as many queries as keys; got {m=}, {n=}."
    )
    held: list[tuple[Array, Array, int]] = [(K[r], V[r], r) for r in range(p)]  # and whose it is
    found = [Joined(np.full(m, -np.inf), np.zeros(m), np.zeros((m, V.shape[-1]))) for _ in range(p)]
    sent = np.zeros(p, dtype=np.int64)
    for step in range(p):
        for r, (keys, values, of) in enumerate(held):
            mask = _seen(r, of, n) if causal else None
            found[r] = join_tile(found[r], Q[r] @ keys.T / math.sqrt(d_k), values, mask)
        if step < p - 1:
            held = held[-1:] + held[:-1]  # worker r hands what it has to worker r + 1
            sent += n * (d_k + V.shape[-1])
    return np.stack([one.summed / one.total[:, None] for one in found]), sent


def _seen(r: Number[int, "0.."], of: Number[int, "0.."], n: Number[int, "1.."]) -> Array:
    """Which keys of worker `of` stand before or at the queries of worker r."""
    return (r * n + np.arange(n))[:, None] >= of * n + np.arange(n)
