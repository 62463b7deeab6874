"""The softmax backwards, without its Jacobian

write · ★★ · 15 min · 01-foundations/8-temperature · after foundations.softmax

Given the weights P of a softmax over the last axis and the gradient dP of a loss with respect to P, return the gradient
with respect to the scores. No matrix larger than P is needed.

1. The Jacobian of one row is diag(p) minus the outer product of p with itself. What does it do to a vector?
2. diag(p) multiplies entry by entry; the outer product needs one number for each row, a weighted sum of dP.
3. Each entry of dP minus the row's average of dP (weighted by P), all of it weighted by P.

dS_j = P_j (dP_j - sum_i P_i dP_i): each score gains by how much its own gradient exceeds the row's average.
A constant added to dP changes nothing, just as a constant added to the scores changes nothing.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit import laws
from attnlib.reference import ops


def softmax_backward(dP, P):
    """The gradient with respect to the scores, from the gradient dP of the weights P."""
    return P * (dP - (dP * P).sum(axis=-1, keepdims=True))


def cases(rng):
    return {
        "two sequences": (rng.normal(size=(2, 3, 5)), ops.softmax(rng.normal(size=(2, 3, 5)))),
        "a square matrix": (rng.normal(size=(4, 4)), ops.softmax(rng.normal(size=(4, 4)))),
        "one row": (rng.normal(size=5), ops.softmax(rng.normal(size=5))),
    }


def with_the_jacobian(dP, P):
    J = P[..., :, None] * np.eye(P.shape[-1]) - P[..., :, None] * P[..., None, :]
    return np.einsum("...i,...ij->...j", dP, J)


reference = ops.softmax_backward


LAWS = (laws.separate_batches(0, 1), laws.unchanged_by_a_constant(0, "entries of dP"))
VARIANTS = (
    with_the_jacobian,
    {"(dP * P).sum(axis=-1, keepdims=True)": 'np.einsum("...i,...i->...", dP, P)[..., None]'},
)  # fmt: skip
MISTAKES = (
    Mistake("the sum term is missing", "P * dP is the part of diag(p). The outer product takes the row's weighted "
        "average of dP away from it.", {"dP - (dP * P).sum(axis=-1, keepdims=True)": "dP"}),
    Mistake("only the sum term", "This is the part of the outer product; the part of diag(p) is missing.",
        {"dP - (dP * P)": "-(dP * P)"}),
    Mistake("the sum is not weighted", "The sum of dP was taken without its weights P: the row's average is weighted "
        "by P.", {"(dP * P).sum": "dP.sum"}),
    Mistake("added in place of subtracted", "The sign of the sum is turned: the outer product is subtracted.",
        {"dP - (": "dP + ("}),
    Mistake("the two arguments are swapped", "The gradient was used as the weights and the weights as the gradient. "
        "The order is (dP, P).", {"P * (dP - (dP * P)": "dP * (P - (dP * P)"}),
)  # fmt: skip
