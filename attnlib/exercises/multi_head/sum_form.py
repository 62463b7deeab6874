"""What does each head add?

write · ★★ · 12 min · 03-multi-head/2-one-matrix-multiplication

O (..., h, n, d_v) are the outputs of the heads, W_O (h d_v, d) the output projection. Return (..., h, n,
d): what each head adds to the output of the layer, so that their sum over heads is that output.

1. Which rows of W_O does head 1 meet, when the heads lie side by side?
2. Concat(heads) W_O is a sum of one product per head.
3. Cut the rows of W_O into h blocks of d_v rows, as one array (h, d_v, d), and multiply head by head.

Side by side and then mixed is the same as each mixed on its own and added up. In this form a head can be
switched off, weighed or measured.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def contributions(O, W_O):
    """(..., h, n, d): what each head adds to the output; O (..., h, n, d_v) are the heads, W_O is (h d_v, d)."""
    n_heads, d_v = O.shape[-3], O.shape[-1]
    return O @ W_O.reshape(n_heads, d_v, -1)


def contributions_by_loop(O, W_O):
    d_v = O.shape[-1]
    parts = [O[..., k, :, :] @ W_O[k * d_v : (k + 1) * d_v] for k in range(O.shape[-3])]
    return np.stack(parts, axis=-3)


def cases(rng):
    return {
        "two heads, three tokens": drawn(rng, (2, 3, 2), (4, 5)),
        "a batch of two": drawn(rng, (2, 3, 4, 5), (15, 6)),
        "all sizes equal": drawn(rng, (3, 3, 3), (9, 9)),
        "one head": drawn(rng, (1, 3, 4), (4, 2)),
    }


VARIANTS = (
    contributions_by_loop,
    {"O @ W_O.reshape(n_heads, d_v, -1)": 'np.einsum("...hne,hed->...hnd", O, W_O.reshape(n_heads, d_v, -1))'},
)  # fmt: skip
MISTAKES = (
    Mistake("the rows are interleaved", "Head k met every h-th row. Side by side, its numbers meet a block of "
        "neighbouring rows.", {"W_O.reshape(n_heads, d_v, -1)": "W_O.reshape(d_v, n_heads, -1).swapaxes(0, 1)"}),
    Mistake("every head met the rows of head 0", "Each head has its own block of rows.",
        {"W_O.reshape(n_heads, d_v, -1)": "W_O[:d_v]"}),
    Mistake("the last block for the first head", "Head 0 meets the first rows.",
        {"W_O.reshape(n_heads, d_v, -1)": "W_O.reshape(n_heads, d_v, -1)[::-1]"}),
    Mistake("all parts at once", "This is their sum, the output of the layer, once for every head.",
        {"return O @ W_O.reshape(n_heads, d_v, -1)":
             "return np.stack([(O @ W_O.reshape(n_heads, d_v, -1)).sum(axis=-3)] * n_heads, axis=-3)"}),
)  # fmt: skip
