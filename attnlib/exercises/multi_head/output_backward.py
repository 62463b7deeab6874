"""Back through the output projection

write · ★★★ · 20 min · 03-multi-head/5-heads-at-work · after multi-head.merge-repair,
foundations.linear-backward

Y = Concat(heads) W_O. O (h, n, d_v) are the heads, W_O is (h d_v, d), dY (n, d) the gradient with respect to Y.
Return the gradients with respect to O, (h, n, d_v), and to W_O.

1. Forwards: swap, reshape, multiply. In which order are these steps undone?
2. The linear map first: what are the gradients with respect to its input and its matrix?
3. The gradient with respect to the joined heads is (n, h d_v): split it as the queries were split. For W_O you need the
   joined heads once more.

Reshape and swap have no arithmetic, so their backward is the opposite reshape and swap. Splitting the
gradient is the same function that split the queries.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def merged_backward(dY, O, W_O):
    """The gradients with respect to the heads O (h, n, d_v) and W_O (h d_v, d); Y is the joined heads times W_O."""
    h, n, d_v = O.shape
    merged = O.swapaxes(0, 1).reshape(n, h * d_v)
    dW_O = merged.T @ dY
    dO = (dY @ W_O.T).reshape(n, h, d_v).swapaxes(0, 1)
    return dO, dW_O


def merged_backward_by_head(dY, O, W_O):
    h, _, d_v = O.shape
    blocks = W_O.reshape(h, d_v, -1)
    return np.einsum("nd,hed->hne", dY, blocks), np.einsum("hne,nd->hed", O, dY).reshape(h * d_v, -1)


def cases(rng):
    return {
        "two heads, three tokens": drawn(rng, (3, 5), (2, 3, 2), (4, 5)),
        "as many heads as tokens": drawn(rng, (3, 4), (3, 3, 2), (6, 4)),
        "all sizes equal": drawn(rng, (2, 4), (2, 2, 2), (4, 4)),
        "one head": drawn(rng, (3, 2), (1, 3, 4), (4, 2)),
    }


RETURNS = ("dO", "dW_O")
VARIANTS = (merged_backward_by_head, {"merged.T @ dY": "np.einsum('ne,nd->ed', merged, dY)"})
MISTAKES = (
    Mistake("the gradient was split without the transpose", "The shape is right, but rows were cut: split the columns "
        "first, then swap tokens and heads.", {".reshape(n, h, d_v).swapaxes(0, 1)": ".reshape(h, n, d_v)"}),
    Mistake("tokens before heads", "The columns are split, but the heads are not yet in front: swap tokens and heads.",
        {".reshape(n, h, d_v).swapaxes(0, 1)": ".reshape(n, h, d_v)"}),
    Mistake("W_O is not transposed", "Untransposed it runs only where W_O is square.", {"W_O.T": "W_O"}),
    Mistake("the heads are interleaved", "Each head's gradient is a block of neighbouring columns.",
        {".reshape(n, h, d_v).swapaxes(0, 1)": ".reshape(n, d_v, h).transpose(2, 0, 1)"}),
    Mistake("the mean over the tokens", "The gradient with respect to a matrix sums over the tokens that used it.",
        {"merged.T @ dY": "merged.T @ dY / n"}),
)  # fmt: skip
