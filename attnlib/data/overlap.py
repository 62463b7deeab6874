"""Test text in training text: runs of n words that both have (book: what-to-train-on).

A run of 13 words hardly comes about twice by chance. A document that only contains the test, among much else, has a
small Jaccard similarity with it, so a search for near-duplicates does not find it.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from attnlib.data.duplicates import words
from attnlib.shapes import Array, Int


def runs(text: str, n: int = 13) -> set[str]:
    """All runs of n words of a text, in small letters; a shorter text has none.

    >>> sorted(runs("A b, C d", n=4))
    ['a b , c', 'b , c d']
    """
    found = [word.lower() for word in words(text)]
    return {" ".join(found[i : i + n]) for i in range(len(found) - n + 1)}


def shared_runs(texts: Iterable[str], tests: Sequence[str], n: int = 13) -> Int[Array, "texts tests"]:
    """How many runs of n words each text has in common with each test.

    >>> shared_runs(["x a b c y", "c b a"], ["a b c", "y z w"], n=2).tolist()
    [[2, 0], [0, 0]]
    """
    of: dict[str, list[int]] = {}
    for j, test in enumerate(tests):
        for run in runs(test, n):
            of.setdefault(run, []).append(j)
    counts = []
    for text in texts:
        row = np.zeros(len(tests), dtype=np.int64)
        for run in runs(text, n) & of.keys():
            row[of[run]] += 1
        counts.append(row)
    return np.array(counts, dtype=np.int64).reshape(-1, len(tests))
