"""Exactly k, also when scores are equal

write · ★★ · 10 min · 06-efficient-attention/5-chosen-keys

The array scores (m, n) holds the index scores of m queries and n keys; each query may attend to all n keys. After a
ReLU many scores are exactly zero, so equal scores are common. Return the mask (m, n) that is True at exactly k keys of
each row: those with the largest scores, and where scores are equal, the later keys first.

1. Which keys would be kept if the rule were "at least the k-th largest score", and three keys had that score?
2. A stable sort leaves equal scores in the order in which they came. In which order should the keys come?
3. Turn each row around, sort stably by falling score, take the first k, and count their positions from the other end.

A kernel that keeps all keys above a threshold has to decide this, too: its list has room for k keys.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def latest_top_k(scores, k):
    """(m, n), True at exactly k keys of each row: the largest scores, of equal ones the later keys."""
    n = scores.shape[1]
    order = np.argsort(-scores[:, ::-1], axis=1, kind="stable")[:, :k]
    mask = np.zeros(scores.shape, dtype=bool)
    np.put_along_axis(mask, n - 1 - order, True, axis=1)
    return mask


def row_by_row(scores, k):
    mask = np.zeros(scores.shape, dtype=bool)
    for i, row in enumerate(scores):
        best = sorted(range(len(row)), key=lambda j: (row[j], j))[len(row) - k :]
        mask[i, best] = True
    return mask


def limit(scores, k):
    return np.sort(scores, axis=1)[:, [-k]]


def above_and_then_some(scores, k):
    above, equal = scores > limit(scores, k), scores == limit(scores, k)
    from_the_end = equal[:, ::-1].cumsum(axis=1)[:, ::-1]
    return above | (equal & (from_the_end <= k - above.sum(axis=1, keepdims=True)))


def kept(scores, keys):
    mask = np.zeros(scores.shape, dtype=bool)
    np.put_along_axis(mask, keys, True, axis=1)
    return mask


def first_of_equal(scores, k):
    return kept(scores, np.argsort(-scores, axis=1, kind="stable")[:, :k])


def unstable(scores, k):
    return kept(scores, np.argsort(scores, axis=1)[:, -k:])


def ranks(scores):
    return np.argsort(scores, axis=1, kind="stable")


def cases(rng):
    return {
        "two queries, six keys": (np.array([[0, 2.0, 0, 0, 1, 0], [3.0, 0, 3, 3, 0, 1]]), 3),
        "no score twice": (rng.permutation(15).reshape(3, 5) / 4, 2),
        "all scores zero": (np.zeros((2, 5)), 2),
        "negative scores": (np.array([[-1.0, -1, 0, 0, -1], [0, -2, -2, -2, 1]]), 4),
        "as many as there are": (np.array([[1.0, 0, 1]]), 3),
        "two rows of 64 after a ReLU": (np.maximum(rng.normal(size=(2, 64)).round(1), 0), 40),
        "nearly equal": (np.array([[1 + 1e-12, 1, 0.5, 0], [0, 3 - 1e-12, 3, 1]]), 1),
    }


VARIANTS = (row_by_row, above_and_then_some)
MISTAKES = (
    Mistake("more than k", "Equal scores at the limit are all kept. Each row should have exactly k.",
        lambda scores, k: scores >= limit(scores, k)),
    Mistake("the earlier of equal keys", "Of equal scores the later keys should be kept.", first_of_equal),
    Mistake("fewer than k", "Keys whose score equals the k-th largest are left out, even where there is room.",
        lambda scores, k: scores > limit(scores, k)),
    Mistake("equal scores in any order", "A sort that is not stable may exchange equal scores, and in long rows it "
        "does.", unstable, lambda scores, k: kept(scores, np.argsort(-scores, axis=1)[:, :k]),
        lambda scores, k: kept(scores, scores.shape[1] - 1 - np.argsort(-scores[:, ::-1], axis=1)[:, :k]),
        lambda scores, k: kept(scores, np.argpartition(scores, -k, axis=1)[:, -k:])),
    Mistake("later keys get a little more", "A small number for each position makes later keys win where scores are "
        "equal, and also where an earlier score is a little larger.",
        *(lambda scores, k, e=e: unstable(scores + e * np.arange(scores.shape[1]), k) for e in (1e-9, 1e-6, 1e-3))),
    Mistake("zeros are left out", "A zero is a score like the others: each row keeps exactly k keys.",
        lambda scores, k: latest_top_k(scores, k) & (scores > 0)),
    Mistake("the order is taken for ranks", "An argsort gives the keys in their order, and not the rank of each key.",
        lambda scores, k: ranks(scores)[:, ::-1] < k, lambda scores, k: ranks(scores) >= scores.shape[1] - k,
        lambda scores, k: ranks(-scores) < k),
    Mistake("the keys of one row in all rows", "Each row keeps its own keys.",
        lambda scores, k: latest_top_k(scores, k).any(axis=0) & np.ones(scores.shape, bool)),
    Mistake("the smallest scores", "Keep the largest scores.", lambda scores, k: latest_top_k(-scores, k)),
)  # fmt: skip
