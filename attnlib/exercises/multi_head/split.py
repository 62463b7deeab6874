"""Split a matrix into heads

write · ★ · 8 min · 03-multi-head/2-one-matrix-multiplication

X (..., n, d) holds the queries of all heads side by side, the first d / h columns belong to head 0, and so
on. Return (..., h, n, d / h).

1. Which of the numbers of row 0 belong to head 1?
2. First give the columns two axes, one for the head and one inside it. Where does the new axis stand?
3. A reshape to (..., n, h, d / h) keeps each row together; then the axes of tokens and heads change places.

A reshape never moves a number in memory, and neither does swapping axes: splitting is free. A reshape
straight to (h, n, d / h) has the right shape and cuts through the rows.
"""

import numpy as np

from attnlib.exercises.kit.drawing import drawn
from attnlib.reference import heads


def split_heads(X, n_heads):
    """(..., n, d) -> (..., h, n, d / h): head k gets the k-th block of columns."""
    *batch, n, d = X.shape
    return X.reshape(*batch, n, n_heads, d // n_heads).swapaxes(-3, -2)


def split_by_stack(X, n_heads):
    return np.stack(np.split(X, n_heads, axis=-1), axis=-3)


def cases(rng):
    return {
        "three tokens, two heads": (np.arange(12.0).reshape(3, 4), 2),
        "a batch of two": (drawn(rng, (2, 5, 6))[0], 3),
        "as many heads as tokens": (drawn(rng, (3, 6))[0], 3),
        "one head": (drawn(rng, (4, 3))[0], 1),
        "two heads of two, two tokens": (drawn(rng, (2, 2, 4))[0], 2),
        "float32": (drawn(rng, (5, 4), dtype=np.float32)[0], 2),
    }


reference = heads.split_heads


VARIANTS = """
    split_by_stack
    .swapaxes(-3, -2) => [..., :, :, :].swapaxes(-2, -3)
"""
MISTAKES = """
split without the transpose | The shape is right, but the rows were cut: head 0 got the first tokens whole,
  in pieces. The axes of tokens and heads must change places after the columns are split.
    n, n_heads, d // n_heads).swapaxes(-3, -2) => n_heads, n, d // n_heads)
the heads are interleaved | Head k got every h-th column. It should get a block of neighbours.
    reshape(*batch, n, n_heads, d // n_heads).swapaxes(-3, -2)
        => reshape(*batch, n, d // n_heads, n_heads).swapaxes(-1, -2).swapaxes(-3, -2)
tokens before heads | The columns are split, but the heads are not yet an axis of their own in front:
  products would mix them.
    .swapaxes(-3, -2) =>
tokens and columns are exchanged | Inside a head, rows are tokens and columns are its d / h numbers.
    .swapaxes(-3, -2) => .swapaxes(-3, -2).swapaxes(-1, -2)
the last head first | Head 0 gets the first columns.
    .swapaxes(-3, -2) => .swapaxes(-3, -2)[..., ::-1, :, :]
"""
