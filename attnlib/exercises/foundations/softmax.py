"""A softmax that survives large scores

write · ★ · 8 min · 01-foundations/4-softmax-and-scale

Write the softmax over the last axis. It must also be right for scores as large as 900, where the
exponential itself overflows.

1. Which number can you subtract from a whole row of scores without changing the weights?
2. Choose that number so that the largest exponent of each row becomes zero.
3. Subtract each row's own maximum, exponentiate, divide by the row's sum. `keepdims` keeps the axes in
   line.

Numerator and denominator both carry the factor exp(-max), so it cancels. After the subtraction the largest
exponent is 0: nothing overflows, and the sum is at least 1, so nothing is divided by zero.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit import laws
from attnlib.reference import ops


def softmax(S):
    """Softmax over the last axis of S, safe for scores of any size."""
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    return E / E.sum(axis=-1, keepdims=True)


def cases(rng):
    return {
        "two sequences": (rng.normal(size=(2, 3, 5)),),
        "a square matrix": (rng.normal(size=(4, 4)),),
        "scores around 800": (800 * rng.normal(size=(2, 3, 5)),),
        "rows far apart": (rng.normal(size=(3, 4)) + np.array([[0.0], [900.0], [-900.0]]),),
        "one row": (rng.normal(size=5),),
    }


def via_log_sum_exp(S):
    return np.exp(S - np.logaddexp.reduce(S, axis=-1, keepdims=True))


def row_by_row(S):
    def one(row):
        E = np.exp(row - row.max())
        return E / E.sum()

    return np.apply_along_axis(one, -1, S)


def sigmoid(S):
    return 1 / (1 + np.exp(-S))


reference = ops.softmax


LAWS = (laws.rows_sum_to_one, laws.never_negative, laws.unchanged_by_a_constant())
VARIANTS = (via_log_sum_exp, row_by_row)
MISTAKES = (
    Mistake("wrong axis", "Here each column sums to one; each row should. The scores of one query lie along the last "
        "axis.",
        {"axis=-1": "axis=-2", "return": "if S.ndim < 2:\n        return E / E.sum()\n    return"},
        {"axis=-1": "axis=0"}),
    Mistake("mean subtracted in place of the maximum", "Subtracting the mean cancels too, but the largest exponent "
        "can still overflow.", {"S.max(": "S.mean("}),
    Mistake("divided by the sum of the scores", "The denominator sums the raw scores; it should sum their "
        "exponentials.", {"E.sum(axis=-1, keepdims=True)": "S.sum(axis=-1, keepdims=True)"}),
    Mistake("not normalised", "These are the exponentials; divide them by their sum, so that each row sums to one.",
        {"/ E.sum(axis=-1, keepdims=True)": ""}),
    Mistake("sign of the scores turned", "The largest score got the smallest weight: somewhere the sign is turned.",
        {"S - S.max(axis=-1, keepdims=True)": "S.min(axis=-1, keepdims=True) - S"}),
    Mistake("sigmoid in place of softmax", "Each number went through the sigmoid by itself. A softmax weighs the "
        "scores of a row against each other.", sigmoid),
    Mistake("scores changed in place", "`-=` writes into the caller's array, whose scores are then lost. Make a new "
        "array.",
        {"E = np.exp(S - S.max(axis=-1, keepdims=True))": "S -= S.max(axis=-1, keepdims=True)\n    E = np.exp(S)"}),
)  # fmt: skip
