"""Blocks that need not be computed

write · ★★ · 10 min · 02-self-attention/4-what-it-costs

Causal attention is computed in square blocks of b queries and b keys; n is a multiple of b. A block is computed as a
whole if it holds at least one pair that is allowed, and skipped if it holds none. Return how many multiply-adds
scores and averages take together, for vectors of d numbers.

1. With three blocks to a side: which of the nine hold at least one allowed pair?
2. All on the diagonal and below it. How many are that, for k blocks to a side?
3. k (k + 1) / 2 blocks of b² pairs; each pair costs d multiply-adds for its score and d for its average.

Half of the square, and half of the diagonal blocks more: with large blocks the saving shrinks from a half towards
nothing at b = n. Small blocks save most by count, and keep a processor less busy.
"""

from attnlib.exercises.engine.model import Mistake


def multiply_adds(n, d, b):
    """Multiply-adds of scores and averages, by blocks of b by b."""
    side = n // b
    blocks = side * (side + 1) // 2
    return 2 * blocks * b * b * d


def cases(rng):
    return {
        "six tokens in blocks of two": (6, 3, 2),
        "one block": (5, 2, 5),
        "blocks of one pair": (4, 7, 1),
        "a long text": (4096, 64, 128),
        "another width": (12, 5, 4),
    }


def by_looking(n, d, b):
    first = range(0, n, b)
    return sum(2 * d * b**2 for i in first for j in first if j <= i + b - 1)


VARIANTS = (by_looking, {"2 * blocks * b * b * d": "sum(2 * d * b * (i + 1) * b for i in range(side))"})
MISTAKES = (
    Mistake("without the diagonal", "The blocks on the diagonal hold allowed pairs as well.",
        {"side * (side + 1) // 2": "side * (side - 1) // 2"}),
    Mistake("the scores alone", "Each pair costs twice: once for its score, once for its share of the average.",
        {"return 2 * blocks": "return blocks"}),
    Mistake("blocks, not pairs", "A block holds b times b pairs.", {"blocks * b * b * d": "blocks * d"}),
    Mistake("a row of a block", "A block holds b times b pairs, not b.", {"blocks * b * b * d": "blocks * b * d"}),
    Mistake("additions counted apart", "A multiplication and the addition after it are one multiply-add.",
        {"return 2 * blocks": "return 4 * blocks"}),
)  # fmt: skip
