"""Warmer and colder

write · ★ · 6 min · 01-foundations/8-temperature · after foundations.softmax

Write the softmax at temperature T: of each row of S / T, safe for scores of 8000. A large T makes the
weights even, a small T makes them sharp.

1. What should happen to the differences between scores when T is large?
2. Divide the scores, not the weights; then it is an ordinary softmax.
3. Divide S by T, subtract each row's maximum, exponentiate, divide by each row's sum.

Scaled dot-product attention is a softmax at the temperature √d_k.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def softmax_with_temperature(S, T):
    """The softmax of each row of S at temperature T."""
    Z = S / T
    E = np.exp(Z - Z.max(axis=-1, keepdims=True))
    return E / E.sum(axis=-1, keepdims=True)


def reference(S, T):
    from attnlib.reference import ops

    return ops.softmax_with_temperature(S, T)


def cases(rng):
    return {
        "T = 2": (rng.normal(size=(2, 3)), 2.0),
        "T = 0.5": (rng.normal(size=(2, 3, 5)), 0.5),
        "scores of 8000": (8000 * rng.normal(size=(2, 4)), 3.0),
        "rows far apart": (rng.normal(size=(2, 4)) + np.array([[0.0], [9000.0]]), 3.0),
        "as many rows as columns": (rng.normal(size=(3, 3)), 4.0),
    }


VARIANTS = (
    {"Z = S / T": "Z = S * (1 / T)"},
    {"Z = S / T\n    E = np.exp(Z - Z.max(axis=-1, keepdims=True))":
         "E = np.exp((S - S.max(axis=-1, keepdims=True)) / T)"},
)  # fmt: skip
MISTAKES = (
    Mistake("multiplied by T", "A larger T should make the weights more even; here it makes them sharper.",
        {"S / T": "S * T"}),
    Mistake("T is not used", "These are the weights at temperature 1.", {"S / T": "S"}),
    Mistake("the weights were divided", "T has to act on the scores. Divided weights no longer sum to one.",
        {"S / T": "S", "return E / E.sum(axis=-1, keepdims=True)": "return E / E.sum(axis=-1, keepdims=True) / T"}),
    Mistake("divided by √T", "T itself divides the scores, not its root.", {"S / T": "S / T**0.5"}),
)  # fmt: skip
