"""The same layer with its heads in another order

write · ★★ · 12 min · 03-multi-head/2-one-matrix-multiplication

W_Q, W_K, W_V and W_O (d, d) belong to a layer of n_heads heads; head k owns the k-th block of d / n_heads columns
of the first three. Return four matrices of a layer that computes the same, in which head k is the old head order[k].

1. Which columns of W_Q must the new head 0 have?
2. The heads' outputs now lie side by side in another order. Which part of W_O met which head?
3. Move whole blocks of columns of W_Q, W_K, W_V, and the blocks of rows of W_O in the same order.

The loss is the same for all orders of the heads, so nothing in a training fixes one: head 3 of one model has
nothing to do with head 3 of another. Moving blocks like this is also how heads are dealt out to several
machines, and removed.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def reordered(W_Q, W_K, W_V, W_O, order):
    """The matrices of the same layer whose head k is the old head order[k]; all (d, d)."""
    n_heads = len(order)
    d_k = len(W_O) // n_heads
    columns = (np.array(order)[:, None] * d_k + np.arange(d_k)).ravel()
    return W_Q[:, columns], W_K[:, columns], W_V[:, columns], W_O[columns]


def by_blocks(W_Q, W_K, W_V, W_O, order):
    h = len(order)

    def moved(W, axis):
        parts = np.split(W, h, axis=axis)
        return np.concatenate([parts[k] for k in order], axis=axis)

    return moved(W_Q, 1), moved(W_K, 1), moved(W_V, 1), moved(W_O, 0)


def by_reshape(W_Q, W_K, W_V, W_O, order):
    h, order = len(order), list(order)
    first = [W.reshape(len(W), h, -1)[:, order].reshape(W.shape) for W in (W_Q, W_K, W_V)]
    return *first, W_O.reshape(h, -1, W_O.shape[1])[order].reshape(W_O.shape)


def cases(rng):
    def case(d, *order):
        return *drawn(rng, *[(d, d)] * 4), order

    return {
        "three heads of two": case(6, 2, 0, 1),
        "two heads exchanged": case(4, 1, 0),
        "heads of width one": case(4, 3, 0, 2, 1),
        "four heads of three": case(12, 1, 3, 0, 2),
        "nothing moves": case(6, 0, 1),
    }


RETURNS = ("W_Q", "W_K", "W_V", "W_O")
VARIANTS = (by_blocks, by_reshape)
MISTAKES = (
    Mistake("W_O was left as it is", "The heads were exchanged, but W_O still meets them in the old order: the layer "
        "computes something else.", {"W_O[columns]": "W_O"}),
    Mistake("the columns of W_O were moved", "W_O meets the heads with its rows. Its columns are the numbers of the "
        "output.", {"W_O[columns]": "W_O[:, columns]"}),
    Mistake("the order was turned round", "Here the old head k went to position order[k]. Wanted is the layer whose "
        "head k is the old head order[k].", {"np.array(order)[:, None]": "np.argsort(order)[:, None]"}),
    Mistake("W_O in the opposite order", "The rows of W_O move as the heads do, not back.",
        {"W_O[columns]": "W_O[np.argsort(columns)]"}),
    Mistake("the heads were interleaved", "A head is a block of neighbouring columns; here single columns were dealt "
        "out.",
        {"(np.array(order)[:, None] * d_k + np.arange(d_k)).ravel()":
             "(np.array(order)[:, None] + np.arange(d_k) * n_heads).ravel()"}),
    Mistake("queries alone", "Keys and values belong to a head as well.",
        {"W_K[:, columns], W_V[:, columns]": "W_K, W_V"}),
    Mistake("the values stayed", "Values belong to a head as well: its weights now mix the values of another.",
        {"W_V[:, columns]": "W_V"}),
    Mistake("rows of the projections were moved", "A head owns columns of W_Q, W_K and W_V. Their rows are the "
        "numbers of the input.",
        {"W_Q[:, columns], W_K[:, columns], W_V[:, columns]": "W_Q[columns], W_K[columns], W_V[columns]"}),
)  # fmt: skip
