"""Several texts in one row

write · ★★ · 8 min · 02-self-attention/3-masks

To waste no padding, several texts are packed into one row of n tokens; text (n,) holds for each token the number of
its text. No token may attend to another text or to a later token. Return the mask (n, n), True where a query may
attend.

1. Two conditions have to hold at once. Which of them is about positions, and which about texts?
2. Row i is a query and column j a key: compare the texts of i and of j.
3. Where the two texts are equal and j is not later than i.

The mask is made of blocks along the diagonal, each a causal triangle. Padding is the same idea with two texts, of
which one means nothing.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def packed_mask(text):
    """(n, n), True where a query may look: its own text, and not its future."""
    n = len(text)
    return (text[:, None] == text) & np.tri(n, dtype=bool)


def cases(rng):
    return {
        "three tokens and two": (np.array([0, 0, 0, 1, 1]),),
        "one text": (np.zeros(4, dtype=int),),
        "texts of one token": (np.array([3, 5, 4]),),
        "numbers that do not grow": (np.array([2, 2, 7, 7, 7, 1, 1]),),
        "a number that comes back": (np.array([4, 4, 9, 4]),),
    }


def by_loops(text):
    n = len(text)
    mask = np.zeros((n, n), dtype=bool)
    for i in range(n):
        for j in range(i + 1):
            mask[i, j] = text[i] == text[j]
    return mask


def blocks_by_count(text):
    mask = np.zeros((len(text), len(text)), dtype=bool)
    start = 0
    for count in np.bincount(text):
        mask[start : start + count, start : start + count] = np.tri(count, dtype=bool)
        start += count
    return mask


VARIANTS = (
    by_loops,
    {"(text[:, None] == text) & np.tri(n, dtype=bool)": "np.tril(np.equal.outer(text, text))"},
)  # fmt: skip
MISTAKES = (
    Mistake("the future is visible", "Each token sees the whole of its text, also what comes after it.",
        {"& np.tri(n, dtype=bool)": ""}),
    Mistake("other texts are visible", "This is the causal mask alone: a token also sees the texts before its own.",
        {"(text[:, None] == text) &": ""}),
    Mistake("texts with smaller numbers are visible", "A token may see its own text alone, whatever the numbers of "
        "the others are.", {"text[:, None] == text": "text[:, None] >= text"}),
    Mistake("blocks in the order of the numbers", "The number of tokens of each text was counted, and the blocks were "
        "made in the order of the numbers. These need not ascend, and a text can go on after another.",
        blocks_by_count),
    Mistake("each run is a text of its own", "A text that goes on after another one is still the same text: its number "
        "says so.",
        {"(text[:, None] == text)":
             "np.equal.outer(*[np.cumsum(np.diff(text, prepend=text[0]) != 0)] * 2)"}),
    Mistake("it may not see itself", "The diagonal is hidden. A token may look at itself: it has read itself.",
        {"np.tri(n, dtype=bool)": "np.tri(n, k=-1, dtype=bool)"}),
    Mistake("an additive mask", "This mask is to be added to scores. Wanted was a boolean one.",
        {"return (text[:, None] == text) & np.tri(n, dtype=bool)":
             "return np.where((text[:, None] == text) & np.tri(n, dtype=bool), 0.0, -np.inf)"}),
)  # fmt: skip
