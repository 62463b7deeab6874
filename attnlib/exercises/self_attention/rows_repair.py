r"""Rows here, columns there

repair · ★ · 6 min · 02-self-attention/1-a-sequence-attends-to-itself

A text wrote tokens as columns in one formula and as rows in the next, and this function mixed both. Each
row of X (n, d_model) is a token. Repair its two faults, so that row i of the result has the scores of query
i.

1. Run it on 4 tokens of 3 numbers. Which product has sizes that do not fit, and what is its shape meant to
   be?
2. With tokens as rows, a projection stands on the right of X.
3. Queries are rows. To pair each query with each key, which of the two has to be turned?

With columns the same scores are written $W^\top x$ and $q^\top k$; with rows $x W$ and $q k^\top$. Either
is fine; a formula that changes in between is not.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def scores_of_rows(X, W_Q, W_K):
    """Scores (n, n), row i for query i; each row of X is a token."""
    Q = X @ W_Q
    K = X @ W_K
    return Q @ K.T / np.sqrt(W_K.shape[1])


def cases(rng):
    return {
        "four tokens of three numbers": drawn(rng, (4, 3), (3, 2), (3, 2)),
        "two tokens": drawn(rng, (2, 5), (5, 3), (5, 3)),
        "all sizes equal": drawn(rng, (3, 3), (3, 3), (3, 3)),
        "d_k of 1": drawn(rng, (4, 4), (4, 1), (4, 1)),
    }


GIVEN = ("the first factor is transposed", "d_k from the wrong axis")
VARIANTS = (
    {"Q @ K.T": "np.einsum('ic,jc->ij', Q, K)"},
    {"Q @ K.T / np.sqrt(W_K.shape[1])": "X @ (W_Q @ W_K.T) @ X.T / W_Q.shape[1] ** 0.5"},
)  # fmt: skip
MISTAKES = (
    Mistake("the first factor is transposed", "A product of transposed queries and keys pairs coordinates with "
        "coordinates: it has a row for each of the d_k coordinates, not for each token.", {"Q @ K.T": "Q.T @ K"}),
    Mistake("d_k from the wrong axis", "The matrices are (d_model, d_k): the first axis counts a token's numbers, the "
        "second a key's.", {"W_K.shape[1]": "W_K.shape[0]"}),
    Mistake("keys and queries are exchanged", "This is the transpose: row i belongs to key i.", {"Q @ K.T": "K @ Q.T"}),
    Mistake("not scaled", "The scores were not divided by √d_k.", {"/ np.sqrt(W_K.shape[1])": ""}),
    Mistake("divided by d_k, not by its root", "The spread of a dot product grows with the root of d_k.",
        {"np.sqrt(W_K.shape[1])": "W_K.shape[1]"}),
)  # fmt: skip
