"""One step of a recurrent network

write · ★ · 6 min · 01-foundations/1-the-bottleneck

Write one step of a simple recurrent network: the input x is (..., d_in), the state h is (..., d), W_x is
(d_in, d), W_h is (d, d) and b is (d,). Return the next state, the tanh of what the three add up to.

1. Which three things are added before anything is squashed?
2. x and h are rows, so each stands to the left of its matrix.
3. Multiply the input with its matrix and the state with its own, add both and the bias, then take the tanh.

Everything that the network knows of the past must pass through these d numbers, at every step.
"""

import numpy as np

from attnlib.exercises.kit import laws
from attnlib.exercises.kit.drawing import drawn


def rnn_step(x, h, W_x, W_h, b):
    """The next state of a simple recurrent network, from the input x and the state h before it."""
    return np.tanh(x @ W_x + h @ W_h + b)


def reference(x, h, W_x, W_h, b):
    from attnlib.reference import recurrent

    return recurrent.rnn_cell(x, h, recurrent.RNNParameters(W_x, W_h, b))[0]


def cases(rng):
    return {
        "one sequence": drawn(rng, 3, 4, (3, 4), (4, 4), 4),
        "two sequences": drawn(rng, (2, 5), (2, 3), (5, 3), (3, 3), 3),
        "all sizes equal": drawn(rng, (3, 3), (3, 3), (3, 3), (3, 3), 3),
        "float32": drawn(rng, (2, 3), (2, 4), (3, 4), (4, 4), 4, dtype=np.float32),
    }


LAWS = (laws.separate_batches(0, 1, dimensions=2),)
VARIANTS = """
    x @ W_x + h @ W_h => np.concatenate([x, h], axis=-1) @ np.concatenate([W_x, W_h])
    x @ W_x + h @ W_h + b => b + np.dot(h, W_h) + np.dot(x, W_x)
    return np.tanh => return np.float64(1) * np.tanh
"""
MISTAKES = r"""
no tanh | The sum was not squashed. Without the tanh the step is linear, and a state can grow without bound.
    np.tanh(x @ W_x + h @ W_h + b) => (x @ W_x + h @ W_h + b)
no bias | The bias b has no part in the result.
    + b) => )
the bias after the tanh | b was added to the squashed numbers; it belongs to what is squashed.
    + b) => ) + b
squashed one by one | Input and state were squashed separately, so they never met inside the tanh.
    x @ W_x + h @ W_h => x @ W_x) + np.tanh(h @ W_h
W_h is transposed | W_h is square, so its transpose runs too, but it mixes the state with rows and columns
  exchanged.
    h @ W_h => h @ W_h.T
the old state does not matter | The state before has no part in the result, so nothing is remembered.
    + h @ W_h =>
the input does not matter | The input has no part in the result.
    x @ W_x + =>
the old state was added | The new state replaces the old one; here the old one was added to it.
    return np.tanh => return h + np.tanh
sigmoid in place of tanh | These lie between 0 and 1, as a sigmoid's values do. A tanh lies between -1 and
  1.
    np.tanh(x @ W_x + h @ W_h + b) => 1 / (1 + np.exp(-(x @ W_x + h @ W_h + b)))
the state changed in place | The caller's h was overwritten, but it is still needed for the gradient. Make a
  new array.
    return np.tanh(x @ W_x + h @ W_h + b) => h[...] = np.tanh(x @ W_x + h @ W_h + b)\n    return h
"""
