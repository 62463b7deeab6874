"""Which vector points in the same direction?

write · ★ · 8 min · 01-foundations/13-word-vectors · after foundations.cosine-scores

X (n, d) holds n vectors, n at least 2. For each of them return the index of the *other* vector with the
largest cosine, as an array of n integers.

1. Which vector has the largest cosine of all with a given vector, if nothing prevents it?
2. Make all vectors as long as one, take all dot products, and exclude each vector's product with itself.
3. Divide each row by its length, multiply with the transpose, put minus infinity on the diagonal, and take
   the argmax of each row.

Between unit vectors the nearest by distance is the nearest by angle too, since the squared distance is 2 -
2 cos. Without the division, long vectors are neighbours of all.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def nearest_cosine(X):
    """For each row of X the index of the other row whose direction is nearest."""
    unit = X / np.sqrt((X * X).sum(axis=-1, keepdims=True))
    C = unit @ unit.T
    np.fill_diagonal(C, -np.inf)
    return C.argmax(axis=-1)


def cases(rng):
    lengths = np.exp(rng.normal(size=(12, 1)) * 1.5)
    opposite = rng.normal(size=(4, 3))
    return {
        "five vectors in the plane": (rng.normal(size=(5, 2)),),
        "twelve vectors of very different lengths": (lengths * rng.normal(size=(12, 3)),),
        "as many vectors as dimensions": (rng.normal(size=(7, 7)),),
        "vectors and nearly their opposites": (
            np.concatenate([opposite, -opposite + 0.1 * rng.normal(size=(4, 3))]),
        ),
        "three vectors far apart": (np.array([[2.0, 0.0], [-0.6, 1.0], [-0.5, -1.5]]),),
        "all on one side": (5 + rng.normal(size=(9, 4)),),
        "float32": (rng.normal(size=(6, 3)).astype(np.float32),),
    }


def by_sorting(X):
    lengths = np.linalg.norm(X, axis=1)
    C = X @ X.T / np.outer(lengths, lengths)
    order = np.argsort(-C, axis=1)
    return np.array([next(j for j in row if j != i) for i, row in enumerate(order)])


def by_distance(X):
    unit = X / np.linalg.norm(X, axis=-1, keepdims=True)
    D = ((unit[:, None] - unit) ** 2).sum(axis=-1)
    return (D + np.where(np.eye(len(X), dtype=bool), np.inf, 0)).argmin(axis=-1)


VARIANTS = (
    by_sorting,
    by_distance,
    {"X / np.sqrt((X * X).sum(axis=-1, keepdims=True))": "X / np.linalg.norm(X, axis=-1, keepdims=True)",
     "np.fill_diagonal(C, -np.inf)": "C = C - 3 * np.eye(len(C))"},
)  # fmt: skip
MISTAKES = (
    Mistake("each vector found itself", "The cosine of a vector with itself is 1, and nothing is larger: leave the "
        "diagonal out.", {"np.fill_diagonal(C, -np.inf)": "pass"}),
    Mistake("dot products, not cosines", "Here long vectors win whatever their direction: divide by the lengths.",
        {"X / np.sqrt((X * X).sum(axis=-1, keepdims=True))": "X"}),
    Mistake("nearest by distance", "The ends of these two vectors are near each other, which also depends on their "
        "lengths; the angle was wanted.",
        lambda X: ( ((X[:, None] - X) ** 2).sum(axis=-1) + np.where(np.eye(len(X), dtype=bool), np.inf, 0)
            ).argmin(axis=-1)),
    Mistake("the furthest vector", "This is the vector with the smallest cosine, which points the other way.",
        {"-np.inf": "np.inf", "argmax": "argmin"}),
    Mistake("opposite directions count as near", "A cosine of -1 is the opposite direction, and a cosine of 1 the "
        "same; the sign matters.", {"C = unit @ unit.T": "C = abs(unit @ unit.T)"}),
    Mistake("zero on the diagonal", "Where all other cosines are negative, a zero on the diagonal still wins: the "
        "vector found itself.", {"-np.inf": "0"}),
    Mistake("lengths of the columns", "Each row is a vector and has its own length: sum the squares along the row.",
        {"axis=-1, keepdims": "axis=0, keepdims"}),
)  # fmt: skip
