"""How far away attention is: the mean distance and the histogram of offsets.

Book: patterns-and-entropy (eq-mean-distance, eq-offset-histogram). Rows and columns of P are the same n positions.
Each row counts by the sum of its weights, so a query that may attend to nothing does not count.
"""

import numpy as np

from attnlib import rules
from attnlib.shapes import Array, Float, Int, checked


@checked
def mean_distance(P: Float[Array, "*b m n"]) -> Float[Array, "*b"] | np.floating:
    """The mean distance between query and key, weighted by the attention weights (eq-mean-distance).

    >>> mean_distance(np.array([[0.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.5, 0.0, 0.5]]))  # distances 1, 0 and 2 or 0
    np.float64(0.6666666666666666)
    """
    mass = _check_square("mean_distance", P)
    i = np.arange(P.shape[-1])
    return (P * abs(i - i[:, None])).sum(axis=(-2, -1)) / mass  # eq-mean-distance  (*b)


@checked
def offset_histogram(P: Float[Array, "*b m n"]) -> Float[Array, "*b offsets"]:
    """The share of all weight at each offset o = j - i of key and query, o = -(n-1) ... n-1 (eq-offset-histogram).

    For uniform attention it is a triangle, not flat: there are more pairs at small offsets than at large ones.

    >>> offset_histogram(np.array([[0.0, 1.0], [0.5, 0.5]]))
    array([0.25, 0.25, 0.5 ])
    """
    mass = _check_square("offset_histogram", P)
    lines = [np.trace(P, o, axis1=-2, axis2=-1) for o in offsets(P.shape[-1])]
    return np.stack(lines, axis=-1) / np.expand_dims(mass, -1)  # eq-offset-histogram  (*b, 2n-1)


def offsets(n: int) -> Int[Array, "offsets"]:
    """The offsets that the entries of `offset_histogram` belong to.

    >>> offsets(3).tolist()
    [-2, -1, 0, 1, 2]
    """
    return np.arange(1 - n, n)


def _check_square(who: str, P: Float[Array, "*b n m"]) -> Float[Array, "*b"]:
    """The total weight of each matrix, which must be square and not all zeros."""
    rules.probabilities(who, P)
    if P.shape[-1] != P.shape[-2]:
        raise ValueError(
            f"{who}: a distance needs queries and keys at the same positions; got P {P.shape} with "
            f"m={P.shape[-2]} and n={P.shape[-1]}. Cross-attention has none."
        )
    mass = np.asarray(P.sum(axis=(-2, -1)))
    if not (mass > 0).all():
        raise ValueError(f"{who}: some query must attend to a key; got a matrix of zeros in P {P.shape}.")
    return mass
