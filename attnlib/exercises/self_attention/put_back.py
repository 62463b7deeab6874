"""Put the rows back

write · ★ · 6 min · 02-self-attention/2-permutation

A test shuffled the tokens, Y = f(X[order]), so row i of Y belongs to token order[i]. Return the rows of Y
in the tokens' own order. (For an equivariant f this is f(X).)

1. Take order = [1, 2, 0] and follow row 0 of Y: to which position does it belong?
2. Applying `order` once more moves everything on, which is right only for permutations that undo
   themselves.
3. Make an empty array of the same shape, and write the rows of Y into it at the positions that `order` names.

Indexing on the left of an assignment undoes indexing on the right. The same is true of the permutation matrix: it is
orthogonal, so its transpose is its inverse.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def put_back(Y, order):
    """Y[i] belongs to token order[i]; put each row back where it was."""
    X = np.empty_like(Y)
    X[order] = Y
    return X


def cases(rng):
    return {
        "three tokens, moved round": (drawn(rng, (3, 2))[0], np.array([1, 2, 0])),
        "five tokens": (drawn(rng, (5, 3))[0], np.array([3, 0, 4, 2, 1])),
        "seven tokens": (drawn(rng, (7, 2))[0], np.array([2, 5, 1, 6, 0, 3, 4])),
        "float32": (drawn(rng, (4, 2), dtype=np.float32)[0], np.array([2, 0, 3, 1])),
    }


def by_inverse(Y, order):
    return Y[np.argsort(order)]


def by_matrix(Y, order):
    P = np.eye(len(order), dtype=Y.dtype)[order]
    return P.T @ Y


VARIANTS = (by_inverse, by_matrix)
MISTAKES = (
    Mistake("the order was applied once more", "The rows moved on by another shuffle. They should move back.",
        {"X[order] = Y\n    return X": "return Y[order]"}),
    Mistake("the rows were left as they came", "The rows were returned as they came. Row i belongs to token order[i].",
        {"X[order] = Y": "X[:] = Y"}),
    Mistake("the order was reversed", "Reading a permutation backwards does not undo it; sorting it does.",
        {"X[order] = Y": "X[:] = Y[order[::-1]]"}),
    Mistake("the caller's rows were overwritten", "The numbers are right, but Y itself was changed. Write into a new "
        "array.", {"X = np.empty_like(Y)\n    X[order] = Y\n": "X = Y\n    X[order] = Y.copy()\n"}),
)  # fmt: skip
