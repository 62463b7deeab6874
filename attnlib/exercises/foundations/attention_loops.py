"""Attention, one query at a time

write · ★ · 12 min · 01-foundations/2-the-attention-function

Write scaled dot-product attention with loops: for each query a score for each key, then the weights, then
the average of the values. Q is (m, d_k), K is (n, d_k), V is (n, d_v). Scores may be as large as 800, where
the exponential itself overflows.

1. What must be worked out anew for each query, and what must be complete before the first weight is known?
2. Inside the loop over the queries come three loops over the keys: scores, the sum of the exponentials,
   values.
3. A score is the dot product divided by the root of d_k. Subtract the largest score of this query before
   each exponential, sum them up from zero, and add each value to the query's row, times its share of the
   sum.

Nothing here is shared between two turns of the outer loop: queries do not see each other, which is why all
of them can be done at once as matrices.
"""

import math

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit import laws


def attention_by_loops(Q, K, V):
    """Scaled dot-product attention, one query and one key at a time."""
    O = np.zeros((len(Q), V.shape[1]), dtype=V.dtype)
    for i in range(len(Q)):
        scores = [Q[i] @ K[j] / math.sqrt(Q.shape[1]) for j in range(len(K))]
        top = max(scores)
        total = 0
        for j in range(len(K)):
            total = total + np.exp(scores[j] - top)
        for j in range(len(K)):
            O[i] += np.exp(scores[j] - top) / total * V[j]
    return O


def reference(Q, K, V):
    from attnlib.reference import attention

    return attention.attention_by_loops(Q, K, V)


def cases(rng):
    def case(*sizes, dtype: type = np.float64):
        return tuple(rng.normal(size=size).astype(dtype) for size in sizes)

    return {
        "two queries, three keys": case((2, 4), (3, 4), (3, 2)),
        "values as wide as keys": case((3, 5), (4, 5), (4, 5)),
        "one query": case((1, 2), (5, 2), (5, 3)),
        "scores of 1 and of 800": (
            rng.normal(size=(2, 5)) * np.array([[1.0], [900.0]]),
            *case((4, 5), (4, 3)),
        ),
        "all sizes equal": case((3, 3), (3, 3), (3, 3)),
        "float32": case((3, 2), (4, 2), (4, 5), dtype=np.float32),
    }


def loops_by_matrices(Q, K, V):
    S = Q @ K.T / math.sqrt(Q.shape[1])
    E = np.exp(S - S.max(axis=1, keepdims=True))
    return (E / E.sum(axis=1, keepdims=True)) @ V


LAWS = (laws.blind_to_order({1: -2, 2: -2}),)
VARIANTS = (
    loops_by_matrices,
    {"O[i] += np.exp(scores[j] - top) / total * V[j]": "O[i] = O[i] + V[j] * (np.exp(scores[j] - top) / total)"},
    {", dtype=V.dtype": ""},
)  # fmt: skip
MISTAKES = (
    Mistake("√d_k is missing", "The scores are not divided by √d_k, so they spread wider the longer the vectors are.",
        {"/ math.sqrt(Q.shape[1])": ""}),
    Mistake("divided by d_k, not by its root", "The standard deviation of a dot product grows like √d_k; dividing by "
        "d_k makes the weights too even.", {"math.sqrt(Q.shape[1])": "Q.shape[1]"}),
    Mistake("root of the wrong dimension", "The root is that of d_k, the width of queries and keys; here another size "
        "was taken.",
        {"math.sqrt(Q.shape[1])": "math.sqrt(len(K))"},
        {"math.sqrt(Q.shape[1])": "math.sqrt(len(Q))"},
        {"math.sqrt(Q.shape[1])": "math.sqrt(V.shape[1])"}),
    Mistake("no maximum subtracted", "exp(800) is larger than the largest float, so it becomes inf, and inf / inf is "
        "nan.", {"np.exp(scores[j] - top)": "np.exp(scores[j])"}),
    Mistake("only the last key is left", "Each value replaced the one before it in the output; they have to be added "
        "up.", {"O[i] +=": "O[i] ="}),
    Mistake("the last key is left out", "A loop stops one key too early. `range(n)` already ends with n - 1.",
        {"range(len(K))": "range(len(K) - 1)"}),
    Mistake("the sum is not complete", "The exponentials were divided by the sum of those so far. All must be summed "
        "before the first weight.",
        {"total = total + np.exp(scores[j] - top)\n        for j in range(len(K)):\n":
             "total = total + np.exp(scores[j] - top)\n"}),
    Mistake("the sum runs on from query to query", "Only the first query is right: the sum of the exponentials was "
        "not set back to zero for the next one.",
        {"        total = 0\n": "", "    for i in range": "    total = 0\n    for i in range"}),
    Mistake("not divided by the sum", "The values were weighted with exponentials that do not sum to one.",
        {"/ total": ""}),
    Mistake("no softmax", "The scores themselves were used as weights.",
        {"np.exp(scores[j] - top) / total": "scores[j]"}),
)  # fmt: skip
