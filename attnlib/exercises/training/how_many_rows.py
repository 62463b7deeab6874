"""The errors that bands make

write · ★★ · 12 min · 05-training/14-what-to-train-on

You have n minima of each text, and may cut them into bands of r rows, for each r of rows (m,), in no particular order;
all of them divide n. Of some pairs the exact similarity is known, s (k,), and whether a person calls them duplicates,
same (k,). Return for each r the expected number of errors, (m,): duplicates without an equal band, and others with one.

1. With which probability has a pair of similarity s an equal band? Which of the two probabilities is the error?
2. For each r there are n // r bands. Sum the probability of an error over all pairs.
3. An error of a duplicate is that no band is equal; of another pair, that at least one is.

One takes the r with the fewest errors. The two kinds count the same here. Where pairs with an equal band are compared
exactly afterwards, an equal band too many costs a comparison, and a duplicate that is missed stays: then one would take
fewer rows.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def expected_errors(s, same, n, rows):
    """Expected errors for each number of rows; s and same (k,), rows (m,)."""
    errors = []
    for r in rows:
        p = 1 - (1 - s**r) ** (n // r)
        errors.append(np.where(same, 1 - p, p).sum())
    return np.array(errors)


def by_loops(s, same, n, rows):
    found = []
    for r in rows:
        total = 0.0
        for x, yes in zip(s, same, strict=True):
            none = (1 - x**r) ** (n // r)
            total += none if yes else 1 - none
        found.append(total)
    return np.array(found)


def all_at_once(s, same, n, rows):
    none = (1 - s[:, None] ** rows) ** (n / rows)
    return none[same].sum(axis=0) + (1 - none[~same]).sum(axis=0)


def cases(rng):
    def drawn_pairs(k, middle, n, rows, width=0.1):
        s = rng.uniform(0.05, 0.98, k)
        return s, s + width * rng.normal(size=k) > middle, n, np.array(rows)

    few = np.array([0.2, 0.3, 0.7, 0.8]), np.array([False, False, True, True])
    return {
        "four pairs": (*few, 12, np.array([3, 2, 6])),
        "a low border": drawn_pairs(40, 0.3, 64, [8, 2, 16, 4]),
        "a high border": drawn_pairs(40, 0.85, 64, [4, 32, 8, 16]),
        "in the middle": drawn_pairs(60, 0.6, 48, [2, 12, 4, 24, 6]),
        "most are no duplicates": (
            np.append(np.full(30, 0.5), 0.9),
            np.arange(31) == 30,
            24,
            np.array([4, 2, 3, 12]),
        ),
        "most are duplicates": (
            np.append(np.full(30, 0.6), 0.4),
            np.arange(31) < 30,
            36,
            np.array([9, 3, 12, 4, 6]),
        ),
        "a prime number of minima": (*few, 7, np.array([7, 1])),
        "many minima": drawn_pairs(50, 0.5, 240, [20, 5, 10, 40, 3]),
        "all sizes equal": (*few, 4, np.array([2, 4, 1])),
    }


VARIANTS = (by_loops, all_at_once)
MISTAKES = (
    Mistake("only misses count", "Pairs that are no duplicates and have an equal band are errors as well.",
        {"np.where(same, 1 - p, p)": "np.where(same, 1 - p, 0)"}),
    Mistake("only false ones count", "Duplicates without an equal band are errors as well.",
        {"np.where(same, 1 - p, p)": "np.where(same, 0, p)"}),
    Mistake("the errors are exchanged", "What is counted is what goes right: a duplicate is an error where it has no "
        "equal band.", {"np.where(same, 1 - p, p)": "np.where(same, p, 1 - p)"}),
    Mistake("a single row is enough", "A band agrees only if all its rows do.",
        {"1 - (1 - s**r) ** (n // r)": "(1 - (1 - s) ** r) ** (n // r)"},
        {"1 - (1 - s**r) ** (n // r)": "1 - (1 - s) ** n"}),
    Mistake("the number of bands is forgotten", "There are n / r bands, not one.",
        {"1 - (1 - s**r) ** (n // r)": "s**r"}),
    Mistake("rows and bands are exchanged", "A band has r rows, and there are n / r bands.",
        {"1 - (1 - s**r) ** (n // r)": "1 - (1 - s ** (n // r)) ** r"}),
    Mistake("as many bands as minima", "The n minima are cut into n / r bands of r rows each.",
        {"** (n // r)": "** n"}),
)  # fmt: skip
