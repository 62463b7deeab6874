"""Scores that ignore length

write · ★ · 8 min · 01-foundations/10-scores-backwards · after foundations.dot-by-hand

Write the cosine score for all pairs: the dot product of each query with each key, divided by both lengths.
Q is (..., m, d_k), K is (..., n, d_k); the scores are (..., m, n), between -1 and 1.

1. What remains of a vector when it is divided by its length?
2. Make all queries and all keys unit vectors first; what is then the dot product of two of them?
3. The length is the root of the sum of squares over the last axis, kept as an axis so that the division
   fits.

Doubling a query changes no cosine, so a cosine score cannot express confidence by length.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit import laws


def cosine_scores(Q, K):
    """The cosine of the angle between every query and every key."""
    unit_q = Q / np.sqrt((Q * Q).sum(axis=-1, keepdims=True))
    unit_k = K / np.sqrt((K * K).sum(axis=-1, keepdims=True))
    return unit_q @ unit_k.swapaxes(-1, -2)


def reference(Q, K):
    from attnlib.reference import scores

    return scores.cosine_scores(Q, K)[0]


def cases(rng):
    return {
        "two queries, three keys": (rng.normal(size=(2, 4)), rng.normal(size=(3, 4))),
        "a batch of two": (rng.normal(size=(2, 3, 5)), rng.normal(size=(2, 4, 5))),
        "all sizes equal": (rng.normal(size=(3, 3)), rng.normal(size=(3, 3))),
        "long and short vectors": (100 * rng.normal(size=(3, 5)), 0.01 * rng.normal(size=(4, 5))),
    }


LAWS = (laws.separate_batches(0, 1),)
VARIANTS = (
    {"np.sqrt((Q * Q).sum(axis=-1, keepdims=True))": "np.linalg.norm(Q, axis=-1, keepdims=True)"},
    {"unit_q @ unit_k.swapaxes(-1, -2)": "np.einsum('...id,...jd->...ij', unit_q, unit_k)"},
)  # fmt: skip
MISTAKES = (
    Mistake("not divided by the lengths of the queries", "The lengths of the queries are still in the scores.",
        {"Q / np.sqrt((Q * Q).sum(axis=-1, keepdims=True))": "Q"}),
    Mistake("not divided by the lengths of the keys", "The lengths of the keys are still in the scores.",
        {"K / np.sqrt((K * K).sum(axis=-1, keepdims=True))": "K"}),
    Mistake("divided by the squared length", "The length is the root of the sum of squares.",
        {"np.sqrt((Q * Q).sum(axis=-1, keepdims=True))": "(Q * Q).sum(axis=-1, keepdims=True)",
         "np.sqrt((K * K).sum(axis=-1, keepdims=True))": "(K * K).sum(axis=-1, keepdims=True)"}),
    Mistake("lengths over the wrong axis", "Each vector has its own length: sum the squares over its coordinates, the "
        "last axis.", {"axis=-1, keepdims": "axis=-2, keepdims"}),
    Mistake("one length for all", "The whole matrix was divided by one number; each vector has its own length.",
        {"(Q * Q).sum(axis=-1, keepdims=True)": "(Q * Q).sum()",
         "(K * K).sum(axis=-1, keepdims=True)": "(K * K).sum()"}),
    Mistake("sum of absolute values as length", "The Euclidean length was wanted: the root of the sum of squares.",
        {"np.sqrt((Q * Q).sum(axis=-1, keepdims=True))": "abs(Q).sum(axis=-1, keepdims=True)",
         "np.sqrt((K * K).sum(axis=-1, keepdims=True))": "abs(K).sum(axis=-1, keepdims=True)"}),
    Mistake("K is not transposed", "Where K is square it runs, but a score must pair a query's numbers with one key's.",
        {"unit_k.swapaxes(-1, -2)": "unit_k"}),
)  # fmt: skip
