"""A law of loss in size and text, the text that a budget pays for, and the best size at a budget.

The book derives it in eq-scaling-law and eq-best-size (Chapter 5, compute-data-size).
"""

import math
from typing import NamedTuple

import numpy as np

from attnlib.shapes import Array


class ScalingLaw(NamedTuple):
    """E + A / N^a + B / D^b, for N parameters and D tokens; eq-scaling-law."""

    E: float  # what no size and no text removes: the entropy rate of the language
    A: float
    a: float
    B: float
    b: float

    def loss(self, N: float, D: float) -> float:
        """
        >>> ScalingLaw(1.0, 10.0, 0.5, 20.0, 0.5).loss(100, 400)
        3.0
        """
        return self.E + self.A / N**self.a + self.B / D**self.b

    def best_size(self, budget: float) -> float:
        """The number of parameters at which the loss is least, where training costs 6 N D; eq-best-size.

        >>> ScalingLaw(1.0, 10.0, 0.5, 10.0, 0.5).best_size(6 * 10_000)
        100.0
        """
        total = self.a + self.b
        factor = (self.a * self.A / (self.b * self.B)) ** (1 / total)
        return factor * (budget / 6) ** (self.b / total)


class Shape(NamedTuple):
    """What GPTs have in common that differ in their width alone; feed-forward networks are four times as wide."""

    layers: int
    vocab: int
    context: int  # tokens in each text

    def width(self, N: float) -> float:
        """The width at which the matrices of blocks and scores have N numbers; not rounded.

        >>> Shape(layers=3, vocab=64, context=32).width(36 * 48**2 + 64 * 48)
        48.0
        """
        return (math.sqrt(self.vocab**2 + 48 * self.layers * N) - self.vocab) / (24 * self.layers)

    def operations(self, N: float) -> float:
        """Of training on one token: 6 for each parameter and each number that attention compares or averages."""
        return 6 * (N + 2 * self.layers * self.context * self.width(N))


def best_of(law: ScalingLaw, budget: float, shape: Shape) -> float:
    """The size at which the loss is least where attention is counted, too, found by halving an interval.

    >>> law = ScalingLaw(1.0, 40.0, 0.45, 30.0, 0.35)
    >>> round(best_of(law, 1e13, Shape(3, 64, 32)) / law.best_size(1e13), 2)
    1.01
    """
    low, high = 0.0, math.log(1e12)
    for _ in range(100):
        middle = (low + high) / 2
        falls = derivative(law, math.exp(middle), budget, shape) < 0
        low, high = (middle, high) if falls else (low, middle)
    return math.exp(low)


def derivative(law: ScalingLaw, N: float, budget: float, shape: Shape) -> float:
    """How the loss at a budget changes with ln N."""
    each, d = shape.operations(N), shape.width(N)
    dearer = 6 * N * (1 + 2 * shape.layers * shape.context / (24 * shape.layers * d + shape.vocab)) / each
    return -law.a * law.A / N**law.a + law.b * law.B / (budget / each) ** law.b * dearer


def fitted(N: Array, D: Array, losses: Array, floor: float | None = None) -> ScalingLaw:
    """The law through measured losses, by least squares of their relative errors.

    For given exponents the law is linear in E, A and B. The exponents are searched on a grid around the best pair,
    which becomes finer in each round.

    floor    E, where it is known: then the errors are relative to what is above it
    """
    losses = losses - (floor or 0.0)
    best, reach = (math.inf, ScalingLaw(floor or 0.0, 0.0, 0.75, 0.0, 0.75)), 0.75
    for _ in range(12):
        a, b = best[1].a, best[1].b
        steps = np.linspace(-reach, reach, 9)
        tried = [
            _at(N, D, losses, a + i, b + j, floor) for i in steps for j in steps if min(a + i, b + j) > 0.01
        ]
        best, reach = min([best, *tried], key=lambda one: one[0]), reach / 2
    return best[1]


def _at(
    N: Array, D: Array, losses: Array, a: float, b: float, floor: float | None
) -> tuple[float, ScalingLaw]:
    """The squared error and the law for given exponents; no term may be negative."""
    small, little = N.min(), D.min()  # near one, the powers make a system that is solved well
    terms = np.stack([np.ones(len(N)), (N / small) ** -a, (D / little) ** -b], axis=1)
    weighted = terms[:, 1 if floor is not None else 0 :] / losses[:, None]
    X = np.linalg.lstsq(weighted, np.ones(len(N)), rcond=None)[0]
    error = float(((weighted @ X - 1) ** 2).sum()) if (X >= 0).all() else math.inf
    E, A, B = (floor, *X) if floor is not None else X
    return error, ScalingLaw(float(E), float(A * small**a), a, float(B * little**b), b)
