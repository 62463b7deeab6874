"""Gated linear units: slopes, twins, and the network that Llama has."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from attnlib.nn import glu as twin
from attnlib.nn.transformer import FeedForward
from attnlib.reference import glu
from attnlib.reference.glu import GatedParameters, swiglu_feed_forward, swiglu_feed_forward_backward
from attnlib.testing import assert_close, check_gradients, check_twin

B, N, D, HIDDEN = 2, 3, 5, 11
FAMILY = ["glu", "reglu", "geglu", "swiglu"]


@pytest.mark.parametrize("name", FAMILY)
def test_each_has_its_slope_and_its_twin(name, rng):
    arrays = [2 * rng.normal(size=(N, HIDDEN)) for _ in "AG"]
    forward, backward = getattr(glu, name), getattr(glu, f"{name}_backward")
    kept = (lambda A, G: (forward(A, G), (A, G)), lambda dH, cache: backward(dH, *cache))
    check_gradients(*kept, arrays, rng)
    check_twin(*kept, getattr(twin, name), arrays, rng)


def test_pytorchs_own_operator_is_the_first_of_the_family(rng):
    A, G = rng.normal(size=(2, N, HIDDEN))
    assert_close(glu.glu(A, G), F.glu(torch.tensor(np.concatenate([A, G], axis=-1))), "float64")


@pytest.mark.parametrize("name", FAMILY)
def test_a_gate_scales_what_is_said_number_by_number(name, rng):
    A, G = rng.normal(size=(2, N, HIDDEN))
    assert_close(getattr(glu, name)(3 * A, G), 3 * getattr(glu, name)(A, G), "float64")
    assert not np.allclose(getattr(glu, name)(G, A), getattr(glu, name)(A, G))


def parameters(rng):
    shapes = [(D, HIDDEN), (HIDDEN,), (D, HIDDEN), (HIDDEN,), (HIDDEN, D), (D,)]
    return GatedParameters(*(rng.normal(size=shape) / 2 for shape in shapes))


def test_the_gated_network_has_its_slope(rng):
    def forward(X, *learned):
        return swiglu_feed_forward(X, GatedParameters(*learned))

    def backward(dY, cache):
        dX, d_learned = swiglu_feed_forward_backward(dY, cache)
        return dX, *d_learned

    check_gradients(forward, backward, [rng.normal(size=(B, N, D)), *parameters(rng)], rng)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_gated_network_and_all_its_slopes_are_the_modules(dtype, rng):
    module = FeedForward(d_model=D, d_hidden=HIDDEN, activation="swish", gated=True)
    module = module.to(torch.tensor(dtype(0)).dtype)
    learned = GatedParameters(*(array.astype(dtype) for array in parameters(rng)))
    X = rng.normal(size=(B, N, D)).astype(dtype)
    check_twin(swiglu_feed_forward, swiglu_feed_forward_backward, module, [X], rng, learned, module)


def test_a_sigmoid_makes_the_gate_of_the_first_of_the_family(rng):
    module = FeedForward(d_model=D, d_hidden=HIDDEN, activation="sigmoid", gated=True)
    X = torch.tensor(rng.normal(size=(N, D)), dtype=torch.float32)
    assert_close(module(X), module.W_2(twin.glu(module.W_1(X), module.W_G(X))), "float32")
