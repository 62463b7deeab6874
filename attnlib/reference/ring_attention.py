"""Ring attention: a text is split over workers, keys and values go around a ring, and partial results are joined.

Chapter 5 derives it (attention-across-workers); how tiles are joined is Chapter 3's (memory). The workers are
simulated: row r of an array is on worker r. A worker needs only its own queries and one tile of keys and values
at a time.
"""

import math
from typing import NamedTuple

import numpy as np

from attnlib.shapes import Array, Bool, Float, Int, checked


class Joined(NamedTuple):
    """The result of attention over some of the keys, in a form to which further keys can be added."""

    largest: Float[Array, "*b m"]  # the largest score of each query so far
    total: Float[Array, "*b m"]  # the sum of exp(score - largest)
    summed: Float[Array, "*b m d_v"]  # the sum of values, weighted by the same exponentials


@checked
def join_tile(
    so_far: Joined,
    S: Float[Array, "*b m n"],
    V: Float[Array, "*b n d_v"],
    mask: Bool[Array, "*#b #m #n"] | None = None,
) -> Joined:
    """Add the scores and values of another tile; earlier sums are rescaled to the new largest score.

    A query that may look at no key of any tile keeps the largest score -inf, and sums of zero.

    >>> empty = Joined(np.array([-np.inf]), np.zeros(1), np.zeros((1, 1)))
    >>> found = join_tile(empty, np.array([[0.0, 0.0]]), np.array([[2.0], [4.0]]))
    >>> found.summed / found.total
    array([[3.]])
    """
    S = S if mask is None else np.where(mask, S, -np.inf)
    largest = np.maximum(so_far.largest, S.max(axis=-1))
    base = np.where(largest > -np.inf, largest, 0)  # -inf minus -inf would be NaN
    shrink, E = np.exp(so_far.largest - base), np.exp(S - base[..., None])
    return Joined(largest, shrink * so_far.total + E.sum(axis=-1), shrink[..., None] * so_far.summed + E @ V)


@checked
def attention_on_a_ring(
    Q: Float[Array, "p n d_k"],
    K: Float[Array, "p n d_k"],
    V: Float[Array, "p n d_v"],
    positions: Int[Array, "p n"] | None = None,
) -> tuple[Float[Array, "p n d_v"], Int[Array, "p"]]:
    """Each worker's queries over the keys of all, in p ticks (eq-ring); and how many numbers each worker has sent.

    positions    of each worker's tokens in the text; if given, attention is causal

    >>> Q, K, V = np.zeros((2, 1, 1)), np.zeros((2, 1, 1)), np.array([[[2.0]], [[4.0]]])
    >>> attention_on_a_ring(Q, K, V)[0][:, 0, 0]
    array([3., 3.])
    >>> attention_on_a_ring(Q, K, V, positions=np.array([[0], [1]]))[0][:, 0, 0]
    array([2., 3.])
    """
    p, n, d_k = Q.shape
    held = list(range(p))  # the worker whose keys and values each worker has now
    found = [Joined(np.full(n, -np.inf), np.zeros(n), np.zeros((n, V.shape[-1]))) for _ in range(p)]
    sent = np.zeros(p, dtype=np.int64)
    for tick in range(p):
        for r, of in enumerate(held):
            mask = None if positions is None else positions[r][:, None] >= positions[of]
            found[r] = join_tile(found[r], Q[r] @ K[of].T / math.sqrt(d_k), V[of], mask)
        if tick < p - 1:
            held = held[-1:] + held[:-1]  # worker r sends its tile to worker r + 1
            sent += n * (d_k + V.shape[-1])
    return np.stack([one.summed / one.total[:, None] for one in found]), sent
