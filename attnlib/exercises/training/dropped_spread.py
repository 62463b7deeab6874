"""What attention dropout makes of an output

write · ★★ · 10 min · 05-training/4-not-too-well

P (m, n) are weights of attention and V (n, d_v) the values. Each weight is dropped independently with probability p,
and what stays is divided by 1 - p; then the values are averaged. Return the standard deviation over draws of each
number of the output, (m, d_v).

1. One number of the output is a sum over keys. What is one term, and what is its variance?
2. The draws are independent. What adds up then: variances, or standard deviations?
3. The square of weight times value, summed over the keys, times p / (1 - p), and the root of that.

Where the values have different signs, the output can be zero and its spread large. A query that looks at many keys
has the smaller spread.
"""

import math

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn, weights


def dropped_spread(P, V, p):
    """How much each number of the output varies; (m, d_v)."""
    return np.sqrt(p / (1 - p) * (P**2 @ V**2))


def by_loop(P, V, p):
    out = np.zeros((len(P), V.shape[1]))
    for i, row in enumerate(P):
        for c in range(V.shape[1]):
            out[i, c] = math.sqrt(sum((w * v) ** 2 * p / (1 - p) for w, v in zip(row, V[:, c], strict=True)))
    return out


def cases(rng):
    return {
        "two queries, three keys": (weights(rng, 2, 3), *drawn(rng, (3, 4)), 0.1),
        "more is dropped": (weights(rng, 3, 5), *drawn(rng, (5, 2)), 0.4),
        "all weights equal": (np.full((2, 4), 0.25), *drawn(rng, (4, 3)), 0.2),
        "all sizes equal": (weights(rng, 3, 3), *drawn(rng, (3, 3)), 0.3),
    }


VARIANTS = (
    by_loop,
    {"np.sqrt(p / (1 - p) * (P**2 @ V**2))": "np.sqrt(p / (1 - p)) * np.linalg.norm(P[:, :, None] * V, axis=1)"},
)  # fmt: skip
MISTAKES = (
    Mistake("nothing is rescaled", "This is the spread without the division by 1 - p: p (1 - p) is the variance of a "
        "draw of 0 or 1.", {"p / (1 - p)": "p * (1 - p)"}),
    Mistake("one draw for all keys", "This is the spread if all weights of a query came and went together. Each is "
        "drawn for itself, so the squares add up.", {"(P**2 @ V**2)": "(P @ V) ** 2"}),
    Mistake("standard deviations were added", "Of independent draws the variances add up, not the standard deviations.",
        {"np.sqrt(p / (1 - p) * (P**2 @ V**2))": "np.sqrt(p / (1 - p)) * (np.abs(P) @ np.abs(V))"}),
    Mistake("the spread of the row sums", "This is how much the sum of the weights varies. Each weight moves its own "
        "value.", {"P**2 @ V**2": "(P**2).sum(axis=-1, keepdims=True) * np.ones(V.shape[1])"}),
    Mistake("the weights are not squared", "A weight is a factor of its draw; the variance has its square.",
        {"P**2": "P"}),
    Mistake("the factor is p alone", "The variance of a draw of 0 or 1 / (1 - p) is p / (1 - p).",
        {"p / (1 - p)": "p"}),
    Mistake("the mean over keys", "The terms of a weighted sum are added; there is no division by their number.",
        {"(P**2 @ V**2)": "(P**2 @ V**2) / P.shape[-1]"}),
    Mistake("the spread among the keys", "This is how much the values differ from their average. Return how much the "
        "output differs from draw to draw.",
        {"np.sqrt(p / (1 - p) * (P**2 @ V**2))": "np.sqrt(P @ V**2 - (P @ V) ** 2)"},
        {"np.sqrt(p / (1 - p) * (P**2 @ V**2))": "np.std(P[:, :, None] * V, axis=1)"}),
    Mistake("measured from the mean output", "The values were measured from the output's mean. A dropped weight takes "
        "its whole value away.", {"(P**2 @ V**2)": 'np.einsum("mn,mnd->md", P**2, (V - (P @ V)[:, None]) ** 2)'}),
)  # fmt: skip
