"""Six dot products by hand

by hand · ★ · 4 min · 01-foundations/10-scores-backwards

The queries are (1, 2) and (0, -1), the keys (3, 0), (1, 1) and (-1, 2). Work out the matrix of dot-product
scores, one row for each query, as a list of lists.

1. How many scores does each query get, and so how many rows and columns has the matrix?
2. Row 0 holds (1, 2) · (3, 0), then (1, 2) · (1, 1), then (1, 2) · (-1, 2).
3. Multiply first coordinate with first, second with second, and add. The result has two rows and three
   columns.

Row i belongs to query i, column j to key j: this is Q K transposed, and no other product of the two
matrices has these sizes.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake

Q_BY_HAND = np.array([[1.0, 2.0], [0.0, -1.0]])


K_BY_HAND = np.array([[3.0, 0.0], [1.0, 1.0], [-1.0, 2.0]])


def answer():
    return Q_BY_HAND @ K_BY_HAND.T


MISTAKES = (
    Mistake("second coordinates left out", "Only the first coordinates were multiplied; the products of the second "
        "ones have to be added.", Q_BY_HAND[:, :1] @ K_BY_HAND[:, :1].T),
    Mistake("coordinates crossed", "First coordinates belong together and second coordinates belong together.",
        Q_BY_HAND @ K_BY_HAND[:, ::-1].T),
    Mistake("scaled", "These are divided by the root of 2; plain dot products were wanted.",
        Q_BY_HAND @ K_BY_HAND.T / 2 ** 0.5),
    Mistake("signs lost", "Minus signs were dropped on the way.", abs(Q_BY_HAND) @ abs(K_BY_HAND).T),
)  # fmt: skip
