"""Positions in a picture

write · ★★ · 10 min · 04-transformer/3-where-am-i

A picture is cut into rows × columns patches, and a patch has two positions, its row and its column, which both count
from 0. Return (rows, columns, d), for d a multiple of 4: the first d/2 numbers encode the row, the last d/2 the
column. Each is the sinusoidal encoding of width h = d/2: for i = 0, 1, ..., h/2 - 1 the numbers 2i and 2i + 1 are the
sine and the cosine of position / 10000^(2i/h).

1. The encoding of n positions with width h is a table (n, h). Which two tables do you need?
2. The width of each encoding is d/2: divide by this in the exponent.
3. The table of the rows is the same for all columns: give it a new axis, and let NumPy repeat it.

Many models for pictures encode positions like this, if they do not learn a table. A move by some rows and columns is
still one rotation: a block for the rows' pairs, and one for the columns'.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def picture_places(rows, columns, d):
    """Sinusoids for the row and for the column of each patch; (rows, columns, d)."""

    def line(n, h):
        angles = np.arange(n)[:, None] * 10_000.0 ** (-np.arange(0, h, 2) / h)
        return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(n, h)

    P = np.empty((rows, columns, d))
    P[..., : d // 2] = line(rows, d // 2)[:, None]
    P[..., d // 2 :] = line(columns, d // 2)
    return P


def number_by_number(rows, columns, d):
    h = d // 2

    def entry(place, j):
        angle = place / 10_000 ** (2 * (j // 2) / h)
        return np.cos(angle) if j % 2 else np.sin(angle)

    return np.array(
        [
            [[entry(r, j) for j in range(h)] + [entry(c, j) for j in range(h)] for c in range(columns)]
            for r in range(rows)
        ]
    )


def one_table(rows, columns, d):
    speed = np.exp(-np.log(10_000) * np.arange(d // 4) / (d // 4))
    angles = np.outer(np.arange(max(rows, columns)), speed)
    table = np.empty((len(angles), d // 2))
    table[:, 0::2], table[:, 1::2] = np.sin(angles), np.cos(angles)
    r, c = np.indices((rows, columns))
    return np.concatenate([table[r], table[c]], axis=-1)


def cases(rng):
    return {
        "two rows, three columns": (2, 3, 8),
        "one pair each": (3, 2, 4),
        "a wide picture": (2, 7, 12),
        "all sizes equal": (4, 4, 4),
    }


VARIANTS = (number_by_number, one_table)
MISTAKES = (
    Mistake("halves instead of pairs", "All sines come before all cosines. The sine and the cosine of a pair are side "
        "by side.",
        {"np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(n, h)":
             "np.concatenate([np.sin(angles), np.cos(angles)], axis=-1)"}),
    Mistake("half of the exponent", "The frequencies fall half as fast as they should: the exponent is 2i over the "
        "width of one encoding, which is d/2.", {"np.arange(0, h, 2) / h": "np.arange(0, h, 2) / 2 / h"}),
    Mistake("the exponent doubled", "The frequencies fall twice as fast as they should: the exponent is 2i over the "
        "width, with i = 0, 1, 2 ...", {"np.arange(0, h, 2) / h": "2 * np.arange(0, h, 2) / h"}),
    Mistake("one frequency for all pairs", "All pairs have the same frequency. Each has its own, which falls with its "
        "number.", {"10_000.0 ** (-np.arange(0, h, 2) / h)": "np.ones(h // 2)"}),
    Mistake("the cosine first", "In each pair the sine comes first.",
        {"[np.sin(angles), np.cos(angles)]": "[np.cos(angles), np.sin(angles)]"}),
    Mistake("row and column exchanged", "The first half of the numbers encodes the row.",
        {"= line(rows, d // 2)[:, None]": "= line(columns, d // 2)",
         "P[..., d // 2 :] = line(columns, d // 2)": "P[..., d // 2 :] = line(rows, d // 2)[:, None]"}),
    Mistake("added", "Row and column were added. They have half of the numbers each.",
        {"P[..., : d // 2] = line(rows, d // 2)[:, None]": "P[...] = line(rows, d)[:, None] + line(columns, d)",
         "P[..., d // 2 :] = line(columns, d // 2)": "pass"}),
    Mistake("counted from 1", "Rows and columns count from 0, and the first position has only zeros and ones.",
        {"np.arange(n)[:, None]": "(np.arange(n)[:, None] + 1)"}),
    Mistake("the lowest frequencies first", "The first pair has the highest frequency.",
        {"(-np.arange(0, h, 2) / h)": "(-np.arange(0, h, 2)[::-1] / h)"}),
    Mistake("positions divided by the size", "Use the numbers of rows and columns, not divided by the size of the "
        "picture.",
        {"np.arange(n)[:, None] *": "np.arange(n)[:, None] / max(n - 1, 1) *"}),
)  # fmt: skip
