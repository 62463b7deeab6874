r"""A bandwidth that chooses itself

write · ★★ · 12 min · 01-foundations/2-the-attention-function

How good is a bandwidth if the true curve is not known? Predict each measured point from the *others*, as a mean of
their measurements with the weights of a Gaussian kernel. x (n,) are positions, y (n,) the measurements, and h is the
bandwidth of the kernel. Return the mean squared error of these n predictions. A point far from all others gets a
prediction too, not nan.

1. What would a point predict for itself, if it were allowed to look at its own measurement?
2. The points are queries and keys: as many queries as keys, and one key each query may not look at.
3. Scores are minus the squared distances over twice the squared bandwidth; those of a point with itself
   become minus infinity before the softmax, which is safe by its maximum.

Compute it for some bandwidths and take the best: no true curve is needed. This is leave-one-out
cross-validation, and the weights are self-attention with its diagonal masked.
"""

import math

import numpy as np

from attnlib.exercises.engine.model import Mistake


def leave_one_out(x, y, h):
    """Mean squared error when each y is predicted from the others, weighted by a Gaussian of their distance in x."""
    S = -((x[:, None] - x) ** 2) / (2 * h**2)
    np.fill_diagonal(S, -math.inf)
    G = np.exp(S - S.max(axis=1, keepdims=True))
    guess = G @ y / G.sum(axis=1)
    return ((guess - y) ** 2).mean()


def reference(x, y, h):
    from attnlib.reference.attention import attend

    scores = -((x[:, None] - x) ** 2) / (2 * h**2)
    return ((attend(scores, y[:, None], ~np.eye(len(x), dtype=bool))[0][:, 0] - y) ** 2).mean()


def leave_one_out_by_loops(x, y, h):
    errors = []
    for i in range(len(x)):
        others, seen = np.delete(x, i), np.delete(y, i)
        distance = (others - x[i]) ** 2
        weights = np.exp((distance.min() - distance) / 2 / h**2)
        errors.append((y[i] - (weights * seen).sum() / weights.sum()) ** 2)
    return np.mean(errors)


def cases(rng):
    def case(n, h, spread=1.0):
        return spread * rng.normal(size=n), rng.normal(size=n), h

    far = case(5, 0.5)
    far[0][2] += 90
    return {
        "three points": case(3, 0.7),
        "five points, a narrow kernel": case(5, 0.3),
        "seven points, a wide kernel": case(7, 2.5, 3.0),
        "a point far from all others": far,
        "two points": case(2, 1.3),
    }


VARIANTS = (
    leave_one_out_by_loops,
    {"(x[:, None] - x) ** 2": "x[:, None] ** 2 - 2 * np.outer(x, x) + x**2"},
    {".mean()": ".sum() / len(x)"},
)  # fmt: skip
MISTAKES = (
    Mistake("each point looks at itself", "Each prediction includes the measurement that it is meant to predict. With "
        "a narrow kernel the error comes near zero whatever the data are.",
        {"np.fill_diagonal(S, -math.inf)\n    ": ""}),
    Mistake("hidden after the sum", "The weight of the point itself was removed after the weights had been made to "
        "sum to one, so those of the others sum to less.",
        {"np.fill_diagonal(S, -math.inf)\n    ": "",
         "guess = G @ y / G.sum(axis=1)": "guess = (G * (1 - np.eye(len(x)))) @ y / G.sum(axis=1)"}),
    Mistake("the bandwidth is not squared", "Distance and bandwidth have the same unit, so the square of one is "
        "divided by the square of the other.", {"(2 * h**2)": "(2 * h)"}),
    Mistake("the factor 2 is missing", "The exponent is divided by twice the squared bandwidth; without the 2 the "
        "kernel is too narrow.", {"(2 * h**2)": "h**2"}),
    Mistake("not normalised", "The weighted measurements were summed up; an average divides by the sum of the weights.",
        {"G @ y / G.sum(axis=1)": "G @ y"}),
    Mistake("normalised over the wrong axis", "The weights of each point that is looked at were made to sum to one; "
        "those of each point that looks should.", {"G @ y / G.sum(axis=1)": "(G / G.sum(axis=0)) @ y"}),
    Mistake("summed, not averaged", "The squared errors were added up; their mean was wanted.",
        {".mean()": ".sum()"}),
    Mistake("absolute errors", "The absolute errors were averaged; the squared ones were wanted.",
        {"((guess - y) ** 2).mean()": "abs(guess - y).mean()"}),
)  # fmt: skip
