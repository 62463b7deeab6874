"""How spread out is a row?

write · ★ · 7 min · 01-foundations/8-temperature · after foundations.softmax

Write the entropy -Σ p ln p of each row of P, in nats. Some weights are exactly zero; these add nothing.

1. What is p ln p in the limit when p goes to zero, and what does NumPy say for p = 0?
2. Replace the zeros by a harmless number before you take the logarithm.
3. Where a zero is replaced by 1, the logarithm is 0. Multiply with P, sum each row, change the sign.

0 for one-hot, ln n for even weights. A mask makes exact zeros, so log 0 is met in practice.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import weights


def entropy(P):
    """The entropy of each row of weights, in nats; a weight of zero adds nothing."""
    safe = np.where(P > 0, P, 1.0)
    return -(P * np.log(safe)).sum(axis=-1)


def reference(P):
    from attnlib.reference import ops

    return ops.entropy(P)


def cases(rng):
    some_zero = weights(rng, 3, 4)
    some_zero[:, 1] = 0
    return {
        "two rows": (weights(rng, 2, 3),),
        "a batch": (weights(rng, 2, 3, 5),),
        "weights of zero": (some_zero / some_zero.sum(axis=-1, keepdims=True),),
        "one-hot and even": (np.array([[0.0, 1.0, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25]]),),
        "as many rows as columns": (weights(rng, 3, 3),),
    }


VARIANTS = (
    {"safe = np.where(P > 0, P, 1.0)": "safe = P + (P == 0)"},
    {"-(P * np.log(safe)).sum(axis=-1)": "(P * np.log(1 / safe)).sum(axis=-1)"},
)  # fmt: skip
MISTAKES = (
    Mistake("log of zero", "0 · ln 0 is nan in floating point; in the entropy it counts as 0.",
        {"np.log(safe)": "np.log(P)"}),
    Mistake("sign", "Logarithms of weights are negative, so the entropy needs a minus.", {"return -(": "return ("}),
    Mistake("sum over the wrong axis", "Each row is a distribution: sum over the last axis.",
        {".sum(axis=-1)": ".sum(axis=-2)"}),
)  # fmt: skip
