"""Four normal distributions around the corners of a square: points whose true class probabilities are known.

Chapter 5 tests with them whether a network's confidences are right (calibration). Each cloud has standard deviation 1,
and all four are equally likely, so Bayes' rule gives the probability of each cloud at a point.
"""

import math
from typing import NamedTuple

import numpy as np

from attnlib.reference.ops import softmax
from attnlib.shapes import Array, Float, Int, Number, checked

SIGNS = np.array([[-1.0, -1], [-1, 1], [1, -1], [1, 1]])


class Clouds(NamedTuple):
    """Points, the cloud that each was drawn from, and the true probability of each cloud given the point."""

    X: Float[Array, "n 2"]
    cloud: Int[Array, "n"]
    true: Float[Array, "n 4"]


@checked
def clouds(n: Number[int, "1.."], center: Number[float, "0.."], seed: int = 0) -> Clouds:
    """Points of four clouds, with their centers at (± center, ± center).

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
    """The probability of each cloud at each point, by Bayes' rule: a softmax of linear scores, because X^2 cancels.

    >>> posterior(np.zeros(2), center=1.0)
    array([0.25, 0.25, 0.25, 0.25])
    """
    return softmax(center * X @ SIGNS.T)


@checked
def best_accuracy(center: Number[float, "0.."]) -> float:
    """The accuracy of always predicting the likeliest cloud, with both signs right; no classifier has a higher one.

    >>> round(best_accuracy(0.0), 4)
    0.25
    """
    return (0.5 + 0.5 * math.erf(center / math.sqrt(2))) ** 2
