"""A law of loss in size and text is found again, and its best size is the best (book: compute-data-size)."""

import math

import numpy as np
import pytest

from attnlib.metrics.scaling_law import ScalingLaw, Shape, best_of, derivative, fitted

LAW = ScalingLaw(1.2, 40.0, 0.45, 30.0, 0.35)


def points(law: ScalingLaw = LAW) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    N, D = (axis.ravel() for axis in np.meshgrid(np.geomspace(1e4, 1e6, 5), np.geomspace(1e6, 1e8, 7)))
    return N, D, np.array([law.loss(*one) for one in zip(N, D, strict=True)])


@pytest.mark.parametrize("floor", [None, 1.2])
def test_a_law_is_found_again_from_its_own_points(floor: float | None) -> None:
    found = fitted(*points(), floor=floor)
    assert all(math.isclose(ours, true, rel_tol=0.02) for ours, true in zip(found, LAW, strict=True)), found
    assert math.isclose(found.best_size(1e15), LAW.best_size(1e15), rel_tol=0.01)


def test_the_best_size_is_the_least_loss_at_the_budget() -> None:
    for budget in (1e11, 1e15, 5.76e23):
        N = LAW.best_size(budget)
        best = LAW.loss(N, budget / (6 * N))
        assert all(LAW.loss(N * k, budget / (6 * N * k)) > best for k in (0.9, 0.99, 1.01, 1.1))


def test_what_is_above_the_floor_is_shared_as_the_exponents_are_crossed() -> None:
    N = LAW.best_size(1e14)
    of_size, of_text = LAW.A / N**LAW.a, LAW.B / (1e14 / 6 / N) ** LAW.b
    assert math.isclose(of_size / of_text, LAW.b / LAW.a)


def test_with_attention_counted_the_best_is_where_the_derivative_is_zero() -> None:
    shape = Shape(3, 64, 32)
    for budget in (1e11, 1e13, 1e16):
        N = best_of(LAW, budget, shape)

        def loss(x: float, budget: float = budget) -> float:
            return LAW.loss(math.exp(x), budget / shape.operations(math.exp(x)))

        x = math.log(N)
        assert loss(x) < min(loss(x - 0.01), loss(x + 0.01))
        slope = (loss(x + 1.01) - loss(x + 0.99)) / 0.02
        assert math.isclose(derivative(LAW, math.exp(x + 1), budget, shape), slope, rel_tol=1e-4)


def test_published_constants_give_the_published_disagreement() -> None:
    """Hoffmann and others (2022) as printed, and the refit of Besiroglu and others (2024)."""
    for law, ratio in (
        (ScalingLaw(1.69, 406.4, 0.34, 410.7, 0.28), 92.6),
        (ScalingLaw(1.8172, 482.01, 0.3478, 2085.43, 0.3658), 18.4),
    ):
        N = law.best_size(5.76e23)
        assert math.isclose(5.76e23 / 6 / N / N, ratio, rel_tol=0.003)
