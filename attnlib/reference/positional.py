"""Positional encodings: vectors that are added to the tokens, and rotations of queries and keys.

The book meets eq-simple-index and eq-normalised-index in Chapter 2, and derives eq-sinusoids, eq-shift and eq-relative
in Chapter 4. The twin, where autograd does the backward, is `attnlib.nn.positional`.
"""

import numpy as np

from attnlib import rules
from attnlib.shapes import Array, Float, Int, Number, checked


@checked
def index(n: Number[int, "1.."]) -> Float[Array, "{n}"]:
    """P_t = t: every step is one, and there is no end to it (eq-simple-index).

    >>> index(4)
    array([0., 1., 2., 3.])
    """
    return np.arange(n, dtype=np.float64)  # eq-simple-index


@checked
def normalised_index(n: Number[int, "2.."]) -> Float[Array, "{n}"]:
    """P_t = t / (n - 1): always from 0 to 1, so that a step depends on the length (eq-normalised-index).

    >>> normalised_index(5)
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """
    return index(n) / (n - 1)  # eq-normalised-index


@checked
def wavelengths(d: Number[int, "1.."], base: Number[float, "0<.."] = 10_000.0) -> Float[Array, "pairs"]:
    """After how many positions each pair of coordinates is back where it was: from 2 pi to almost 2 pi times base.

    >>> wavelengths(4).round(2)
    array([  6.28, 628.32])
    """
    return 2 * np.pi * base ** (np.arange(0, d, 2) / d)


@checked
def angles(
    positions: Float[Array, "*b n"] | Int[Array, "*b n"],
    d: Number[int, "1.."],
    base: Number[float, "0<.."] = 10_000.0,
) -> Float[Array, "*b n pairs"]:
    """By which angle each pair of coordinates is rotated at each position.

    >>> angles(np.array([0.0, 1.0]), 4).round(4)
    array([[0.  , 0.  ],
           [1.  , 0.01]])
    """
    return positions[..., None] * (2 * np.pi / wavelengths(d, base))


@checked
def sinusoids(
    n: Number[int, "1.."], d: Number[int, "1.."], base: Number[float, "0<.."] = 10_000.0
) -> Float[Array, "{n} {d}"]:
    """Sines and cosines of falling frequency, side by side: each pair rotates like the hand of a clock (eq-sinusoids).

    >>> sinusoids(2, 2).round(4)
    array([[0.    , 1.    ],
           [0.8415, 0.5403]])
    """
    A = angles(index(n), d, base)
    return np.stack([np.sin(A), np.cos(A)], axis=-1).reshape(n, -1)[:, :d]


@checked
def rotary(
    X: Float[Array, "*b n 2pairs"],
    positions: Float[Array, "*#b n"] | Int[Array, "*#b n"],
    base: Number[float, "0<.."] = 10_000.0,
) -> Float[Array, "*b n 2pairs"]:
    """Rotate each pair of neighbouring coordinates by its angle at the vector's position (eq-relative).

    Queries and keys are rotated, values are not: a score then depends on the distance of the two alone.

    positions    numbers or integers, (n,) for all rows, or (*b, n) for each, with an axis of size one where they agree

    >>> rotary(np.array([[1.0, 0.0]]), np.array([np.pi / 2])).round(12)
    array([[0., 1.]])
    """
    rules.one_row_or_all("rotary", tuple(positions.shape), X.shape[:-1])
    A = angles(positions, X.shape[-1], base)
    return _turn(X, np.cos(A).astype(X.dtype), np.sin(A).astype(X.dtype))


@checked
def rotary_backward(
    dY: Float[Array, "*b n 2pairs"],
    positions: Float[Array, "*#b n"] | Int[Array, "*#b n"],
    base: Number[float, "0<.."] = 10_000.0,
) -> Float[Array, "*b n 2pairs"]:
    """dX: a rotation's transpose rotates back."""
    return rotary(dY, -1.0 * positions, base)


def _turn(
    X: Float[Array, "*b n 2pairs"], cos: Float[Array, "*#b n pairs"], sin: Float[Array, "*#b n pairs"]
) -> Float[Array, "*b n 2pairs"]:
    a, b = X[..., 0::2], X[..., 1::2]
    return np.stack([a * cos - b * sin, a * sin + b * cos], axis=-1).reshape(X.shape)


@checked
def rotary_halves(
    X: Float[Array, "*b n 2pairs"],
    positions: Float[Array, "*#b n"] | Int[Array, "*#b n"],
    base: Number[float, "0<.."] = 10_000.0,
) -> Float[Array, "*b n 2pairs"]:
    """The same with coordinate i and i + d/2 as a pair, Hugging Face's layout of Llama's parameters.

    >>> X = np.array([[1.0, 2.0, 3.0, 4.0]])
    >>> turned = rotary(X[:, to_neighbours(2)], np.array([5.0]))[:, to_halves(2)]
    >>> np.allclose(rotary_halves(X, np.array([5.0])), turned)
    True
    """
    pairs = X.shape[-1] // 2
    return rotary(X[..., to_neighbours(pairs)], positions, base)[..., to_halves(pairs)]


@checked
def rotary_halves_backward(
    dY: Float[Array, "*b n 2pairs"],
    positions: Float[Array, "*#b n"] | Int[Array, "*#b n"],
    base: Number[float, "0<.."] = 10_000.0,
) -> Float[Array, "*b n 2pairs"]:
    """dX: a rotation's transpose rotates back."""
    return rotary_halves(dY, -1.0 * positions, base)


@checked
def to_neighbours(pairs: Number[int, "1.."]) -> Int[Array, "2pairs"]:
    """The order of coordinates that puts each pair (i, i + d/2) side by side.

    >>> to_neighbours(pairs=3)
    array([0, 3, 1, 4, 2, 5])
    """
    return np.arange(2 * pairs).reshape(2, -1).T.ravel()


@checked
def to_halves(pairs: Number[int, "1.."]) -> Int[Array, "2pairs"]:
    """The order that undoes `to_neighbours`.

    >>> to_halves(pairs=3)
    array([0, 2, 4, 1, 3, 5])
    """
    return np.arange(2 * pairs).reshape(-1, 2).T.ravel()
