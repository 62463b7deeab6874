"""Rotary positions in Llama's layout

write · ★★ · 10 min · 04-transformer/3-where-am-i

Rotary positions rotate pairs of numbers. In the Hugging Face layout of Llama, the numbers i and i + d/2 of a vector of
d numbers are the pair (a, b), for i = 0, 1, ..., d/2 - 1. At position t this pair is rotated, as a point of the plane,
counterclockwise by the angle t · 10,000^(-2i/d). X (n, d) holds one vector per row, and positions (n,) the position of
each row. Return (n, d): each row with all its pairs rotated, in the same layout.

1. Which slices are the first numbers of all pairs, and which the second?
2. Pair i has the exponent 2i/d, wherever its two numbers are.
3. (a, b) becomes (a cos - b sin, a sin + b cos). Put all first numbers before all second ones.

Parameters that were trained in one layout can be used in the other if the columns of W_Q and W_K are put in
another order, each pair's two next to each other. W_V stays as it is.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def turn_halves(X, positions):
    """Number i and number i + d/2 of each row, rotated by the angle of pair i at the row's position; (n, d)."""
    half = X.shape[1] // 2
    angles = positions[:, None] * 10_000.0 ** (-np.arange(half) / half)
    cos, sin = np.cos(angles), np.sin(angles)
    a, b = X[:, :half], X[:, half:]
    return np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=1)


def through_neighbours(X, positions):
    n, d = X.shape
    N = X.reshape(n, 2, d // 2).transpose(0, 2, 1)
    angles = np.outer(positions, 10_000.0 ** (-np.arange(0, d, 2) / d))
    R = np.array([[np.cos(angles), np.sin(angles)], [-np.sin(angles), np.cos(angles)]])
    return np.einsum("nic,cxni->nxi", N, R).reshape(n, d)


def two_products(X, positions):
    d = X.shape[1]
    other = np.hstack([-X[:, d // 2 :], X[:, : d // 2]])
    angles = np.tile(np.outer(positions, 10_000.0 ** (-2 * np.arange(d // 2) / d)), 2)
    return X * np.cos(angles) + other * np.sin(angles)


def cases(rng):
    def at(n, d, positions):
        return (*drawn(rng, (n, d)), np.asarray(positions, dtype=float))

    return {
        "three positions": at(3, 4, [0, 1, 2]),
        "far along, and out of order": at(3, 6, [50, 7, 1000]),
        "one pair": at(2, 2, [1, 3]),
        "all sizes equal": at(4, 4, [2, 3, 4, 5]),
    }


VARIANTS = (through_neighbours, two_products)
MISTAKES = (
    Mistake("neighbours are the pairs", "Neighbours were rotated as pairs. In this layout i and i + d/2 are a pair.",
        {"a, b = X[:, :half], X[:, half:]": "a, b = X[:, 0::2], X[:, 1::2]",
         "np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=1)":
             "np.stack([a * cos - b * sin, a * sin + b * cos], axis=2).reshape(X.shape)"}),
    Mistake("written as neighbours", "The pairs are right, but the results were put side by side. They belong at i and "
        "i + d/2.",
        {"np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=1)":
             "np.stack([a * cos - b * sin, a * sin + b * cos], axis=2).reshape(X.shape)"}),
    Mistake("rotated the other way", "The angles have the wrong sign: the rotation is counterclockwise.",
        {"cos, sin = np.cos(angles), np.sin(angles)": "cos, sin = np.cos(angles), -np.sin(angles)"}),
    Mistake("the exponent without its 2", "The frequencies fall half as fast as they should: the exponent is 2i/d, "
        "which is i over the number of pairs.", {"np.arange(half) / half": "np.arange(half) / (2 * half)"}),
    Mistake("the exponent doubled", "The frequencies fall twice as fast as they should: the exponent is 2i/d, which is "
        "i over the number of pairs.", {"np.arange(half) / half": "2 * np.arange(half) / half"}),
    Mistake("the number of the row", "Each row was rotated by its index. Its position is given.",
        {"positions[:, None] *": "np.arange(len(X))[:, None] *"}),
    Mistake("a reflection", "One sign is wrong: the pair is mirrored, not rotated.",
        {"a * cos - b * sin": "a * cos + b * sin"}),
    Mistake("the halves exchanged", "The first numbers of the pairs come first.",
        {"[a * cos - b * sin, a * sin + b * cos]": "[a * sin + b * cos, a * cos - b * sin]"}),
    Mistake("one frequency for all pairs", "All pairs have the same frequency. Each has its own, which falls with its "
        "number.", {"10_000.0 ** (-np.arange(half) / half)": "np.ones(half)"}),
)  # fmt: skip
