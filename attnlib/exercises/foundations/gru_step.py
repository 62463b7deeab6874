r"""One step of a gated unit

write · ★★ · 15 min · 01-foundations/11-what-a-state-keeps

Write one step of a GRU for a batch: x (..., d_in), h (..., d). W_x is (d_in, 3d), W_h is (d, 3d), b_x and b_h are
(3d,), each with three blocks: reset r, update z, candidate g. $r$ and $z$ are sigmoids of the sums of their blocks, $g
= \tanh(a_g + r \odot c_g)$ with $a_g$ from the input and $c_g$ from the state, and the next state is $(1 - z) \odot g
+ z \odot h$.

1. How many numbers come out of the input's matrix, and of the state's, and how are they shared out?
2. Keep the blocks of the input and those of the state apart: r acts on the state's block alone.
3. Split both products, with their biases, into three. Two sigmoids give the gates; a tanh of the input's
   block plus r times the state's block is the candidate; z keeps the old state, one minus z takes the
   candidate.

Where z is near one the old state passes almost untouched, and so does its gradient: a path through time
without any matrix on it.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit import laws
from attnlib.exercises.kit.drawing import drawn


def gru_step(x, h, W_x, W_h, b_x, b_h):
    """The next state of a gated recurrent unit; the parameters hold the blocks r, z and g side by side."""
    x_r, x_z, x_g = np.split(x @ W_x + b_x, 3, axis=-1)
    h_r, h_z, h_g = np.split(h @ W_h + b_h, 3, axis=-1)
    r = 1 / (1 + np.exp(-(x_r + h_r)))
    z = 1 / (1 + np.exp(-(x_z + h_z)))
    g = np.tanh(x_g + r * h_g)
    return (1 - z) * g + z * h


def reference(x, h, W_x, W_h, b_x, b_h):
    from attnlib.reference import recurrent

    return recurrent.gru_cell(x, h, recurrent.GRUParameters(W_x, W_h, b_x, b_h))[0]


def cases(rng):
    return {
        "one sequence": drawn(rng, 3, 4, (3, 12), (4, 12), 12, 12),
        "two sequences": drawn(rng, (2, 5), (2, 3), (5, 9), (3, 9), 9, 9),
        "all sizes equal": drawn(rng, (3, 3), (3, 3), (3, 9), (3, 9), 9, 9),
        "float32": drawn(rng, (2, 3), (2, 4), (3, 12), (4, 12), 12, 12, dtype=np.float32),
    }


LAWS = (laws.separate_batches(0, 1, dimensions=2),)
VARIANTS = (
    {"(1 - z) * g + z * h": "g + z * (h - g)"},
    {"1 / (1 + np.exp(-(x_r + h_r)))": "0.5 + 0.5 * np.tanh((x_r + h_r) / 2)",
     "1 / (1 + np.exp(-(x_z + h_z)))": "0.5 + 0.5 * np.tanh((x_z + h_z) / 2)"},
    {"return (1 - z)": "return (np.float64(1) - z.astype(np.float64))"},
)  # fmt: skip
MISTAKES = (
    Mistake("z and 1 - z exchanged", "Here z takes the candidate and 1 - z keeps the old state. Papers differ; in this "
        "task z keeps the old state. (A turned sign inside the sigmoid of z gives the same numbers.)",
        {"(1 - z) * g + z * h": "z * g + (1 - z) * h"}),
    Mistake("the gates are exchanged", "The first block is the reset gate r, the second the update gate z.",
        {"x_r, x_z, x_g": "x_z, x_r, x_g", "h_r, h_z, h_g": "h_z, h_r, h_g"}),
    Mistake("r acts on the input too", "The reset gate decides how much of the state enters the candidate; the "
        "input's block is not gated.", {"x_g + r * h_g": "r * (x_g + h_g)"}),
    Mistake("no reset gate", "The candidate was made without r: all of the state enters.",
        {"x_g + r * h_g": "x_g + h_g"}),
    Mistake("r acts before the matrix", "The state was multiplied by r before its matrix and bias. Here r acts on "
        "what comes out of them, as in the task.",
        {"g = np.tanh(x_g + r * h_g)": "g = np.tanh(x_g + np.split((r * h) @ W_h + b_h, 3, axis=-1)[2])"}),
    Mistake("tanh in the gates", "A tanh gives gates below zero; a gate lies between 0 and 1.",
        {"1 / (1 + np.exp(-(x_r + h_r)))": "np.tanh(x_r + h_r)",
         "1 / (1 + np.exp(-(x_z + h_z)))": "np.tanh(x_z + h_z)"}),
    Mistake("the sign in the sigmoids", "The gates are closed where they should be open: the sign inside the "
        "exponential is turned.", {"np.exp(-(": "np.exp(+("}),
    Mistake("the biases are left out", "b_x and b_h have no part in the result.", {"+ b_x": "", "+ b_h": ""}),
    Mistake("b_h outside of the reset", "The candidate's block of b_h was added after r. It belongs to c_g, what comes "
        "from the state, so r acts on it, too.",
        {"x_g + r * h_g": "x_g + r * (h_g - np.split(b_h, 3)[2]) + np.split(b_h, 3)[2]"}),
    Mistake("b_h is left out", "The state's bias has no part in the result.", {"+ b_h": ""}),
    Mistake("the old state is not kept", "Only the candidate's share is in the result; z times the old state has to "
        "be added.", {"+ z * h": ""}),
    Mistake("the candidate replaced everything", "This is the candidate. The update gate should choose between it and "
        "the old state.", {"(1 - z) * g + z * h": "g"}),
    Mistake("the state changed in place", "The caller's h was overwritten, but it is still needed for the gradient. "
        "Make a new array.", {"return (1 - z) * g + z * h": "h *= z\n    h += (1 - z) * g\n    return h"}),
)  # fmt: skip
