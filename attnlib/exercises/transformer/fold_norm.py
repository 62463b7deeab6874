"""A norm without its numbers

write · ★★ · 10 min · 04-transformer/8-somebody-elses-weights

Before a trained model is analysed, the gain and the shift of its norms are often moved into the linear map that
follows. A norm multiplies the standardised vector x̂ (d,) with gain (d,) and adds shift (d,); then comes the map W (d,
m) with the bias b (m,). Return the matrix (d, m) and the bias (m,) of one map that gives the same output from x̂
itself.

1. Write out the output of the map for gain * x̂ + shift, and sort by what is multiplied with x̂.
2. The gain stretches coordinate i of x̂, so it stretches row i of the matrix.
3. What is left does not depend on x̂: the shift multiplied by W, and b.

After the fold two models can be compared map by map: before it, one could have a large gain and a small matrix
and the other the reverse, and both compute the same.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def fold(gain, shift, W, b):
    """The matrix and the bias of one map that stands for norm parameters and map."""
    matrix = gain[:, None] * W
    return matrix, b + shift @ W


def with_a_diagonal(gain, shift, W, b):
    return np.diag(gain) @ W, shift @ W + b


def asked(gain, shift, W, b):
    """The output for zeros is the bias; the change of the output by a one is a row."""
    zero = (0 * gain + shift) @ W + b
    return np.array([(gain * one + shift) @ W + b - zero for one in np.eye(len(gain))]), zero


def cases(rng):
    def parts(d, m):
        return drawn(rng, d, d, (d, m), m)

    return {
        "three to two": parts(3, 2),
        "square": parts(4, 4),
        "two to five": parts(2, 5),
    }


RETURNS = ("matrix", "bias")
VARIANTS = (with_a_diagonal, asked)
MISTAKES = (
    Mistake("the gain on the columns", "The gain stretched the outputs of the map. It belongs to its inputs, the rows.",
        {"gain[:, None] * W": "(gain * W if len(gain) == W.shape[1] else gain[:, None] * W)"}),
    Mistake("the shift does not go through the map", "The shift was added after the map. It comes before it.",
        {"b + shift @ W": "b + (shift if len(shift) == len(b) else shift @ W)"}),
    Mistake("the shift is forgotten", "The product of the shift with the map is missing from the bias.",
        {"b + shift @ W": "b"}),
    Mistake("the bias is forgotten", "The map's own bias is missing.", {"b + shift @ W": "shift @ W"}),
    Mistake("the shift is stretched", "The shift went through the new matrix. The gain does not act on it: the shift "
        "is added after the gain.", {"shift @ W": "shift @ matrix"}),
    Mistake("the shift subtracted", "The sign of the shift: it is added.", {"b + shift @ W": "b - shift @ W"}),
    Mistake("the matrix is as it was", "The gain is missing.", {"gain[:, None] * W": "W"}),
)  # fmt: skip
