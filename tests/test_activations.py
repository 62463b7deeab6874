"""Activations: each bend, its slope and its twin."""

import numpy as np
import pytest
import torch

from attnlib.nn import activations as twin
from attnlib.reference import activations
from attnlib.testing import assert_close, central_difference, check_twin

NAMES = ["relu", "gelu", "gelu_tanh", "swish", "sigmoid"]


@pytest.mark.parametrize("name", NAMES)
def test_each_has_its_slope_and_its_twin(name, rng):
    A, dH = 2 * rng.normal(size=(5, 7)), rng.normal(size=(5, 7))
    forward, backward = getattr(activations, name), getattr(activations, f"{name}_backward")
    dA = backward(dH, A)
    assert_close(dA, central_difference(forward, A, dH), "central difference")
    check_twin(lambda A: (forward(A), A), backward, getattr(twin, name), [A], rng)


@pytest.mark.parametrize("name", NAMES)
def test_far_out_nothing_overflows_and_float32_stays_float32(name):
    A = np.array([-1e4, -50.0, 0.0, 50.0, 1e4], dtype=np.float32)
    H = getattr(activations, name)(A)
    dA = getattr(activations, f"{name}_backward")(np.ones_like(A), A)
    assert H.dtype == dA.dtype == np.float32 and np.isfinite(H).all() and np.isfinite(dA).all()
    assert_close(H, getattr(twin, name)(torch.tensor(A)), "float32")


X = np.linspace(-8, 8, 4001)


def test_gelu_is_the_number_times_the_share_of_the_normal_distribution_below_it():
    """By the distribution of SciPy and by PyTorch's error function."""
    stats = pytest.importorskip("scipy.stats")
    assert_close(activations.gelu(X), X * stats.norm.cdf(X), "float64")
    assert_close(activations.gelu(X), X / 2 * (1 + torch.erf(torch.tensor(X) / 2**0.5).numpy()), "float64")


def test_the_two_forms_of_gelu_are_never_more_than_five_ten_thousandths_apart():
    apart = abs(activations.gelu_tanh(X) - activations.gelu(X)).max()
    assert 4e-4 < apart < 5e-4


def test_swish_lies_between_half_the_number_and_the_relu():
    """x sigma(beta x) is swish(beta x) / beta: half of x towards beta = 0, the ReLU far above it."""

    def swish(beta):
        return activations.swish(beta * X) / beta

    assert abs(swish(1e-9) - X / 2).max() < 1e-6
    assert abs(swish(1e9) - activations.relu(X)).max() < 1e-6
    between = np.stack([X / 2, swish(1.0), activations.relu(X)])
    assert (np.diff(between, axis=0) >= 0).all()
