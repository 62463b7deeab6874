"""Rotate a part

write · ★★ · 10 min · 04-transformer/5-the-block-of-today

Some models rotate only the first r coordinates of each query and key and leave the others as they are. X is (n, d) with
the vector of position t in row t, and r is even and at most d. Rotate the pairs (0, 1), (2, 3), ... up to r: pair i by
the angle t · base^(-2i/r), counter-clockwise, so that (1, 0) becomes (cos, sin). Return (n, d).

1. How many pairs are there, and does the width d matter for their angles?
2. The angles are those of a head of the width r: one for each position and each pair.
3. A pair (a, b) becomes (a cos - b sin, a sin + b cos); the columns from r on are copied.

The columns that are not rotated compare content alone: their part of a score is the same at every distance. With
r = d this is the ordinary rotation, with r = 0 a layer without positions.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def partly_rotated(X, r, base):
    """X (n, d) with its first r coordinates rotated by their position; (n, d)."""
    angles = np.arange(len(X))[:, None] * base ** (-np.arange(0, r, 2) / r)
    a, b = X[:, 0:r:2], X[:, 1:r:2]
    Y = X.copy()
    Y[:, 0:r:2] = a * np.cos(angles) - b * np.sin(angles)
    Y[:, 1:r:2] = a * np.sin(angles) + b * np.cos(angles)
    return Y


def with_complex_numbers(X, r, base):
    angles = np.outer(np.arange(len(X)), base ** (-np.arange(0, r, 2) / r))
    Z = (X[:, 0:r:2] + 1j * X[:, 1:r:2]) * np.exp(1j * angles)
    return np.concatenate([np.stack([Z.real, Z.imag], axis=-1).reshape(len(X), r), X[:, r:]], axis=1)


def pair_by_pair(X, r, base):
    Y = np.array(X)
    for t in range(X.shape[0]):
        for i in range(r // 2):
            angle = t * base ** (-2 * i / r)
            c, s = np.cos(angle), np.sin(angle)
            a, b = X[t, 2 * i], X[t, 2 * i + 1]
            Y[t, 2 * i], Y[t, 2 * i + 1] = c * a - s * b, s * a + c * b
    return Y


def of_halves(X, r, base):
    angles = np.arange(len(X))[:, None] * base ** (-np.arange(0, r, 2) / r)
    a, b = X[:, : r // 2], X[:, r // 2 : r]
    Y = X.copy()
    Y[:, : r // 2] = a * np.cos(angles) - b * np.sin(angles)
    Y[:, r // 2 : r] = a * np.sin(angles) + b * np.cos(angles)
    return Y


def the_last(X, r, base):
    d = X.shape[1]
    return np.concatenate([X[:, : d - r], partly_rotated(X[:, d - r :], r, base)], axis=1)


def cases(rng):
    return {
        "two of four": (rng.normal(size=(3, 4)), 2, 100.0),
        "four of six": (rng.normal(size=(5, 6)), 4, 10_000.0),
        "all of them": (rng.normal(size=(4, 6)), 6, 10_000.0),
        "another base": (rng.normal(size=(5, 7)), 4, 50.0),
        "one position": (rng.normal(size=(1, 6)), 4, 100.0),
    }


VARIANTS = (with_complex_numbers, pair_by_pair)
MISTAKES = (
    Mistake("angles of the whole width", "The angles are those of a head of the width r; these fall as if it were d.",
        {"np.arange(0, r, 2) / r)": "np.arange(0, r, 2) / X.shape[1])"}),
    Mistake("pairs of halves", "These pairs are (i, i + r/2). The task pairs neighbours: (0, 1), (2, 3), ...",
        of_halves),
    Mistake("the last coordinates", "The first r coordinates rotate, and the last ones stay.", the_last),
    Mistake("the other way round", "These pairs are rotated clockwise: (1, 0) became (cos, -sin).",
        {"a * np.cos(angles) - b * np.sin(angles)": "a * np.cos(angles) + b * np.sin(angles)",
         "a * np.sin(angles) + b * np.cos(angles)": "b * np.cos(angles) - a * np.sin(angles)"}),
    Mistake("positions from one", "The vector in row 0 stands at position 0 and is not rotated.",
        {"np.arange(len(X))[:, None]": "np.arange(1, len(X) + 1)[:, None]"}),
    Mistake("the rest is lost", "The columns from r on stay as they are; here they are zero.",
        {"Y = X.copy()": "Y = np.zeros_like(X)"}),
)  # fmt: skip
