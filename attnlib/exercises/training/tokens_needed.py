"""How much text a size needs

write · ★★ · 10 min · 05-training/7-compute-data-size

The law of a family of models is E + A / N^a + B / D^b for N parameters and D tokens. A loss is wanted. For each of the
sizes (k,), how many tokens does a training need to reach it? Where no number of tokens is enough, return infinity.

1. What is the loss of a size that has read everything?
2. Solve the law for D, where the wanted loss lies above that.
3. What may be left for the text is the loss minus E minus A / N^a. If it is not positive, the answer is infinity.

The smallest size that reaches a loss at all needs almost endless text for it. Between it and a size that is twice
as large lies most of the saving of a model that is used a lot.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def tokens_needed(sizes, loss, E, A, a, B, b):
    """Tokens for each of the sizes (k,) to reach the loss, or infinity; (k,)."""
    left = loss - E - A / sizes**a
    enough = left > 0
    return np.where(enough, (B / np.where(enough, left, 1.0)) ** (1 / b), np.inf)


def by_loop(sizes, loss, E, A, a, B, b):
    found = []
    for N in sizes:
        left = loss - (E + A * N**-a)
        found.append(np.exp(np.log(B / left) / b) if left > 0 else np.inf)
    return np.array(found)


def by_mask(sizes, loss, E, A, a, B, b):
    need = np.full(len(sizes), np.inf)
    able = E + A / sizes**a < loss
    need[able] = ((loss - E - A / sizes[able] ** a) / B) ** (-1 / b)
    return need


def cases(rng):
    def case(k, E, A, a, B, b, above):
        sizes = rng.permutation(np.round(1000.0 * 3.0 ** np.arange(1, k + 1)))
        return sizes, E + A / 9000.0**a + above, E, A, a, B, b

    return {
        "three sizes": (np.array([100.0, 400.0, 900.0]), 2.5, 1.0, 10.0, 0.5, 20.0, 0.5),
        "all are large enough": (np.array([1e4, 1e5, 1e6]), 2.0, 1.2, 40.0, 0.45, 30.0, 0.35),
        "some are too small": case(5, 1.1, 30.0, 0.4, 25.0, 0.3, 0.2),
        "none is large enough": (np.array([100.0, 300.0]), 1.3, 1.2, 40.0, 0.45, 30.0, 0.35),
        "below the entropy": (np.array([1e5, 1e7, 1e9]), 0.9, 1.0, 20.0, 0.4, 20.0, 0.5),
        "no entropy": case(4, 0.0, 25.0, 0.35, 15.0, 0.25, 0.4),
        "just not": (np.array([400.0, 100.0, 1600.0]), 2.0, 1.0, 10.0, 0.5, 12.0, 0.4),
    }


VARIANTS = (by_loop, by_mask)
MISTAKES = (
    Mistake("no number where the size is too small", "A root of a negative number is nan. There no text is enough: "
        "return infinity.",
        lambda sizes, loss, E, A, a, B, b: _quiet(B / (loss - E - A / sizes**a), 1 / b)),
    Mistake("the entropy forgotten", "E is in every loss, so it has to be taken off first.",
        {"loss - E - A": "loss - A"}),
    Mistake("the size forgotten", "The term of the size takes its part of the loss; only the rest is left for text.",
        {"loss - E - A / sizes**a": "loss - E + 0 * sizes"}),
    Mistake("the power is not undone", "B / D^b is what is left, so D is a power 1 / b.", {"(1 / b)": "b"},
        {" ** (1 / b)": ""}),
    Mistake("operations in place of tokens", "Return tokens, not the operations of the training.",
        {"return np.where(enough, (B": "return np.where(enough, 6 * sizes * (B"}),
    Mistake("the absolute value", "The absolute value makes a text of finite length where none is enough.",
        lambda sizes, loss, E, A, a, B, b: (B / np.abs(loss - E - A / sizes**a)) ** (1 / b)),
)  # fmt: skip


def _quiet(base, power):
    with np.errstate(invalid="ignore", divide="ignore"):
        return base**power
