"""A gate on each head: at one nothing changes, at zero the head is gone, and its slope is the head's importance."""

import numpy as np
import pytest
import torch

from attnlib.nn import gates as nn_gates
from attnlib.nn.multihead import MultiHeadAttention
from attnlib.reference import gates
from attnlib.reference.multihead import MultiHeadParameters, multi_head_as_sum, multi_head_attention
from attnlib.testing import assert_close, check_gradients, check_twin

B, N, M, H, D_K = 2, 3, 5, 3, 7
D = H * D_K


@pytest.fixture
def layer(rng):
    matrices = [rng.normal(size=(D, D)) / np.sqrt(D) for _ in range(4)]
    parameters = MultiHeadParameters(*matrices, *(rng.normal(size=D) for _ in range(4)))
    return rng.normal(size=(B, M, D)), rng.normal(size=(B, N, D)), parameters


def test_gates_of_one_change_nothing_and_a_gate_of_zero_takes_the_head_out(layer):
    Y, _ = multi_head_attention(*layer, H)
    gated, _ = gates.gated_multi_head_attention(*layer, np.ones(H))
    assert np.array_equal(gated, Y)
    without, cache = gates.gated_multi_head_attention(*layer, np.array([1.0, 0.0, 1.0]))
    assert_close(without, Y - multi_head_as_sum(*layer, H)[1].C[:, 1], "float64")
    assert cache.heads.P.shape == (B, H, M, N)


@pytest.mark.parametrize("shape", [(H,), (B, H)])
def test_the_backward_is_the_slope_and_equals_the_twin(shape, rng):
    Z, g = rng.normal(size=(B, H, M, D_K)), rng.normal(size=shape)
    check_gradients(gates.gate_heads, gates.gate_heads_backward, [Z, g], rng)
    check_twin(gates.gate_heads, gates.gate_heads_backward, nn_gates.gate_heads, [Z, g], rng)


@pytest.mark.parametrize("shape", [(H,), (B, H)])
def test_the_whole_layer_and_its_slope_equal_the_twin(layer, shape, rng):
    (X, source, parameters), g, mask = layer, rng.normal(size=shape), rng.random((B, M, N)) < 0.7
    module = MultiHeadAttention(d_model=D, n_heads=H).double()

    def forward(X, source, g, parameters):
        return gates.gated_multi_head_attention(X, source, parameters, g, mask)

    def backward(dY, cache):
        dX, dsource, d_parameters, dg = gates.gated_multi_head_attention_backward(dY, cache)
        return dX, dsource, dg, d_parameters

    def twin(X, source, g):
        with nn_gates.gated_heads(module, g):
            return module(X, source, torch.tensor(mask))

    check_twin(forward, backward, twin, [X, source, g], rng, parameters, module)


def test_the_slope_by_finite_differences_of_the_whole_layer(layer, rng):
    X, source, parameters = layer

    def forward(X, source, gates_):
        return gates.gated_multi_head_attention(X, source, parameters, gates_)

    def backward(dY, cache):
        dX, dsource, _, d_gates = gates.gated_multi_head_attention_backward(dY, cache)
        return dX, dsource, d_gates

    check_gradients(forward, backward, [X, source, rng.normal(size=H)], rng)


def test_the_gates_slope_is_the_part_of_the_loss_that_is_the_heads_own(layer, rng):
    Y, cache = gates.gated_multi_head_attention(*layer, np.ones(H))
    dY = rng.normal(size=Y.shape)
    *_, d_gates = gates.gated_multi_head_attention_backward(dY, cache)
    C = multi_head_as_sum(*layer, H)[1].C
    assert_close(d_gates, (C * dY[:, None]).sum(axis=(0, 2, 3)), "float64")


def test_after_the_block_the_module_is_as_before():
    module, X = MultiHeadAttention(d_model=6, n_heads=3), torch.ones(1, 2, 6)
    before = module(X)
    with pytest.raises(RuntimeError, match="on purpose"), nn_gates.gated_heads(module, torch.zeros(3)):
        assert torch.allclose(module(X), module.W_O.bias.expand(1, 2, 6))
        raise RuntimeError("on purpose")
    assert torch.equal(module(X), before)


@pytest.mark.bad_input
@pytest.mark.parametrize("module", [gates, nn_gates], ids=["reference", "nn"])
def test_gates_that_do_not_fit_are_refused(module):
    ones = np.ones if module is gates else torch.ones
    with pytest.raises(
        ValueError, match=r"Z and gates must have the same number of heads h; got Z .* with h=3 and gates"
    ):
        module.gate_heads(ones((2, 3, 5, 7)), ones((2,)))
    with pytest.raises(
        ValueError, match=r"gate_heads: Z needs three axes or more, \(\*b, h, m, d_v\); got \(5, 7\)"
    ):
        module.gate_heads(ones((5, 7)), ones((5,)))
