"""How near to a right angle?

write · ★ · 8 min · 01-foundations/7-how-many-dimensions

A theorem says: if $d \\ge 4 \\ln n / t^2$, there are n unit vectors of width d whose pairwise cosines all lie strictly
between -t and t. Return the smallest bound t, as a float, that it promises for n and d. A cosine is never larger than
1: where the theorem promises nothing below 1, return 1.0.

1. The theorem has three numbers in it: n, d and t. Two of them are arguments.
2. Solve $d \\ge 4 \\ln n / t^2$ for t.
3. t is the root of 4 ln n / d, and no more than 1.

The bound grows with the root of the *logarithm* of n: a thousand times as many words widen it little. It
also falls only with the root of d, so a space of four times the width halves it.
"""

import math

from attnlib.exercises.engine.model import Mistake


def angles_to_spare(n, d):
    """The smallest bound on all cosines that the theorem promises for n vectors of width d."""
    return min(1.0, 2 * math.sqrt(math.log(n) / d))


def by_search(n, d):
    low, high = 0.0, 1.0
    for _ in range(60):
        t = (low + high) / 2
        if d * t * t >= 4 * math.log(n):
            high = t
        else:
            low = t
    return high


def cases(rng):
    return {
        "a thousand words, 512 numbers each": (1000, 512),
        "a hundred thousand words, 768 numbers each": (100_000, 768),
        "two vectors": (2, 30),
        "too many for the plane": (50, 2),
        "many for their width": (int(rng.integers(10**4, 10**5)), 40),
        "a wide space": (int(rng.integers(100, 1000)), 4096),
    }


VARIANTS = (by_search, {"min(1.0, 2 * math.sqrt(math.log(n) / d))": "min((4 * math.log(n) / d) ** 0.5, 1.0)"})
MISTAKES = (
    Mistake("no root", "This is t squared: in the theorem the bound stands with its square.",
        {"2 * math.sqrt(math.log(n) / d)": "4 * math.log(n) / d"}),
    Mistake("the four stayed outside of the root", "The root of 4 is 2.", {"2 * math.sqrt": "4 * math.sqrt"}),
    Mistake("the four is missing", "The theorem has a factor 4 before the logarithm: the price of a bound on all "
        "pairs at once.", {"2 * math.sqrt": "math.sqrt"}),
    Mistake("the spread of one cosine", "One over the root of d is how far a single cosine is from zero. All pairs "
        "were wanted.", {"2 * math.sqrt(math.log(n) / d)": "1 / math.sqrt(d)"}),
)  # fmt: skip
