"""A bound for a whole page

write · ★★ · 10 min · 06-efficient-attention/5-chosen-keys

A cache of n keys is kept in pages of c keys; n is a multiple of c. Q is (m, d), K is (n, d). For each page compute two
vectors: the smallest and the largest value of each coordinate among its keys. With these two vectors and the query,
but without the keys themselves, compute an upper bound for the products of the query with the page's keys: the
smallest one that is right for every page with these two vectors. Return these bounds for each query and page, (m, n /
c).

1. Which value of one coordinate makes its term largest, if the query is positive there? And if it is negative?
2. Choose for each coordinate on its own; then sum.
3. With lo and hi of a page, coordinate by coordinate, the larger one of q lo and q hi.

Such a bound is used by Quest, which reads only the pages with the largest bounds. The bound belongs to no key: each
coordinate may come from another one, so long pages have bounds that are too high.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def page_bounds(Q, K, c):
    """(m, n / c): for each query and page a bound for its products, from the page's smallest and largest values."""
    pages = K.reshape(-1, c, K.shape[1])
    lo, hi = pages.min(axis=1), pages.max(axis=1)
    return np.maximum(Q[:, None] * lo, Q[:, None] * hi).sum(axis=2)


def by_signs(Q, K, c):
    pages = K.reshape(len(K) // c, c, -1)
    return np.maximum(Q, 0) @ pages.max(axis=1).T + np.minimum(Q, 0) @ pages.min(axis=1).T


def term_by_term(Q, K, c):
    terms = Q[:, None, :] * K[None]
    return np.stack([terms[:, at : at + c].max(axis=1).sum(axis=1) for at in range(0, len(K), c)], axis=1)


def by_corners(Q, K, c):
    pages = K.reshape(-1, c, K.shape[1])
    return np.maximum(Q @ pages.min(axis=1).T, Q @ pages.max(axis=1).T)


def length(X):
    return np.linalg.norm(X, axis=1)


def by_middle(Q, K, c, first, second):
    pages = K.reshape(-1, c, K.shape[1])
    lo, hi = pages.min(axis=1), pages.max(axis=1)
    return first(Q @ (lo + hi).T / 2) + second(Q, (hi - lo) / 2)


def cases(rng):
    return {
        "two queries, two pages of three": (*drawn(rng, (2, 3), (6, 3)), 3),
        "pages of one key": (*drawn(rng, (3, 2), (4, 2)), 1),
        "one page": (*drawn(rng, (2, 4), (5, 4)), 5),
        "all sizes equal": (*drawn(rng, (3, 3), (9, 3)), 3),
    }


VARIANTS = (by_signs, term_by_term)
MISTAKES = (
    Mistake("the largest product", "That is the largest product of a key, so all keys were read. It should be computed "
        "from the two vectors of a page.",
        lambda Q, K, c: (Q @ K.T).reshape(len(Q), -1, c).max(axis=2)),
    Mistake("one vector for all coordinates", "Choose for each coordinate on its own: with a negative query the "
        "smallest value gives the larger term.", by_corners),
    Mistake("negative coordinates are left out", "Where the query is negative, there is a term as well: the largest is "
        "that of the smallest value.", lambda Q, K, c: np.maximum(Q, 0) @ K.reshape(-1, c, K.shape[1]).max(axis=1).T),
    Mistake("the sign of the query is lost", "With a negative query a large value gives a small term, not a large one.",
        lambda Q, K, c: np.abs(Q) @ K.reshape(-1, c, K.shape[1]).max(axis=1).T),
    Mistake("the query only chooses", "The value that is chosen for a coordinate has to be multiplied by the query's.",
        {"np.maximum(Q[:, None] * lo, Q[:, None] * hi)": "np.where(Q[:, None] > 0, hi, lo)"}),
    Mistake("a bound, and not the smallest one", "No product lies above these numbers, but the two vectors of a page "
        "allow a smaller bound: choose for each coordinate on its own.",
        lambda Q, K, c: by_middle(Q, K, c, lambda x: x, lambda Q, h: np.outer(length(Q), length(h))),
        lambda Q, K, c: by_middle(Q, K, c, np.abs, lambda Q, h: np.abs(Q) @ h.T),
        lambda Q, K, c: np.outer(length(Q), length(K).reshape(-1, c).max(axis=1))),
    Mistake("sizes instead of values", "With absolute values in place of the numbers the bound is higher than it "
        "must be.",
        lambda Q, K, c: np.abs(Q) @ np.abs(K).reshape(-1, c, K.shape[1]).max(axis=1).T),
)  # fmt: skip
