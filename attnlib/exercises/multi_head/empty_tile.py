"""A tile without a visible key

repair · ★★ · 12 min · 03-multi-head/3-memory

A mask may hide all keys of a tile from a query. Then the tile has, for this query, λ = minus infinity and an output
of zeros. `join` should join tiles a and b for m queries, with λ (m, 1) and outputs (m, d_v): a tile without any key
counts nothing, and a query without a key in both tiles gets λ = minus infinity and zeros. It is wrong for some
queries. Repair it.

1. Try it by hand: λ = -inf on both sides. What is -inf minus -inf?
2. Which factor should an empty tile have? And what is the least change that gives it?
3. Where the joined λ is minus infinity, subtract something finite instead: exp(-inf - 0) is 0, as it should be.

Fast attention skips tiles that lie wholly hidden by a causal mask, and meets this case at their edge. A nan in one
query is seen at once; the milder wrong answers, a mean over keys that were forbidden, are not.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def join(lam_a, O_a, lam_b, O_b):
    """λ (m, 1) and outputs (m, d_v) of two tiles together; an empty tile has λ = -inf and zeros."""
    lam = np.logaddexp(lam_a, lam_b)
    base = np.where(np.isneginf(lam), 0, lam)
    O = np.exp(lam_a - base) * O_a + np.exp(lam_b - base) * O_b
    return lam, O


def by_maximum(lam_a, O_a, lam_b, O_b):
    top = np.maximum(lam_a, lam_b)
    top = np.where(top == -np.inf, 0.0, top)
    a, b = np.exp(lam_a - top), np.exp(lam_b - top)
    total = a + b
    with np.errstate(divide="ignore"):
        lam = top + np.log(total)
    return lam, (a * O_a + b * O_b) / np.where(total == 0, 1, total)


def cleaned(lam_a, O_a, lam_b, O_b):
    with np.errstate(invalid="ignore"):
        lam = np.logaddexp(lam_a, lam_b)
        share_a, share_b = np.exp(lam_a - lam), np.exp(lam_b - lam)
    return lam, np.nan_to_num(share_a) * O_a + np.nan_to_num(share_b) * O_b


def not_divided(lam_a, O_a, lam_b, O_b):
    top = np.maximum(lam_a, lam_b)
    top = np.where(np.isneginf(top), 0.0, top)
    return np.logaddexp(lam_a, lam_b), np.exp(lam_a - top) * O_a + np.exp(lam_b - top) * O_b


def cases(rng):
    def tiles(m, d_v, empty_a=(), empty_b=(), shift=0.0):
        parts = []
        for empty in (empty_a, empty_b):
            lam, O = rng.normal(size=(m, 1)) + shift, rng.normal(size=(m, d_v))
            lam[list(empty)], O[list(empty)] = -np.inf, 0
            parts += [lam, O]
        return tuple(parts)

    return {
        "the third query has nothing": tiles(4, 2, (1, 2), (2, 3)),
        "no tile is empty": tiles(3, 2),
        "the first tile is empty": tiles(2, 3, (0, 1)),
        "the second tile is empty": tiles(2, 3, (), (0, 1)),
        "large scores": tiles(4, 2, (0, 3), (3,), shift=900.0),
        "all sizes equal": tiles(3, 3, (0, 2), (1, 2)),
    }


RETURNS = ("lam", "O")
GIVEN = ("nothing from nothing",)
VARIANTS = (by_maximum, cleaned)
MISTAKES = (
    Mistake("nothing from nothing", "Where both tiles are empty, minus infinity was taken from minus infinity: that "
        "is nan. It should be zeros.", {"base = np.where(np.isneginf(lam), 0, lam)": "base = lam"}),
    Mistake("a finite λ where both tiles are empty", "Where both tiles are empty, λ stays minus infinity. A number, "
        "however low, counts like the score of a key when the next tile is joined.",
        {"lam = np.logaddexp(lam_a, lam_b)": "lam = np.maximum(np.logaddexp(lam_a, lam_b), -1e9)"},
        {"lam = np.logaddexp(lam_a, lam_b)": "lam = np.maximum(np.logaddexp(lam_a, lam_b), -1e30)"},
        {"lam = np.logaddexp(lam_a, lam_b)": "lam = np.nan_to_num(np.logaddexp(lam_a, lam_b))"},
        {"return lam, O": "return base, O"}),
    Mistake("one empty tile is enough", "Zero was subtracted where one tile is empty. Where the other one has keys, "
        "the joined λ is finite and has to be subtracted.",
        {"np.isneginf(lam)": "np.isneginf(lam_a)"}, {"np.isneginf(lam)": "np.isneginf(lam_b)"},
        {"np.isneginf(lam)": "np.isneginf(np.minimum(lam_a, lam_b))"}),
    Mistake("not divided by the sum", "The factors were made with the larger λ and do not sum to one. Divide by their "
        "sum, or make them with the joined λ.", not_divided),
    Mistake("the exponentials overflow", "The factors are exp(λ_a - λ); without the common λ large scores overflow.",
        {"O = np.exp(lam_a - base) * O_a + np.exp(lam_b - base) * O_b":
             "O = (np.exp(lam_a) * O_a + np.exp(lam_b) * O_b) / np.exp(base)"}),
    Mistake("the mean of the two", "A tile counts as much as its exponentials sum up to.",
        {"O = np.exp(lam_a - base) * O_a + np.exp(lam_b - base) * O_b": "O = (O_a + O_b) / 2"}),
    Mistake("only one tile is rescaled", "One output was added as it is. Each has to be multiplied by its tile's "
        "share, exp(λ of the tile - λ of both).",
        {"np.exp(lam_a - base) * O_a": "O_a"}, {"np.exp(lam_b - base) * O_b": "O_b"}),
    Mistake("nothing is rescaled", "The outputs were added as they are. Each has to be multiplied by its tile's share, "
        "exp(λ of the tile - λ of both).",
        {"O = np.exp(lam_a - base) * O_a + np.exp(lam_b - base) * O_b": "O = O_a + O_b"}),
    Mistake("the larger λ alone", "λ is the logarithm of both sums together, not the larger of the two.",
        {"lam = np.logaddexp(lam_a, lam_b)": "lam = np.maximum(lam_a, lam_b)"},
        {"return lam, O": "return np.maximum(lam_a, lam_b), O"}),
    Mistake("the two factors are exchanged", "Each tile's factor belongs to its own output.",
        {"np.exp(lam_a - base) * O_a + np.exp(lam_b - base) * O_b":
             "np.exp(lam_b - base) * O_a + np.exp(lam_a - base) * O_b"}),
)  # fmt: skip
