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
