"""Llama's pairs

write · ★★ · 10 min · 04-transformer/3-where-am-i

In the Hugging Face form of Llama's parameters number i of a head makes a pair (a, b) with number i + d/2, for i = 0,
1, ..., d/2 - 1. Rotary positions turn this pair by the angle of its position times 10,000^(-2i/d), as the point (a, b)
of a plane, counterclockwise. Turn X (n, d), whose rows have the given positions (n,), in this layout; return (n, d) in
this layout.

1. Which slices are the first numbers of all pairs, and which the second?
2. The speeds are those of the page: pair i has the exponent 2i/d, wherever its two numbers are.
3. Turn each pair as on the page, and put the first numbers back before the second ones.

Parameters that were trained in one layout can be used in the other if the columns of W_Q and W_K are put in
another order, each pair's two next to each other. W_V stays as it is.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def turn_halves(X, positions):
    """Number i and number i + d/2 of each row, turned by the angle of pair i at the row's position; (n, d)."""
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
    Mistake("neighbours are the pairs", "Neighbours were turned together. In this layout i goes with i + d/2.",
        {"a, b = X[:, :half], X[:, half:]": "a, b = X[:, 0::2], X[:, 1::2]",
         "np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=1)":
             "np.stack([a * cos - b * sin, a * sin + b * cos], axis=2).reshape(X.shape)"}),
    Mistake("written as neighbours", "The pairs are right, but the results were put side by side. They belong where "
        "the pairs came from.",
        {"np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=1)":
             "np.stack([a * cos - b * sin, a * sin + b * cos], axis=2).reshape(X.shape)"}),
    Mistake("turned back", "The hands turn the wrong way round.",
        {"cos, sin = np.cos(angles), np.sin(angles)": "cos, sin = np.cos(angles), -np.sin(angles)"}),
    Mistake("the exponent without its 2", "The hands slow down half as fast as they should: the exponent is 2i/d, "
        "which is i over the number of hands.", {"np.arange(half) / half": "np.arange(half) / (2 * half)"}),
    Mistake("the exponent doubled", "The hands slow down twice as fast as they should: the exponent is 2i/d, which is "
        "i over the number of hands.", {"np.arange(half) / half": "2 * np.arange(half) / half"}),
    Mistake("the number of the row", "Each row was turned by its number. It stands at its place, which is given.",
        {"positions[:, None] *": "np.arange(len(X))[:, None] *"}),
    Mistake("a reflection", "One sign is wrong: the pair is mirrored, not turned.",
        {"a * cos - b * sin": "a * cos + b * sin"}),
    Mistake("the halves exchanged", "The first numbers of the pairs come first.",
        {"[a * cos - b * sin, a * sin + b * cos]": "[a * sin + b * cos, a * cos - b * sin]"}),
    Mistake("all hands at one speed", "Every hand turns at the same speed. Each has its own, which falls with its "
        "number.", {"10_000.0 ** (-np.arange(half) / half)": "np.ones(half)"}),
)  # fmt: skip
