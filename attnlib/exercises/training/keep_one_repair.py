"""One of each cluster

repair · ★★ · 10 min · 05-training/14-what-to-train-on

pairs (p, 2) are near-duplicates among n texts, in any order. This should return which texts are kept, (n,) booleans:
the first of each cluster, where texts that a chain of pairs joins are one cluster. It keeps two texts of some clusters,
and none of others. Two lines are wrong; repair both.

1. Let the pairs be (0, 1), (2, 3) and (1, 2), in this order. Which labels have the four texts after each of them?
2. When two clusters join, who has to get the new label?
3. One line changes the label of a single text, where all texts of its cluster need it. The other drops every text that
   has a duplicate, and also the first.

Where clusters are large, chains matter: two ends of a chain may have little in common. To compare each text with those
that were kept, and not with all, avoids it.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def kept(pairs, n):
    """True for the first text of each cluster; pairs (p, 2)."""
    label = np.arange(n)
    for i, j in pairs:
        low, high = sorted((label[i], label[j]))
        label[label == high] = low
    return label == np.arange(n)


def by_search(pairs, n):
    beside = [set() for _ in range(n)]
    for i, j in pairs:
        beside[i].add(j)
        beside[j].add(i)
    seen, keep = set(), np.zeros(n, dtype=bool)
    for i in range(n):
        if i in seen:
            continue
        keep[i] = True
        waiting = [i]
        while waiting:
            at = waiting.pop()
            if at not in seen:
                seen.add(at)
                waiting += beside[at]
    return keep


def by_powers(pairs, n):
    A = np.eye(n, dtype=bool)
    for i, j in pairs:
        A[i, j] = A[j, i] = True
    for _ in range(n):
        A = A @ A
    return A.argmax(axis=1) == np.arange(n)


def last_kept(pairs, n):
    label = np.arange(n)
    for i, j in pairs:
        low, high = sorted((label[i], label[j]))
        label[label == low] = high
    return label == np.arange(n)


def second_dropped(pairs, n):
    keep = np.ones(n, dtype=bool)
    for i, j in pairs:
        keep[max(i, j)] = False
    return keep


def later_of_kept(pairs, n):
    keep = np.ones(n, dtype=bool)
    for i, j in pairs:
        if keep[i] and keep[j]:
            keep[max(i, j)] = False
    return keep


def cases(rng):
    def drawn_pairs(n, p):
        return np.array([rng.permutation(n)[:2] for _ in range(p)]), n

    return {
        "a chain, joined last in its middle": (np.array([[0, 1], [2, 3], [1, 2]]), 5),
        "one pair": (np.array([[1, 3]]), 4),
        "turned around": (np.array([[4, 2], [3, 1], [2, 3]]), 6),
        "no pair": (np.zeros((0, 2), dtype=int), 3),
        "all with all": (np.array([[0, 1], [0, 2], [1, 2]]), 3),
        "backwards": (np.array([[4, 5], [3, 4], [2, 3], [1, 2]]), 6),
        "a star around the last": (np.array([[0, 4], [1, 4], [4, 2]]), 5),
        "many": drawn_pairs(30, 18),
        "more": drawn_pairs(40, 26),
        "the same pair twice": (np.array([[0, 2], [2, 0], [1, 3]]), 4),
    }


GIVEN = ("one label is changed", "the first is dropped too")
VARIANTS = (by_search, by_powers)
MISTAKES = (
    Mistake("one label is changed", "Where two clusters join, all texts of one of them get the other's label. Here "
        "only one text does.", {"label[label == high] = low": "label[i] = label[j] = low"}),
    Mistake("the first is dropped too", "No text of a cluster is kept, not even the first.",
        {"return label == np.arange(n)": "return np.bincount(label, minlength=n)[label] == 1"}),
    Mistake("the last is kept", "The last text of each cluster is kept; it should be the first.", last_kept),
    Mistake("the second of each pair is dropped", "The later text of each pair is dropped, and no more. What is kept "
        "is right for most clusters, but not where a chain goes up and down.", second_dropped),
    Mistake("compared with those that are kept", "A pair counts here only while both are kept. A chain should join its "
        "ends, too.", later_of_kept),
    Mistake("the others are kept", "What is returned is which texts go. Return which stay.",
        {"return label == np.arange(n)": "return label != np.arange(n)"}),
    Mistake("the clusters", "That is the cluster of each text. Return which texts are the first of theirs.",
        {"return label == np.arange(n)": "return label"}),
)  # fmt: skip
