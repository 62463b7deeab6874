"""How alike are two heads?

write · ★ · 10 min · 03-multi-head/5-heads-at-work

P (h, n, n) are the weights of h heads. For each two heads return the mean over queries of the overlap of
their rows, the sum over keys of the smaller of the two weights: 1 for equal rows, 0 for rows that share no
key. The result is (h, h).

1. Draw two rows as bars on top of each other: which area belongs to both?
2. Give P two axes of heads, so that every pair meets.
3. The minimum of the two, summed over keys, averaged over queries.

It is one minus the total variation distance. Heads that look alike may still do different things, since
their values differ; heads that look different are certainly not doing the same.
"""

import numpy as np

from attnlib.exercises.kit.given import softmax


def alikeness(P):
    """(h, h): for each two heads the mean overlap of their rows, sum of min(p, q) over the keys; P (h, n, n)."""
    return np.minimum(P[:, None], P[None]).sum(axis=-1).mean(axis=-1)


def alike_by_distance(P):
    h = len(P)
    result = np.empty((h, h))
    for a in range(h):
        for b in range(h):
            result[a, b] = np.mean(1 - abs(P[a] - P[b]).sum(axis=-1) / 2)
    return result


def cases(rng):
    return {
        "two heads": (softmax(2 * rng.normal(size=(2, 3, 3))),),
        "three heads of four tokens": (softmax(2 * rng.normal(size=(3, 4, 4))),),
        "equal and opposite heads": (np.stack([np.eye(3), np.eye(3), np.eye(3)[[1, 2, 0]]]),),
        "all sizes equal": (softmax(rng.normal(size=(3, 3, 3))),),
    }


VARIANTS = """
    alike_by_distance
    np.minimum(P[:, None], P[None]) => (P[:, None] / 2 + P[None] / 2 - abs(P[:, None] - P[None]) / 2)
"""
MISTAKES = """
the larger in place of the smaller | What both have is the smaller of the two.
    np.minimum => np.maximum
a distance, not an overlap | Equal heads should get 1, not 0.
    return np.minimum => return 1 - np.minimum
the distance was not halved | What one row has more, the other has less: the absolute differences count
  every difference twice.
    np.minimum(P[:, None], P[None]).sum(axis=-1) => (1 - abs(P[:, None] - P[None]).sum(axis=-1))
a dot product of the rows | Two equal rows that are spread out have a small dot product.
    np.minimum(P[:, None], P[None]) => (P[:, None] * P[None])
not averaged over the queries | The overlaps of the queries were added up.
    .mean(axis=-1) => .sum(axis=-1)
averaged over the keys too | Over the keys the smaller weights are summed: equal rows have 1.
    .sum(axis=-1).mean(axis=-1) => .mean(axis=-1).mean(axis=-1)
rows were compared with columns | One of the two tables was transposed.
    P[None]) => P[None].swapaxes(-1, -2))
"""
