"""A maximum with soft edges

write · ★★ · 8 min · 01-foundations/9-softmax-in-finite-precision · after foundations.softmax

Write ln Σ exp(s) for each row of S, right for scores of 800 and of -800 too. The result has one axis less.

1. Which factor can you take out of the sum of exponentials, and what does the logarithm make of it?
2. exp(s) is exp(max) times exp(s - max).
3. Subtract each row's maximum before exponentiating, sum, take the logarithm, and add the maximum again.

Its derivative is the softmax: a smooth maximum, and its derivative is largest at the largest entry.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def log_sum_exp(S):
    """ln of the sum of exp over each row of S, without overflow."""
    largest = S.max(axis=-1)
    return largest + np.log(np.exp(S - largest[..., None]).sum(axis=-1))


def reference(S):
    from attnlib.reference import ops

    return ops.log_sum_exp(S)


def reduced(S):
    return np.logaddexp.reduce(S, axis=-1)


def cases(rng):
    return {
        "two rows": (rng.normal(size=(2, 3)),),
        "a batch": (rng.normal(size=(2, 3, 5)),),
        "scores of 800": (800 + rng.normal(size=(2, 4)),),
        "scores of -800": (-800 + rng.normal(size=(2, 4)),),
        "scores of 800 and of -800 in one row": (np.array([[800.0, -800.0, 0.0], [-800.0, -801.0, -900.0]]),),
        "as many rows as columns": (3 * rng.normal(size=(3, 3)),),
    }


VARIANTS = (reduced, {"largest = S.max(axis=-1)": "largest = S.max(axis=-1) + 0.5"})
MISTAKES = (
    Mistake("no maximum subtracted", "exp(800) is inf and exp(-800) is 0, so the logarithm is inf or -inf.",
        {"largest = S.max(axis=-1)": "largest = 0 * S.max(axis=-1)"}, lambda S: np.log(np.exp(S).sum(axis=-1))),
    Mistake("the maximum was not added back", "It was taken out as a factor, so its logarithm has to come back.",
        {"largest + np.log": "np.log"}),
    Mistake("the maximum was subtracted again", "It comes back with a plus.",
        {"largest + np.log(": "-largest + np.log("}),
)  # fmt: skip
