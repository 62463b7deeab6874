"""Three roads back to X

write · ★★ · 10 min · 02-self-attention/5-gradients-by-hand · after foundations.linear-backward

Q = X W_Q, K = X W_K and V = X W_V were made from the same X. From the gradients by Q, K and V return the
gradient by X.

1. If a number is used in three places, what is its derivative?
2. One road is a linear map. With Y = X W, what is the gradient by X, and which shape must it have?
3. Each gradient times its transposed matrix; then add up the three.

Forget one road: the shapes fit, what is left still points downhill, and nothing complains. A gradient check
finds it at once.
"""

import numpy as np

from attnlib.exercises.kit.drawing import drawn


def input_gradient(dQ, dK, dV, W_Q, W_K, W_V):
    """The gradient by X, which was projected three times, from those by Q, K and V."""
    return dQ @ W_Q.swapaxes(-1, -2) + dK @ W_K.swapaxes(-1, -2) + dV @ W_V.swapaxes(-1, -2)


def input_by_stacking(dQ, dK, dV, W_Q, W_K, W_V):
    return np.concatenate([dQ, dK, dV], axis=-1) @ np.concatenate([W_Q, W_K, W_V], axis=-1).T


def cases(rng):
    return {
        "two tokens": drawn(rng, (2, 3), (2, 3), (2, 4), (5, 3), (5, 3), (5, 4)),
        "a batch of two": drawn(rng, (2, 3, 4), (2, 3, 4), (2, 3, 5), (7, 4), (7, 4), (7, 5)),
        "all sizes equal": drawn(rng, (3, 3), (3, 3), (3, 3), (3, 3), (3, 3), (3, 3)),
    }


VARIANTS = """
    input_by_stacking
    dQ @ W_Q.swapaxes(-1, -2) => np.einsum('...k,dk->...d', dQ, W_Q)
"""
MISTAKES = """
the road through the queries is missing | X also decides where its tokens look: dQ goes back through W_Q.
    dQ @ W_Q.swapaxes(-1, -2) + =>
the road through the keys is missing | X also decides who looks at its tokens: dK goes back through W_K.
    dK @ W_K.swapaxes(-1, -2) + =>
the road through the values is missing | X also decides what the others see: dV goes back through W_V.
    + dV @ W_V.swapaxes(-1, -2) =>
a mean of the three roads | Gradients from several uses add up; they are not averaged.
    return dQ => return (dQ ;; dV @ W_V.swapaxes(-1, -2) => dV @ W_V.swapaxes(-1, -2)) / 3
the matrices are not transposed | Untransposed it runs only where the widths agree. The way back goes from
  d_k to d_model.
    .swapaxes(-1, -2) =>
the matrices of queries and keys are exchanged | Each gradient goes back through the matrix that its array
  came from.
    W_Q.swapaxes => W_O.swapaxes ;; W_K.swapaxes => W_Q.swapaxes ;; W_O.swapaxes => W_K.swapaxes
"""
