"""How weights answer to scores

write · ★★ · 10 min · 01-foundations/8-temperature · after foundations.softmax

p is one row of softmax weights. Write the matrix of derivatives ∂p_i / ∂s_j, row i for weight i.

1. If one score rises, what happens to its own weight, and what to all the others?
2. The derivative of p_i with respect to its own score is p_i (1 - p_i); with respect to another
   score s_j it is -p_i p_j.
3. Put p on the diagonal and subtract all products p_i p_j, those on the diagonal too.

Each row sums to zero: weights can only be moved, not made.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import weights


def softmax_jacobian(p):
    """The matrix of derivatives of each weight in p with respect to each score; p is one row of weights."""
    return np.diag(p) - np.outer(p, p)


def reference(p):
    from attnlib.reference import ops

    return ops.softmax_jacobian(p)


def rows_scaled(p):
    return p[:, None] * (np.eye(len(p)) - p)


def entry_by_entry(p):
    return np.array([[p[i] * ((i == j) - p[j]) for j in range(len(p))] for i in range(len(p))])


def cases(rng):
    return {
        "three weights": (weights(rng, 3),),
        "five weights": (weights(rng, 5),),
        "equal weights": (np.array([0.25, 0.25, 0.25, 0.25]),),
        "nearly one-hot": (np.array([0.98, 0.015, 0.005]),),
    }


VARIANTS = (rows_scaled, entry_by_entry)
MISTAKES = (
    Mistake("the diagonal is missing", "A weight rises with its own score: on the diagonal p_i is added.",
        {"np.diag(p) - np.outer": "-np.outer"}),
    Mistake("only the diagonal", "The other weights answer too: what one gains, the others lose.",
        lambda p: np.diag(p * (1 - p))),
    Mistake("the sum term is missing", "The products p_i p_j were left out.", {"- np.outer(p, p)": ""}),
    Mistake("the diagonal lost its square", "On the diagonal stands p_i - p_i², here p_i alone.",
        lambda p: np.diag(p) - np.outer(p, p) + np.diag(p * p)),
    Mistake("plus, not minus", "If one score rises the other weights fall.", {"- np.outer": "+ np.outer"}),
    Mistake("identity in place of diag(p)", "On the diagonal stands the weight, not one.",
        {"np.diag(p)": "np.eye(len(p))"}),
    Mistake("the sign of all", "This is minus the Jacobian.",
        {"np.diag(p) - np.outer(p, p)": "np.outer(p, p) - np.diag(p)"}),
    Mistake("squares off the diagonal", "Entry (i, j) is -p_i p_j; here it is -p_i².",
        lambda p: np.diag(p) - (p * p)[:, None] * np.ones(len(p))),
)  # fmt: skip
