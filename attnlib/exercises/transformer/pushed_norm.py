"""The derivative of RMS norm in a direction

write · ★★ · 10 min · 04-transformer/12-norms-depth-and-rank

RMS normalisation is applied to each row of X (n, d): the row is divided by the root of its mean square (no gain, no
eps). Now change each row a little in the direction of the same row of V (n, d). Return an array (n, d): the derivative
of each normalised row in that direction. Do not build a matrix for each row.

1. Two things change with x: x itself, and the root that it is divided by.
2. A change along x does not change the output of the norm. So what must be subtracted from v before it is divided?
3. Subtract from v its component along the normed row y, which is y times the mean of y v, and divide by the root.

The Jacobian of layer normalisation has one term more, because that norm also subtracts the mean. Here only the
direction of x is lost. Applied to a row, the Jacobian costs two sums and no matrix.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def pushed_norm(X, V):
    """How each row's RMS norm moves when the row is pushed along V; (n, d)."""
    size = np.sqrt((X**2).mean(axis=1, keepdims=True))
    Y = X / size
    return (V - Y * (Y * V).mean(axis=1, keepdims=True)) / size


def by_quotient(X, V):
    square = (X * X).mean(1)
    root = np.sqrt(square)
    moved = (X * V).mean(1) / root
    return (V * root[:, None] - X * moved[:, None]) / square[:, None]


def by_matrices(X, V):
    n, d = X.shape
    rows = []
    for x, v in zip(X, V, strict=True):
        J = (np.eye(d) - np.outer(x, x) / (x @ x)) / np.sqrt(x @ x / d)
        rows.append(J @ v)
    return np.array(rows)


def of_layer_norm(X, V):
    X, V = (A - A.mean(axis=1, keepdims=True) for A in (X, V))
    return pushed_norm(X, V)


def whole_step(X, V):
    """The difference that a change by the whole of V makes."""
    return (X + V) / np.sqrt(((X + V) ** 2).mean(axis=1, keepdims=True)) - X / np.sqrt(
        (X**2).mean(axis=1, keepdims=True)
    )


def cases(rng):
    return {
        "two rows": drawn(rng, (2, 3), (2, 3)),
        "as many rows as columns": drawn(rng, (4, 4), (4, 4)),
        "long rows": [A * s for A, s in zip(drawn(rng, (3, 5), (3, 5)), (100.0, 1.0), strict=True)],
        "short rows": [A * s for A, s in zip(drawn(rng, (2, 6), (2, 6)), (0.01, 1.0), strict=True)],
        "rows with a mean": [A + s for A, s in zip(drawn(rng, (3, 4), (3, 4)), (2.0, 1.0), strict=True)],
    }


VARIANTS = (by_quotient, by_matrices)
MISTAKES = (
    Mistake("the mean is subtracted", "That is layer normalisation, which subtracts the mean. RMS normalisation does "
        "not.",
        of_layer_norm,
        {"(V - Y *": "(V - V.mean(axis=1, keepdims=True) - Y *"},
        {"(V - Y * (Y * V).mean(axis=1, keepdims=True))": "(V - V.mean(axis=1, keepdims=True))"}),
    Mistake("the root is held fixed", "The root was held fixed. It changes with the row, too.",
        {"return (V - Y * (Y * V).mean(axis=1, keepdims=True)) / size": "return V / size"}),
    Mistake("not divided", "The change must be divided by the root mean square of the row, as the row was.",
        {"keepdims=True)) / size": "keepdims=True))"}),
    Mistake("a sum instead of the mean", "The component along the row was computed with a sum instead of a mean.",
        {"(Y * V).mean(axis=1, keepdims=True)": "(Y * V).sum(axis=1, keepdims=True)"}),
    Mistake("the row before the norm",
        "The component along the row was computed with the row before the norm, not with the normed one.",
        {"Y * (Y * V).mean": "X * (X * V).mean"}, {"Y * (Y * V).mean": "X * (Y * V).mean"}),
    Mistake("added", "The component along the row must be subtracted. It was added.", {"(V - Y *": "(V + Y *"}),
    Mistake("divided twice", "The change is divided by the root mean square of the row once.",
        {"keepdims=True)) / size": "keepdims=True)) / size**2"}),
    Mistake("multiplied instead of divided", "The same change turns a longer row less: divide by the root mean square.",
        {"keepdims=True)) / size": "keepdims=True)) * size"}),
    Mistake("the length instead of the root mean square",
        "The row is divided by the root of its mean square, not by its length.",
        {"(X**2).mean(": "(X**2).sum("}),
    Mistake("only the change of the root", "This has only the change of the root. The row itself changes, too.",
        {"(V - Y *": "(0 * V - Y *"}),
    Mistake("twice the component along the row", "The square brings a 2, and the root takes it away again.",
        {"(V - Y *": "(V - 2 * Y *"}),
    Mistake("half the component along the row", "The root brings a half, and the square takes it away again.",
        {"(V - Y *": "(V - 0.5 * Y *"}),
    Mistake("the normed row", "That is the normed row. Return its derivative.",
        {"return (V - Y * (Y * V).mean(axis=1, keepdims=True)) / size": "return Y"}),
    Mistake("the normed row was added", "That is the normed row after a change. Return only the derivative.",
        {"return (V -": "return Y + (V -"}),
    Mistake("the norm of V", "The norm is not applied to V. It is applied to the row, which changes along V.",
        lambda X, V: V / np.sqrt((V**2).mean(axis=1, keepdims=True))),
    Mistake("a whole step", "That is the difference that the whole of V makes. A derivative is the limit of small "
        "changes.", whole_step),
)  # fmt: skip
