"""A window with gaps

write · ★ · 7 min · 06-efficient-attention/1-who-attends-to-whom

Return the mask (n, n) of a causal dilated window, True where query i may attend to key j: each query may attend to w
keys, at the distances 0, s, 2s and so on. Near the beginning of the text there are fewer.

1. Which distances i - j are allowed?
2. A distance is allowed if s divides it, if it is not negative, and if it is small enough.
3. The largest allowed distance is (w - 1) s.

With s = 1 this is a plain window. With s = 2 an even token never meets an odd one, in any number of layers: models mix
heads of different s.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def dilated(n, w, s):
    """(n, n), True where query i may attend to key j: w keys, each s positions before the next."""
    i, j = np.arange(n)[:, None], np.arange(n)
    return (j <= i) & (i - j <= (w - 1) * s) & ((i - j) % s == 0)


def row_by_row(n, w, s):
    mask = np.zeros((n, n), dtype=bool)
    for i in range(n):
        mask[i, [i - k * s for k in range(w) if i - k * s >= 0]] = True
    return mask


def from_rows_of_ones(n, w, s):
    return np.sum([np.eye(n, k=-k * s) for k in range(w) if k * s < n], axis=0) > 0


def cases(rng):
    return {
        "nine tokens, three keys, every second": (9, 3, 2),
        "every third": (10, 2, 3),
        "a plain window": (6, 3, 1),
        "one key": (5, 1, 4),
        "a wide one": (7, 4, 5),
    }


VARIANTS = (row_by_row, from_rows_of_ones)
MISTAKES = (
    Mistake("one key too many", "The token itself is one of the w keys, so the largest distance is (w - 1) s.",
        {"(w - 1) * s": "w * s"}),
    Mistake("the token itself is left out", "The distance 0 is allowed: a token attends to itself.",
        {"(j <= i)": "(j < i)"}),
    Mistake("it looks ahead", "A causal query may not attend to a later key.",
        {"(j <= i) & (i - j <= (w - 1) * s)": "(abs(i - j) <= (w - 1) * s)"}),
    Mistake("w positions in place of w keys", "The window has gaps: w keys lie on more than w positions.",
        {"i - j <= (w - 1) * s": "i - j < w"}),
    Mistake("counted from the beginning of the text", "What counts is the distance of key and query, not the position "
        "of the key.", {"((i - j) % s == 0)": "(j % s == 0)"},
        {"<= (w - 1) * s": "< w * s", "((i - j) % s == 0)": "(j % s == 0)"}),
    Mistake("no gaps", "Of the keys in reach, only those at multiples of s may be attended to.",
        {" & ((i - j) % s == 0)": ""}, {"<= (w - 1) * s) & ((i - j) % s == 0)": "< w * s)"}),
    Mistake("rows and columns are exchanged", "Row i is the query and column j the key, so nothing is True above the "
        "diagonal.", {"i, j =": "j, i ="}),
    Mistake("s keys are left out between two", "s is the step from one key to the next, so s - 1 keys are left out.",
        {"* s": "* (s + 1)", "% s": "% (s + 1)"}, {"<= (w - 1) * s": "< w * s", "% s": "% (s + 1)"}),
    Mistake("positions before the text", "There is no key before the first one. A negative index counts from the end.",
        lambda n, w, s: sum(np.roll(np.eye(n), -k * s, axis=1) for k in range(w)) > 0),
)  # fmt: skip
