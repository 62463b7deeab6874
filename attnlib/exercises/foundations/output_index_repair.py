r"""An index error in print

repair · ★ · 6 min · 01-foundations/3-queries-keys-values

A lecture prints the output of attention as $Y_i = \sum_j A_{j,i} V_j$, and this code follows it, with P (m, n) for A
and V (n, d_v). With four queries and three keys it stops with an error, and with as many queries as keys it returns
wrong numbers without an error. Repair it.

1. Which axis of P counts the queries, and which the keys?
2. How far may each index run? Compare the ranges of the loops with the shape of P.
3. In the weight that query i gives to key j, the query's index comes first.

The printed form is right only if A is the transposed matrix, with a column for each query. Sizes that
differ would have shown it at once: with three keys there is no fourth row to read.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def weighted_sums(P, V):
    """For each query i the sum over the keys j of the values V[j], each with the weight that i gives to j."""
    m, n = P.shape
    Y = np.zeros((m, V.shape[-1]), dtype=V.dtype)
    for i in range(m):
        for j in range(n):
            Y[i] += P[i, j] * V[j]
    return Y


def product(P, V):
    return P @ V


def by_einsum(P, V):
    return np.einsum("ij,jc->ic", P, V)


def summed(P, V):
    return (P[:, :, None] * V).sum(axis=1)


def cases(rng):
    def case(m, n, d_v, dtype: type = np.float64):
        E = np.exp(rng.normal(size=(m, n)))
        return (E / E.sum(axis=-1, keepdims=True)).astype(dtype), rng.normal(size=(n, d_v)).astype(dtype)

    return {
        "two queries, three keys": case(2, 3, 4),
        "four queries, three keys": case(4, 3, 5),
        "as many queries as keys": case(3, 3, 2),
        "all sizes equal": case(4, 4, 4),
        "float32": case(3, 3, 2, np.float32),
    }


def reference(P, V):
    return P @ V


GIVEN = ("the two indices are exchanged",)
VARIANTS = (product, by_einsum, summed, {", dtype=V.dtype": ""})
MISTAKES = (
    Mistake("only the last key counts", "The terms were not summed: each one replaced the one before.",
        {"Y[i] +=": "Y[i] ="}),
    Mistake("the two indices are exchanged", "Query i reads the weights that others give to key i, a column of P, "
        "which need not sum to one.", {"P[i, j]": "P[j, i]"}),
    Mistake("each output scales one value", "Every weight of the row met the value of key i; the weight of key j "
        "belongs to the value of key j.", {"* V[j]": "* V[i]"}),
    Mistake("the first key is left out", "The formula counts from 1, Python counts from 0.",
        {"range(n)": "range(1, n)"}),
)  # fmt: skip
