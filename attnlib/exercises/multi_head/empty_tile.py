"""A tile without a visible key

repair · ★★ · 12 min · 03-multi-head/3-memory

Under a mask a query may find nothing to look at in a whole tile. Then its λ there is minus infinity, and its
output zeros. `join` should join tiles a and b for m queries, with λ (m, 1) and outputs (m, d_v): a tile without
any key counts nothing, and a query that found nothing in either has λ minus infinity and zeros. It is wrong for
some queries. Repair it.

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
    Mistake("an empty query gets a mean", "Where both tiles are empty, the outputs are zeros and λ stays minus "
        "infinity; a number that is merely low looks like a key with a low score.",
        {"lam = np.logaddexp(lam_a, lam_b)": "lam = np.maximum(np.logaddexp(lam_a, lam_b), -1e9)"}),
    Mistake("the exponentials overflow", "The factors are exp(λ_a - λ); without the common λ large scores overflow.",
        {"O = np.exp(lam_a - base) * O_a + np.exp(lam_b - base) * O_b":
             "O = (np.exp(lam_a) * O_a + np.exp(lam_b) * O_b) / np.exp(base)"}),
    Mistake("the mean of the two", "A tile counts as much as its exponentials sum up to.",
        {"O = np.exp(lam_a - base) * O_a + np.exp(lam_b - base) * O_b": "O = (O_a + O_b) / 2"}),
    Mistake("the larger λ alone", "λ is the logarithm of both sums together, not the larger of the two.",
        {"lam = np.logaddexp(lam_a, lam_b)": "lam = np.maximum(lam_a, lam_b)"}),
    Mistake("the two factors are exchanged", "Each tile's factor belongs to its own output.",
        {"np.exp(lam_a - base) * O_a + np.exp(lam_b - base) * O_b":
             "np.exp(lam_b - base) * O_a + np.exp(lam_a - base) * O_b"}),
)  # fmt: skip
