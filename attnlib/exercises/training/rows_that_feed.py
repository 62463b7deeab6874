"""How many rows keep the machine busy?

write · ★★ · 8 min · 05-training/12-where-the-time-goes

A product of (n, d) with (d, h) waits for memory while n is small. Given widths d (k,) and h (k,) of k matrices, the
machine's ratio in operations for each byte, and the size of a number in bytes, return for each matrix the smallest
whole number of rows n with which its product has at least `ratio` operations for each byte read or written, as floats
(k,); infinity where no number of rows is enough. A multiply-add is two operations; both factors are read once, and the
product is written once.

1. Write down operations and bytes of the product. Which of them grow with n?
2. Operations must be at least ratio times bytes: bring all that has an n to one side.
3. The factor of n may be zero or negative: then no n is enough. Else divide, and round up.

With numbers of half the size less than half the rows are enough. And a matrix can be too narrow for any batch: with d
and h below the ratio times the size, reading and writing the rows alone costs more than their arithmetic.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def rows_that_feed(d, h, ratio, size):
    """The fewest rows for `ratio` operations a byte; d (k,), h (k,)."""
    need = ratio * size
    spare = 2 * d * h - need * (d + h)
    rows = np.full(d.shape, np.inf)
    can = spare > 0
    rows[can] = np.ceil(need * d[can] * h[can] / spare[can])
    return rows


def by_trying(d, h, ratio, size):
    n = np.arange(1, 2_000)[:, None]
    enough = 2 * n * d * h >= ratio * size * (n * d + d * h + n * h)
    return np.where(enough.any(axis=0), 1.0 + enough.argmax(axis=0), np.inf)


def cases(rng):
    return {
        "three matrices": (np.array([64, 128, 256]), np.array([64, 512, 256]), 10, 4),
        "in two bytes": (np.array([64, 128, 256]), np.array([64, 512, 256]), 10, 2),
        "too narrow": (np.array([16, 128, 40]), np.array([16, 64, 40]), 10, 4),
        "exactly": (np.array([40, 60]), np.array([40, 60]), 5, 4),
        "one by one": (np.array([7, 300]), np.array([500, 90]), 3, 1),
        "any": (rng.integers(60, 400, size=4), rng.integers(60, 400, size=4), 8, 4),
    }


VARIANTS = (
    by_trying,
    {"np.ceil(need * d[can] * h[can] / spare[can])": "-(-need * d[can] * h[can] // spare[can])"},
)  # fmt: skip
MISTAKES = (
    Mistake("a multiply-add is one operation", "A multiply-add is two operations.", {"2 * d * h -": "d * h -"}),
    Mistake("numbers in place of bytes", "The ratio is in operations for each byte, and a number has several.",
        {"need = ratio * size": "need = ratio"}),
    Mistake("divided by the size", "A number of several bytes moves more, so it needs more operations.",
        {"need = ratio * size": "need = ratio / size"}),
    Mistake("the result is not written", "The result, (n, h), is moved, too.", {"need * (d + h)": "need * d"}),
    Mistake("the rows are not read", "The rows, (n, d), are moved, too.", {"need * (d + h)": "need * h"}),
    Mistake("rows move nothing", "Only the matrix was moved here. The rows are read, and the result is written.",
        {"- need * (d + h)": "- 0 * need"}),
    Mistake("rounded down", "With the whole number below there are fewer operations for each byte than `ratio`.",
        {"np.ceil": "np.floor"}, {"np.ceil": "np.round"}),
    Mistake("one row too many", "At least `ratio`: exactly that is enough.",
        {"np.ceil(need * d[can] * h[can] / spare[can])": "np.floor(need * d[can] * h[can] / spare[can]) + 1"}),
    Mistake("negative rows", "Where the factor of n is negative, no number of rows is enough.",
        {"can = spare > 0": "can = spare != 0"}),
    Mistake("zero where none is enough", "Where no number of rows is enough, the answer is infinity.",
        {"np.full(d.shape, np.inf)": "np.zeros(d.shape)"}, {"np.full(d.shape, np.inf)": "-np.ones(d.shape)"}),
    Mistake("one number for all", "Each matrix has its own number of rows.", {"return rows": "return rows.max()"}),
)  # fmt: skip
