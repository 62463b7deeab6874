"""A head removed, and the wrong rows with it

repair · ★★ · 10 min · 03-multi-head/5-heads-at-work · after multi-head.sum-form

This function makes a smaller layer that keeps only the heads in `keep`, so that its output is the sum of
just their parts. Head k owns a block of d / h columns of W_Q, W_K and W_V. Two things are wrong.

1. Which rows of W_O does head k meet? And which columns of W_O belong to it?
2. Write out, for two heads of width two, which columns belong to head 1.
3. Heads own blocks of neighbouring columns, and in the output projection blocks of rows: the columns there
   are the model's own.

The test of a pruned layer is an equation: its output must equal the full layer's with the other heads'
gates at zero.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def without(keep, W_Q, W_K, W_V, W_O, n_heads):
    """The four matrices of the layer with only the heads in `keep`, a list of their numbers, in its order."""
    d_k = W_Q.shape[1] // n_heads
    own = np.concatenate([np.arange(k * d_k, (k + 1) * d_k) for k in keep])
    return W_Q[:, own], W_K[:, own], W_V[:, own], W_O[own]


def without_by_reshape(keep, W_Q, W_K, W_V, W_O, n_heads):
    d = W_Q.shape[0]
    columns = (W.reshape(d, n_heads, -1)[:, keep].reshape(d, -1) for W in (W_Q, W_K, W_V))
    return *columns, W_O.reshape(n_heads, -1, W_O.shape[1])[keep].reshape(-1, W_O.shape[1])


def cases(rng):
    def case(keep, d, h):
        return np.array(keep), *drawn(rng, (d, d), (d, d), (d, d), (d, d)), h

    return {
        "the second of two": case([1], 4, 2),
        "two of three": case([0, 2], 6, 3),
        "another order": case([2, 0], 6, 3),
        "all of them": case([0, 1], 4, 2),
    }


GIVEN = ("columns of W_O in place of rows", "the columns are interleaved")
RETURNS = ("W_Q", "W_K", "W_V", "W_O")
VARIANTS = (
    without_by_reshape,
    {"np.concatenate([np.arange(k * d_k, (k + 1) * d_k) for k in keep])":
         "(np.asarray(keep)[:, None] * d_k + np.arange(d_k)).ravel()"},
)  # fmt: skip
MISTAKES = (
    Mistake("columns of W_O in place of rows", "The heads meet W_O from the left: each owns rows of it. Its columns "
        "are the numbers of the model.", {"W_O[own]": "W_O[:, own]"}),
    Mistake("the columns are interleaved", "Head k got every h-th column; it owns a block of neighbours.",
        {"np.arange(k * d_k, (k + 1) * d_k)": "np.arange(k, n_heads * d_k, n_heads)"}),
    Mistake("the heads to keep were removed", "`keep` names the heads that stay.",
        {"for k in keep]": "for k in range(n_heads) if k not in keep or len(keep) == n_heads]"}),
    Mistake("the output projection was left whole", "Its rows have to match the heads that are left.",
        {"W_O[own]": "W_O"}),
    Mistake("the order was not kept", "The heads come in the order of `keep`.",
        {"for k in keep]": "for k in sorted(keep)]"}),
    Mistake("rows of the projections in place of columns", "A head reads all of X through its own columns.",
        {"W_Q[:, own], W_K[:, own], W_V[:, own]": "W_Q[own].T, W_K[own].T, W_V[own].T"}),
)  # fmt: skip
