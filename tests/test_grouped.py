"""Shared keys and values: from multi-head to multi-query, with the slopes collected from each group."""

import numpy as np
import pytest
import torch

from attnlib.nn.grouped import repeat_heads as nn_repeat_heads
from attnlib.nn.multihead import MultiHeadAttention
from attnlib.reference.grouped import repeat_heads, repeat_heads_backward
from attnlib.reference.multihead import (
    MultiHeadParameters,
    grouped_query_attention,
    grouped_query_attention_backward,
    multi_head_attention,
    multi_head_attention_backward,
)
from attnlib.testing import assert_close, central_difference, check_gradients, check_twin

B, N, M, H, D_K = 2, 3, 5, 6, 7
D, D_SOURCE = H * D_K, 11


def random_parameters(rng, groups, d_k=D_K, d=D):
    shapes = [(d, H * d_k), (D_SOURCE, groups * d_k), (D_SOURCE, groups * d_k), (H * d_k, d)]
    matrices = [rng.normal(size=shape) / np.sqrt(shape[0]) for shape in shapes]
    return MultiHeadParameters(*matrices, *(rng.normal(size=W.shape[1]) for W in matrices))


@pytest.fixture
def inputs(rng):
    return rng.normal(size=(B, M, D)), rng.normal(size=(B, N, D_SOURCE))


@pytest.mark.parametrize("groups", [1, 2, 3, 6])
def test_it_equals_plain_attention_with_the_shared_columns_written_out(inputs, groups, rng):
    parameters, mask = random_parameters(rng, groups), rng.random((B, M, N)) < 0.7

    def written_out(W):
        parts = W.reshape(-1, groups, D_K)
        return np.repeat(parts, H // groups, axis=1).reshape(*W.shape[:-1], H * D_K)

    wide = parameters._replace(
        **{name: written_out(getattr(parameters, name)) for name in ["W_K", "W_V", "b_K", "b_V"]}
    )
    Y, cache = grouped_query_attention(*inputs, parameters, H, groups, mask)
    plain, plain_cache = multi_head_attention(*inputs, wide, H, mask)
    assert_close(Y, plain, "float64")
    assert_close(cache.P, plain_cache.P, "float64")
    assert cache.K.shape == (B, groups, N, D_K)


def test_with_as_many_groups_as_heads_it_is_multi_head_attention_bit_by_bit(inputs, rng):
    parameters = random_parameters(rng, H)
    Y, cache = grouped_query_attention(*inputs, parameters, H, H)
    plain, plain_cache = multi_head_attention(*inputs, parameters, H)
    assert np.array_equal(Y, plain)
    dY = rng.normal(size=Y.shape)
    ours = grouped_query_attention_backward(dY, cache)
    expected = multi_head_attention_backward(dY, plain_cache)
    for gradient, other in zip((*ours[:2], *ours[2]), (*expected[:2], *expected[2]), strict=True):
        assert np.array_equal(gradient, other)


@pytest.mark.parametrize("groups", [1, 2])
def test_the_backward_is_the_slope(groups, rng):
    X, source = rng.normal(size=(B, M, 3)), rng.normal(size=(B, N, D_SOURCE))
    parameters = random_parameters(rng, groups, d_k=1, d=3)

    def forward(X, source, *parameters):
        return grouped_query_attention(X, source, MultiHeadParameters(*parameters), H, groups)

    def backward(dY, cache):
        dX, dsource, d_parameters = grouped_query_attention_backward(dY, cache)
        return dX, dsource, *d_parameters

    check_gradients(forward, backward, [X, source, *parameters], rng)


@pytest.mark.parametrize("groups", [1, 2, 6])
def test_the_module_equals_the_reference_and_so_do_its_slopes(inputs, groups, rng):
    parameters, mask = random_parameters(rng, groups), rng.random((B, M, N)) < 0.7
    module = MultiHeadAttention(d_model=D, n_heads=H, n_kv_heads=groups, d_source=D_SOURCE).double()
    check_twin(
        lambda X, source, parameters: grouped_query_attention(X, source, parameters, H, groups, mask),
        grouped_query_attention_backward,
        lambda *inputs: module(*inputs, torch.tensor(mask)),
        inputs,
        rng,
        parameters,
        module,
    )
    _, cache = grouped_query_attention(*inputs, parameters, H, groups, mask)
    given = map(torch.tensor, (*inputs, mask))
    assert_close(cache.P, module.attention_weights(*given), "float64")


def test_repeated_heads_stand_together_and_their_gradients_add(rng):
    K, dR = rng.normal(size=(B, 2, N, D_K)), rng.normal(size=(B, 6, N, D_K))
    R = repeat_heads(K, 3)
    assert all(np.array_equal(R[:, i], K[:, i // 3]) for i in range(6))
    assert np.array_equal(R, nn_repeat_heads(torch.tensor(K), 3).numpy())
    by_steps = central_difference(lambda K: repeat_heads(K, 3), K, dR)
    assert_close(repeat_heads_backward(dR, 3), by_steps, "central difference")


@pytest.mark.bad_input
def test_groups_that_do_not_fit_are_refused(inputs, rng):
    with pytest.raises(
        ValueError, match="n_heads must split evenly into n_kv_heads; got n_heads=6, n_kv_hea"
    ):
        grouped_query_attention(*inputs, random_parameters(rng, 4), H, 4)
    with pytest.raises(
        ValueError,
        match=r"W_K must be \(d_source, g\*d_k\) with g\*d_k=7; got \(\d+, 14\). Parameters are stored",
    ):
        grouped_query_attention(*inputs, random_parameters(rng, 2), H, 1)
