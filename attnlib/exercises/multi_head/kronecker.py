"""The whole layer as one matrix

write · ★★★ · 20 min · 03-multi-head/6-rank-and-subspaces · after multi-head.sum-form

With its weights held fixed, a layer is linear in X: Y is the sum over heads of P[k] X M[k], where P (h, n,
n) are the weights and M (h, d, d_out) is W_V times the head's part of W_O. Return the matrix (n d_out, n d)
that maps X.reshape(-1) to Y.reshape(-1).

1. How does entry (j, b) of X get into entry (i, a) of Y through one head?
2. By P_ij times M_ba: a number for each pair of tokens times one for each pair of entries. Which product of
   matrices makes all such products?
3. A Kronecker product with the weights first, since a row-major reshape runs through the entries fastest,
   and with the other matrix transposed.

One head is one Kronecker product. A sum of h of them has Kronecker rank up to h. Where the rank is two or
more no single head can equal it: that is the exact sense in which several heads can do more.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.given import softmax


def matrix_of_the_layer(P, M):
    """The matrix that maps X.reshape(-1) to Y.reshape(-1), where Y is the sum over heads of P[k] X M[k]."""
    return sum(np.kron(P[k], M[k].T) for k in range(len(P)))


def matrix_by_probing(P, M):
    n, d = P.shape[1], M.shape[1]
    columns = []
    for j in range(n * d):
        X = np.zeros(n * d)
        X[j] = 1
        Y = np.einsum("kij,jd,kde->ie", P, X.reshape(n, d), M, optimize=True)
        columns.append(Y.reshape(-1))
    return np.stack(columns, axis=1)


def cases(rng):
    return {
        "one head": (softmax(rng.normal(size=(1, 2, 2))), rng.normal(size=(1, 2, 3))),
        "two heads, three tokens": (softmax(rng.normal(size=(2, 3, 3))), rng.normal(size=(2, 2, 4))),
        "all sizes equal": (softmax(rng.normal(size=(3, 3, 3))), rng.normal(size=(3, 3, 3))),
    }


VARIANTS = (
    matrix_by_probing,
    {"np.kron(P[k], M[k].T)": "np.einsum('ij,ba->iajb', P[k], M[k]).reshape(len(P[k]) * M.shape[2], -1)"},
)  # fmt: skip
MISTAKES = (
    Mistake("the two factors are exchanged", "Row by row, X.reshape(-1) runs through the entries of a token first: "
        "the weights are the first factor.", {"np.kron(P[k], M[k].T)": "np.kron(M[k].T, P[k])"}),
    Mistake("M is not transposed", "Entry a of the output collects from entry b of the input by M[b, a].",
        {"M[k].T": "M[k]"}),
    Mistake("one head only", "The heads add up.", {"range(len(P))": "range(1)"}),
    Mistake("a matrix for each head", "These are the heads' own matrices. The layer adds them up.",
        {"sum(np.kron(P[k], M[k].T) for k in range(len(P)))":
             "np.stack([np.kron(P[k], M[k].T) for k in range(len(P))])"}),
    Mistake("a product of sums", "The tables of the heads were added first, and then the matrices: that pairs every "
        "head's weights with every other head's matrix.",
        {"sum(np.kron(P[k], M[k].T) for k in range(len(P)))": "np.kron(P.sum(axis=0), M.sum(axis=0).T)"}),
    Mistake("a mean over the heads", "The parts of the heads are added, not averaged.",
        {"return sum(": "return 1 / len(P) * sum("}),
)  # fmt: skip
