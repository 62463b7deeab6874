"""A push through the other norm

write · ★★ · 10 min · 04-transformer/12-norms-depth-and-rank

RMS normalisation is applied to each row of X (n, d): the row is divided by the root of its mean square (no gain, no
eps). Now change each row a little in the direction of the same row of V (n, d). Return an array (n, d): the derivative
of each normalised row in that direction. Do not build a matrix for each row.

1. Two things move when x is pushed: x itself, and the root that it is divided by.
2. A push along x changes nothing behind the norm. So what must be taken from v before it is divided?
3. Take from v its part along the normed row y, which is y times the mean of y v, and divide by the root.

That is the Jacobian of the page with one term less: the mean is heard, so only the direction of x is lost. Applied to
a row, it costs two sums and no matrix.
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
    """The difference that a push of full size makes."""
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
    Mistake("the mean is taken away", "That is layer normalisation, which takes the mean away. RMS normalisation "
        "leaves it alone.",
        of_layer_norm,
        {"(V - Y *": "(V - V.mean(axis=1, keepdims=True) - Y *"},
        {"(V - Y * (Y * V).mean(axis=1, keepdims=True))": "(V - V.mean(axis=1, keepdims=True))"}),
    Mistake("the root does not move", "The root was held fixed. It moves, too, when a row is pushed.",
        {"return (V - Y * (Y * V).mean(axis=1, keepdims=True)) / size": "return V / size"}),
    Mistake("not divided", "What is left of the push is divided by the size of the row, as the row was.",
        {"keepdims=True)) / size": "keepdims=True))"}),
    Mistake("the sum for the mean", "The part along the row was taken with a sum where a mean belongs.",
        {"(Y * V).mean(axis=1, keepdims=True)": "(Y * V).sum(axis=1, keepdims=True)"}),
    Mistake("the row as it came", "The part along the row was taken with the row as it came, not with the normed one.",
        {"Y * (Y * V).mean": "X * (X * V).mean"}, {"Y * (Y * V).mean": "X * (Y * V).mean"}),
    Mistake("added", "The part along the row must be taken away. It was added.", {"(V - Y *": "(V + Y *"}),
    Mistake("divided twice", "What is left of the push is divided by the size of the row once.",
        {"keepdims=True)) / size": "keepdims=True)) / size**2"}),
    Mistake("multiplied with the size", "A longer row turns less by the same push, so the size divides.",
        {"keepdims=True)) / size": "keepdims=True)) * size"}),
    Mistake("the length for the size", "The row is divided by the root of its mean square, not by its length.",
        {"(X**2).mean(": "(X**2).sum("}),
    Mistake("the push itself is forgotten", "Only the change of the root is here. The row itself moves, too.",
        {"(V - Y *": "(0 * V - Y *"}),
    Mistake("twice the part along the row", "The square brings a 2, and the root takes it away again.",
        {"(V - Y *": "(V - 2 * Y *"}),
    Mistake("half the part along the row", "The root brings a half, and the square takes it away again.",
        {"(V - Y *": "(V - 0.5 * Y *"}),
    Mistake("the normed row", "That is where the row is behind the norm, not where it moves.",
        {"return (V - Y * (Y * V).mean(axis=1, keepdims=True)) / size": "return Y"}),
    Mistake("the normed row was added", "That is the row after a push. Asked for is the direction alone.",
        {"return (V -": "return Y + (V -"}),
    Mistake("the push, normed", "The push does not go through the norm by itself: the row does, and it is moved by "
        "the push.", lambda X, V: V / np.sqrt((V**2).mean(axis=1, keepdims=True))),
    Mistake("a whole step", "That is the difference that the whole of V makes. A derivative is for a push as small as "
        "you like.", whole_step),
)  # fmt: skip
