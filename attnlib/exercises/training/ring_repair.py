"""A ring that joins wrongly

repair · ★★ · 8 min · 05-training/13-attention-across-workers

Worker r has the queries Q[r], and at the start the keys K[r] and the values V[r]; Q is (p, m, d), K (p, n, d), V (p,
n, d_v). The function computes all workers at once, and np.roll passes keys and values on around the ring. The result
should be the attention of all queries to all keys, (p, m, d_v). It runs, and two things are wrong; repair both.

1. Compare with one worker, then with two, then with three. What is new each time?
2. Compared with the ticks before, the largest score may have changed. What must then be rescaled?
3. With two workers both directions of a ring are the same. Whose values does a worker have, and whose keys?

The first fault has no effect where all scores are equal, as in a new model. The second has none on two workers, so
test with three.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def all_workers(Q, K, V):
    """Attention on a ring; Q (p, m, d), K (p, n, d), V (p, n, d_v)."""
    largest = np.full(Q.shape[:2], -np.inf)
    total, summed = np.zeros(Q.shape[:2]), np.zeros((*Q.shape[:2], V.shape[2]))
    for _ in range(len(Q)):
        S = Q @ K.swapaxes(1, 2) / np.sqrt(Q.shape[2])
        new = np.maximum(largest, S.max(axis=2))
        E, shrink = np.exp(S - new[..., None]), np.exp(largest - new)
        total = shrink * total + E.sum(axis=2)
        summed = shrink[..., None] * summed + E @ V
        largest = new
        K, V = np.roll(K, 1, axis=0), np.roll(V, 1, axis=0)
    return summed / total[..., None]


def without_a_ring(Q, K, V):
    K, V = K.reshape(-1, K.shape[2]), V.reshape(-1, V.shape[2])
    S = Q @ K.T / np.sqrt(Q.shape[2])
    E = np.exp(S - S.max(axis=2, keepdims=True))
    return E @ V / E.sum(axis=2, keepdims=True)


def mean_of_tiles(Q, K, V):
    out = np.zeros((*Q.shape[:2], V.shape[2]))
    for r in range(len(Q)):
        out += without_a_ring(Q, K[r : r + 1], V[r : r + 1]) / len(Q)
    return out


def cases(rng):
    def parts(p, m, n, d, d_v):
        return tuple(drawn(rng, (p, m, d), (p, n, d), (p, n, d_v)))

    Q, K, V = parts(3, 2, 3, 4, 2)
    return {
        "three workers": parts(3, 2, 4, 3, 2),
        "two workers": parts(2, 3, 2, 3, 2),
        "one worker": parts(1, 2, 3, 4, 2),
        "four workers": parts(4, 1, 2, 3, 2),
        "all sizes equal": parts(3, 3, 3, 3, 3),
        "all scores alike": (Q, 0 * K, V),
        "scores in the hundreds": (400 * Q, K, V),
    }


GIVEN = ("nothing is rescaled", "values go in the other direction")
VARIANTS = (
    without_a_ring,
    {"np.maximum(largest, S.max(axis=2))": "np.stack([largest, *np.moveaxis(S, 2, 0)]).max(axis=0)"},
    {"np.roll(K, 1, axis=0), np.roll(V, 1, axis=0)": "np.roll(K, -1, axis=0), np.roll(V, -1, axis=0)"},
)  # fmt: skip
MISTAKES = (
    Mistake("nothing is rescaled", "The sums of the ticks before, totals and values, have another largest score "
        "subtracted. Rescale both before anything is added.",
        {"np.exp(largest - new)": "np.ones_like(new)"}),
    Mistake("only one of two sums is rescaled", "Totals and summed values both have the earlier largest score "
        "subtracted. One of them was rescaled, and the other was not.",
        {"shrink[..., None] * summed": "summed"}, {"shrink * total": "total"}),
    Mistake("values go in the other direction",
        "Keys and values travel together. With three workers and more, these are keys "
        "of one worker and values of another.", {"np.roll(V, 1, axis=0)": "np.roll(V, -1, axis=0)"}),
    Mistake("values stay where they were", "The keys go around and the values stay: they have to travel together.",
        {"np.roll(V, 1, axis=0)": "V"}),
    Mistake("keys stay where they were", "The values go around and the keys stay: they have to travel together.",
        {"np.roll(K, 1, axis=0),": "K,"}),
    Mistake("scores are not divided", "The scores are divided by the root of the width of the keys, as in every "
        "attention.", {" / np.sqrt(Q.shape[2])": ""}),
    Mistake("rescaled the wrong way round", "A sum with a smaller score subtracted is larger: it must shrink when the "
        "largest score grows.",
        {"shrink = np.exp(S - new[..., None]), np.exp(largest - new)":
             "shrink = ( np.exp(S - new[..., None]), np.exp(np.where(np.isinf(largest), -np.inf, new - largest)), )"}),
    Mistake("the outputs averaged", "A tile with little weight counts as much as the others here.",
        mean_of_tiles),
    Mistake("not divided", "These are sums still; the division by the total is missing.",
        {"return summed / total[..., None]": "return summed"}),
    Mistake("one long array", "Each worker has its own queries: (p, m, d_v).",
        {"return summed / total[..., None]": "return (summed / total[..., None]).reshape(-1, V.shape[2])"}),
)  # fmt: skip
