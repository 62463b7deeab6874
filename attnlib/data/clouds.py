"""Four clouds of points around the corners of a square, so that the true probability of each cloud is known.

Chapter 5 asks of a network whether it is right as often as it says (calibration). Each cloud is a normal distribution
with standard deviation 1, and as likely as the others; a point's coordinates tell how probable each cloud is.
"""

import math
from typing import NamedTuple

import numpy as np

from attnlib.reference.ops import softmax
from attnlib.shapes import Array, Float, Int, Number, checked

SIGNS = np.array([[-1.0, -1], [-1, 1], [1, -1], [1, 1]])


class Clouds(NamedTuple):
    """Points, the cloud that each was drawn from, and the probability of each cloud for somebody who sees the point."""

    X: Float[Array, "n 2"]
    cloud: Int[Array, "n"]
    true: Float[Array, "n 4"]


@checked
def clouds(n: Number[int, "1.."], center: Number[float, "0.."], seed: int = 0) -> Clouds:
    """Points of four clouds, whose middles stand at (± center, ± center).

    >>> drawn = clouds(3, center=1.0)
    >>> drawn.X.shape, drawn.true.sum(axis=1).round(9).tolist()
    ((3, 2), [1.0, 1.0, 1.0])
    """
    rng = np.random.default_rng(seed)
    cloud = rng.integers(4, size=n)
    X = center * SIGNS[cloud] + rng.normal(size=(n, 2))
    return Clouds(X, cloud, posterior(X, center))


@checked
def posterior(X: Float[Array, "*b 2"], center: Number[float, "0.."]) -> Float[Array, "*b 4"]:
    """How probable each cloud is at each point (Bayes): the squares of X cancel, so it is a softmax of a linear map.

    >>> posterior(np.zeros(2), center=1.0)
    array([0.25, 0.25, 0.25, 0.25])
    """
    return softmax(center * X @ SIGNS.T)


@checked
def best_accuracy(center: Number[float, "0.."]) -> float:
    """How often the likeliest cloud is the right one: both signs must be right. Nobody is right more often.

    >>> round(best_accuracy(0.0), 4)
    0.25
    """
    return (0.5 + 0.5 * math.erf(center / math.sqrt(2))) ** 2
