"""A layer on p workers

repair · ★★ · 8 min · 05-training/8-many-workers

X (n, d) passes W_1 (d, h) with b_1 (h,), a ReLU, and W_2 (h, d) with b_2 (d,), on p workers that split the hidden
units evenly. At the end every worker's rows are gathered: worker r has the r-th part of the rows of the sum. It runs,
and two things are wrong; repair both.

1. Compare with one worker. Then take two, and let W_1, b_1 and W_2 be zero.
2. A bias belongs to the sum, not to its parts.
3. In which order are the parts of the rows after the gather?

The first fault is silent in a new model, whose biases are zero, and grows with the training. The second one is silent
for a text of equal rows. Both vanish with one worker, so a test with one worker proves nothing.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def split_layer(X, W_1, b_1, W_2, b_2, p):
    """A feed-forward network on p workers; X (n, d), n and h divisible by p."""
    total = np.zeros((len(X), W_2.shape[1]))
    for units in np.split(np.arange(len(W_2)), p):
        H = np.maximum(X @ W_1[:, units] + b_1[units], 0)
        total += H @ W_2[units]
    parts = np.split(total + b_2, p)
    gathered = [parts[r] for r in range(p)]
    return np.concatenate(gathered)


def without_workers(X, W_1, b_1, W_2, b_2, p):
    return np.where(X @ W_1 + b_1 > 0, X @ W_1 + b_1, 0) @ W_2 + b_2


def own_rows_alone(X, W_1, b_1, W_2, b_2, p):
    parts = zip(np.split(X, p), np.split(np.arange(len(W_2)), p), strict=True)
    return np.concatenate([np.maximum(x @ W_1[:, u] + b_1[u], 0) @ W_2[u] + b_2 for x, u in parts])


def cases(rng):
    def parts(n, d, h, p):
        return *drawn(rng, (n, d), (d, h), (h,), (h, d), (d,)), p

    X, W_1, b_1, W_2, b_2, p = parts(4, 3, 6, 2)
    return {
        "two workers": parts(4, 3, 6, 2),
        "three workers": parts(3, 2, 6, 3),
        "one worker": parts(2, 3, 4, 1),
        "no biases": (X, W_1, 0 * b_1, W_2, 0 * b_2, p),
        "nothing but the last bias": (X, 0 * W_1, 0 * b_1, 0 * W_2, b_2, p),
    }


GIVEN = ("the last bias on every worker", "the gather begins with worker 1")
VARIANTS = (
    without_workers,
    {"total += H @ W_2[units]": "total += H @ W_2[units] + b_2 / p", "np.split(total + b_2, p)": "np.split(total, p)"},
)  # fmt: skip
MISTAKES = (
    Mistake("the last bias on every worker", "The last bias is added by every worker, so the sum has it p times.",
        {"H @ W_2[units]": "H @ W_2[units] + b_2", "total + b_2": "total"}),
    Mistake("the gather begins with worker 1", "The rows come in another order than they went: those of worker 1 come "
        "first.", {"parts[r]": "parts[(r + 1) % p]"}),
    Mistake("the last bias is gone", "The last bias is added once, after the sum, and not at all here.",
        {"total + b_2": "total"}),
    Mistake("the gather runs backwards", "The rows of the last worker come first.", {"parts[r]": "parts[p - 1 - r]"}),
    Mistake("the gather begins with the last worker", "The rows of the last worker come first, and then those of "
        "worker 0.", {"parts[r]": "parts[r - 1]"}),
    Mistake("one worker's rows for all", "Each worker has rows of its own; here those of worker 0 are used for all.",
        {"parts[r]": "parts[0]"}),
    Mistake("no ReLU", "Negative hidden numbers must become zero.",
        {"np.maximum(X @ W_1[:, units] + b_1[units], 0)": "(X @ W_1[:, units] + b_1[units])"}),
    Mistake("the first bias is gone", "Each worker adds its part of the first bias.",
        {"X @ W_1[:, units] + b_1[units]": "X @ W_1[:, units]"}),
    Mistake("the mean of the workers", "The parts are summed over the workers, not averaged.",
        {"H @ W_2[units]": "H @ W_2[units] / p"}),
    Mistake("the last bias twice", "The last bias is added once.", {"total + b_2": "total + 2 * b_2"}),
    Mistake("the first bias divided by p", "Each worker has its own units, and adds their whole bias.",
        {"b_1[units]": "b_1[units] / p"}),
    Mistake("the ReLU after the sum", "The ReLU is between the two maps, not after them.",
        {"np.maximum(X @ W_1[:, units] + b_1[units], 0)": "(X @ W_1[:, units] + b_1[units])",
         "return np.concatenate(gathered)": "return np.maximum(np.concatenate(gathered), 0)"}),
    Mistake("each worker its own rows", "Each row needs the units of all workers. Here each worker has worked on its "
        "own rows alone.", own_rows_alone),
    Mistake("a stack of parts", "The parts are put one below the other: (n, d).",
        {"return np.concatenate(gathered)": "return np.array(gathered)"},
        {"return np.concatenate(gathered)": "return np.concatenate(gathered, axis=1)"}),
)  # fmt: skip
