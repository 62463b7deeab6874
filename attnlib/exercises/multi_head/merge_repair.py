"""Heads merged in the wrong order

repair · ★ · 6 min · 03-multi-head/2-one-matrix-multiplication

O (..., h, n, d_v) are the outputs of the heads. Each token should get its h results side by side, (..., n,
h d_v), head 0 first. The shape is right; the numbers are not. Repair the function.

1. Give it O = np.arange(12).reshape(2, 3, 2) and look at the first row. Which two pieces belong there?
2. A reshape reads numbers in the order of the axes. In which order do they have to stand?
3. Before the heads can be joined to one axis, the axis of heads must stand right before the numbers of a
   head.

This is the one step in multi-head attention that must copy: after the swap the numbers of a row do not lie
side by side in memory, so the reshape has to move them.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn
from attnlib.reference import heads


def merge_heads(O):
    """(..., h, n, d_v) -> (..., n, h d_v): the heads side by side, head 0 first."""
    *batch, n_heads, n, d_v = O.shape
    return O.swapaxes(-3, -2).reshape(*batch, n, n_heads * d_v)


def merge_by_concatenation(O):
    return np.concatenate([O[..., k, :, :] for k in range(O.shape[-3])], axis=-1)


def cases(rng):
    return {
        "two heads, three tokens": (np.arange(12.0).reshape(2, 3, 2),),
        "a batch of two": (drawn(rng, (2, 3, 5, 4))[0],),
        "as many heads as tokens": (drawn(rng, (3, 3, 2))[0],),
        "all sizes equal": (drawn(rng, (2, 2, 2, 2))[0],),
        "one head": (drawn(rng, (1, 4, 3))[0],),
    }


reference = heads.merge_heads


GIVEN = ("merged without the transpose",)
VARIANTS = (merge_by_concatenation, {"O.swapaxes(-3, -2)": "np.moveaxis(O, -3, -2)"})
MISTAKES = (
    Mistake("merged without the transpose", "Rows of one head were strung together: a row mixes tokens. Tokens and "
        "heads must be exchanged first.", {"O.swapaxes(-3, -2).reshape": "O.reshape"}),
    Mistake("the heads are interleaved", "First come all numbers of head 0, then those of head 1. Here their first "
        "numbers came first.", {"O.swapaxes(-3, -2)": "np.moveaxis(O, -3, -1)"}),
    Mistake("the last head first", "Head 0 gets the first columns.", {"O.swapaxes": "O[..., ::-1, :, :].swapaxes"}),
    Mistake("a sum of the heads", "The heads were added up, and repeated to the right width. They belong side by side.",
        {"O.swapaxes(-3, -2).reshape(*batch, n, n_heads * d_v)":
             "np.concatenate([O.sum(axis=-3)] * n_heads, axis=-1)"}),
)  # fmt: skip
