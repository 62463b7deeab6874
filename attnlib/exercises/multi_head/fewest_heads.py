"""How few heads do the same?

write · ★★ · 12 min · 03-multi-head/1-why-several-heads

With its weights held fixed a layer computes the sum over heads of P[k] X M[k], with P (h, n, n) and M (h, d, d_out).
How many heads of that kind are enough to compute the same map of X exactly? Their P and M may hold any numbers. Return
that smallest number, which is 0 for a map that is zero.

1. Two heads with the same table P: can one do their work? And two heads with the same matrix M?
2. It is not enough to count tables, or matrices, that differ: the sum may cancel.
3. Arrange the map as a matrix with a row for each pair of tokens and a column for each pair of features, and take its
   rank.

The rank of that table is at most h, and as many heads as its rank are enough: a table of rank r is a sum of r
columns times rows, and each of them is a head. So a layer can have fewer heads than it seems, and which ones
are too many cannot be seen from the weights, nor from the matrices, alone.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.given import softmax


def fewest_heads(P, M):
    """The least number of heads with fixed weights whose sum is that of P[k] X M[k]; P (h, n, n), M (h, d, d_out)."""
    h = len(P)
    table = P.reshape(h, -1).T @ M.reshape(h, -1)
    return np.linalg.matrix_rank(table)


def by_probing(P, M):
    _, n, d = P.shape[0], P.shape[1], M.shape[1]
    units = np.eye(n * d).reshape(n * d, n, d)
    Y = np.sum([p @ units @ m for p, m in zip(P, M, strict=True)], axis=0)
    table = Y.reshape(n, d, n, -1).transpose(2, 0, 1, 3).reshape(n * n, -1)
    values = np.linalg.svd(table, compute_uv=False)
    return int((values > 1e-9 * max(values[0], 1e-9)).sum())


def by_outer_products(P, M):
    table = np.zeros((P[0].size, M[0].size))
    for p, m in zip(P, M, strict=True):
        table += np.outer(p, m)
    return np.linalg.matrix_rank(table)


def cases(rng):
    def heads(h, n, d, d_out):
        return softmax(rng.normal(size=(h, n, n))), rng.normal(size=(h, d, d_out))

    P, M = heads(3, 3, 2, 4)
    Q, N = heads(4, 4, 3, 3)
    return {
        "three different heads": (P, M),
        "two of three have the same weights": (P[[0, 1, 0]], M),
        "two of three have the same matrix": (P, M[[0, 1, 1]]),
        "two heads cancel": (P[[0, 1, 0]], np.stack([M[0], M[1], -M[0]])),
        "two pairs cancel": (Q[[0, 1, 2, 3, 0, 1]], np.stack([*N, -N[0], -N[1]])),
        "three of five cancel in part": (
            Q[[0, 0, 0, 1, 2]],
            np.stack([N[0], N[1], -N[0] - N[1], N[2], N[3]]),
        ),
        "the fourth table is a mixture": (np.stack([*Q[:3], Q[:3].mean(axis=0)]), N),
        "more heads than a token has pairs": heads(6, 3, 2, 2),
        "one head": heads(1, 4, 2, 3),
        "two identical heads": (P[[0, 0]], M[[0, 0]]),
        "three identical heads and another": (P[[0, 1, 0, 0]], M[[0, 1, 0, 0]]),
        "a map that is zero": (P, 0 * M),
    }


VARIANTS = (by_probing, by_outer_products)
MISTAKES = (
    Mistake("the tables were counted", "This is how many independent tables of weights there are. The matrices may "
        "bring it down: two heads of the same matrix are one head with the sum of their tables.",
        {"table = P.reshape(h, -1).T @ M.reshape(h, -1)": "table = P.reshape(h, -1)"}),
    Mistake("the matrices were counted", "This is how many independent matrices there are. The weights may bring it "
        "down: two heads that attend to the same positions are one.",
        {"table = P.reshape(h, -1).T @ M.reshape(h, -1)": "table = M.reshape(h, -1)"}),
    Mistake("the smaller of two ranks", "Of the independent tables and the independent matrices there are as many or "
        "more. Fewer heads are enough where their products cancel.",
        {"return np.linalg.matrix_rank(table)":
             "return min(np.linalg.matrix_rank(P.reshape(h, -1)), np.linalg.matrix_rank(M.reshape(h, -1)))"}),
    Mistake("all heads", "That many heads there are. Fewer may do the same.",
        {"return np.linalg.matrix_rank(table)": "return h"}),
    Mistake("the rank of the layer as one matrix", "That is the rank of the map from all numbers of X to all numbers "
        "of Y. Arrange its entries by pairs of tokens and pairs of features.",
        lambda P, M: np.linalg.matrix_rank(sum(np.kron(p, m.T) for p, m in zip(P, M, strict=True)))),
)  # fmt: skip
