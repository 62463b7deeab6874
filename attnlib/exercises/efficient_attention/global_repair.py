"""A window and global tokens

repair · ★ · 6 min · 06-efficient-attention/1-who-attends-to-whom

The mask (n, n) of an encoder: each query attends to the keys less than w positions away, on both sides, itself
included. The tokens listed in `special` are global: they attend to all tokens, and all tokens attend to them. Two lines
are wrong; repair both.

1. Print the mask for n = 6, w = 2 and special = [0]. Which row, and which column, is full?
2. Rows are queries: a full row attends to everything. What does a full column mean?
3. With w = 1 a token that is not global attends to itself and to the global tokens only.

With the row alone the global token would collect from everywhere, and no other token could read what it has collected.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def with_global(n, w, special):
    """(n, n), True where query i may attend to key j: a window on both sides, and global tokens."""
    i, j = np.arange(n)[:, None], np.arange(n)
    near = abs(i - j) < w
    return near | np.isin(i, special) | np.isin(j, special)


def by_assignment(n, w, special):
    mask = np.abs(np.subtract.outer(np.arange(n), np.arange(n))) < w
    mask[special] = True
    mask[:, special] = True
    return mask


def pair_by_pair(n, w, special):
    rows = [[abs(i - j) < w or i in special or j in special for j in range(n)] for i in range(n)]
    return np.array(rows)


def cases(rng):
    return {
        "six tokens, the first global": (6, 2, [0]),
        "two global tokens": (7, 2, [0, 4]),
        "a window of one": (5, 1, [2]),
        "none": (5, 3, []),
        "wide": (8, 4, [7]),
    }


PAIRS = "np.isin(i, special) | np.isin(j, special)"
GIVEN = ("global tokens are not attended to", "the window is one too wide")
VARIANTS = (by_assignment, pair_by_pair)
MISTAKES = (
    Mistake("global tokens are not attended to", "They have a full row, but no full column: all tokens should "
        "attend to them, too.", {" | np.isin(j, special)": ""}),
    Mistake("global tokens attend to nothing more", "They have a full column, but no full row: they should attend "
        "to all tokens, too.", lambda n, w, special: with_global(n, w, []) | np.isin(np.arange(n), special)),
    Mistake("no window", "Tokens that are not global attend to their neighbours, too.", {"near | ": ""}),
    Mistake("the first tokens are global", "`special` says which tokens are global, not how many.",
        {PAIRS: "(i < len(special)) | (j < len(special))"}),
    Mistake("the window is one too wide", "A key w positions away is not *less* than w away.",
        {"abs(i - j) < w": "abs(i - j) <= w"}),
    Mistake("half of the window on each side", "w says how far it reaches on each of the two sides.",
        {"abs(i - j) < w": "abs(i - j) <= w // 2"}, {"abs(i - j) < w": "abs(i - j) < w // 2"}),
    Mistake("a token does not attend to itself", "The distance 0 is less than w, too.",
        {"abs(i - j) < w": "(abs(i - j) < w) & (i != j)"}),
    Mistake("only to one side", "An encoder attends to both sides, and so do its global tokens.",
        {"abs(i - j) < w": "(j <= i) & (i - j < w)"}, {"abs(i - j) < w": "(i <= j) & (j - i < w)"},
        {PAIRS: f"({PAIRS}) & (j <= i)"}),
    Mistake("global pairs only", "All pairs count in which *one* of the two is global, whole rows and whole columns.",
        {PAIRS: "(np.isin(i, special) & np.isin(j, special))"}, {" | " + PAIRS: ""}),
    Mistake("two global tokens do not meet", "Pairs in which both are global count as well.",
        {PAIRS: "(np.isin(i, special) ^ np.isin(j, special))"}),
)  # fmt: skip
