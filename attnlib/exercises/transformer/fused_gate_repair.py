"""Two maps in one matrix

repair · ★★ · 8 min · 04-transformer/11-activations-and-gates

To save a product of matrices, a library stores the two maps of a SwiGLU network as one: W (d, 2h) has the h columns of
W_G first and those of W_1 after them. V (h, d) maps the hidden layer back to d numbers. The result should be (swish(X
W_G) * X W_1) V. This function runs for every size, but a model with loaded weights generates nonsense. Two things are
wrong; repair both.

1. Try X with one token, h = 2 and W with columns that you can tell apart. Which columns are multiplied with each
   other?
2. Reshaping to (h, 2) makes pairs of *neighbouring* columns. Which column is the partner of the first one?
3. The activation acts on the columns of W_G only; the others multiply as they are.

Both faults leave every shape as it was, and a freshly made model trains with them as well as without: they are seen
only where weights come from somewhere else.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def fused_swiglu(X, W, V):
    """A SwiGLU network whose two maps lie in one matrix; X (b, n, d), W (d, 2h), V (h, d)."""
    H = X @ W
    gate, up = np.split(H, 2, axis=-1)
    swish = gate / (1 + np.exp(-gate))
    return (swish * up) @ V


GIVEN = ("neighbouring columns are paired", "gate and other map are exchanged")


def sliced(X, W, V):
    h = len(V)
    G = X @ W[:, :h]
    return (G / (1 + np.exp(-G)) * (X @ W[:, h:])) @ V


def reshaped(X, W, V):
    H = (X @ W).reshape(*X.shape[:-1], 2, -1)
    gate, up = H[..., 0, :], H[..., 1, :]
    return (up * gate * 0.5 * (1 + np.tanh(gate / 2))) @ V


def cases(rng):
    def parts(b, n, d, h):
        return drawn(rng, (b, n, d), (d, 2 * h), (h, d))

    return {
        "one text": parts(1, 3, 4, 3),
        "a batch of two": parts(2, 3, 5, 4),
        "all sizes equal": parts(2, 2, 2, 2),
        "one hidden unit": parts(2, 3, 4, 1),
    }


VARIANTS = (sliced, reshaped)
MISTAKES = (
    Mistake("neighbouring columns are paired", "Each column was multiplied with its neighbour. The partner of column "
        "i of W_G is column h + i.", {"np.split(H, 2, axis=-1)": "(H[..., 0::2], H[..., 1::2])"}),
    Mistake("gate and other map are exchanged", "The activation acts on the second half instead of the first. W_G "
        "comes first, and W_G is the gate.", {"gate, up =": "up, gate ="}),
    Mistake("the activation on both maps", "The activation acts on the gate only. The other map multiplies as it is.",
        {"(swish * up)": "(swish * up / (1 + np.exp(-up)))"}),
    Mistake("the activation on the product", "The activation came after the product. It acts on the gate only.",
        {"(swish * up)": "(gate * up / (1 + np.exp(-gate * up)))"}),
    Mistake("no activation", "The swish of the gate is missing.", {"(swish * up)": "(gate * up)"}),
    Mistake("a sigmoid as gate", "This is GLU: a sigmoid. SwiGLU multiplies by the gate times its sigmoid.",
        {"swish = gate /": "swish = 1 /"}),
    Mistake("a ReLU as gate", "This is ReGLU: a ReLU. SwiGLU has a swish.",
        {"swish = gate / (1 + np.exp(-gate))": "swish = np.maximum(gate, 0)"}),
    Mistake("a sum instead of the product", "The two maps were added. A gate multiplies.",
        {"(swish * up)": "(swish + up)"}),
    Mistake("the gate alone", "The second map does not occur in the result.", {"(swish * up)": "swish"}),
)  # fmt: skip
