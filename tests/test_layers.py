"""Self- and cross-attention are one layer read two ways; their slopes, their twins and what they never do."""

import numpy as np
import pytest
import torch

from attnlib.nn.layers import CrossAttention, SelfAttention
from attnlib.reference.attention import AttentionWeights
from attnlib.reference.layers import (
    cross_attention,
    cross_attention_backward,
    self_attention,
    self_attention_backward,
)
from attnlib.reference.masks import causal_mask, combine_masks, padding_mask
from attnlib.testing import assert_close, check_gradients, check_twin

B, N, M, D_K, D_V, D_X, D_Y = 2, 3, 5, 7, 11, 13, 17


def weights_for(rng, d_x, d_y):
    return AttentionWeights(*(rng.normal(size=shape) / 3 for shape in [(d_x, D_K), (d_y, D_K), (d_y, D_V)]))


def test_self_attention_and_its_slope_equal_the_twin(rng):
    X, weights = rng.normal(size=(B, M, D_X)), weights_for(rng, D_X, D_X)
    mask = combine_masks(causal_mask(M), padding_mask(np.array([3, 5]), M))

    def forward(X, *weights):
        return self_attention(X, AttentionWeights(*weights), mask)

    def backward(dO, cache):
        dX, d_weights = self_attention_backward(dO, cache)
        return dX, *d_weights

    check_gradients(forward, backward, [X, *weights], rng)
    module = SelfAttention(d_model=D_X, d_k=D_K, d_v=D_V).double()
    check_twin(
        lambda X, weights: self_attention(X, weights, mask),
        self_attention_backward,
        lambda X: module(X, torch.tensor(mask)),
        [X],
        rng,
        weights,
        module.layer,
    )
    _, cache = forward(X, *weights)
    assert_close(cache.attention.P, module.attention_weights(*map(torch.tensor, (X, mask))), "float64")


def test_cross_attention_and_its_slope_equal_the_twin(rng):
    X, Y, weights = rng.normal(size=(B, M, D_X)), rng.normal(size=(B, N, D_Y)), weights_for(rng, D_X, D_Y)

    def forward(X, Y, *weights):
        return cross_attention(X, Y, AttentionWeights(*weights))

    def backward(dO, cache):
        dX, dY, d_weights = cross_attention_backward(dO, cache)
        return dX, dY, *d_weights

    check_gradients(forward, backward, [X, Y, *weights], rng)
    module = CrossAttention(d_model=D_X, d_source=D_Y, d_k=D_K, d_v=D_V).double()
    check_twin(cross_attention, cross_attention_backward, module, [X, Y], rng, weights, module.layer)
    O, cache = forward(X, Y, *weights)
    assert O.shape == (B, M, D_V)
    assert_close(cache.attention.P, module.attention_weights(*map(torch.tensor, (X, Y))), "float64")


def test_self_attention_is_cross_attention_to_oneself_with_the_gradients_added(rng):
    X, weights = rng.normal(size=(B, M, D_X)), weights_for(rng, D_X, D_X)
    O, cache = self_attention(X, weights)
    crossed, cross_cache = cross_attention(X, X, weights)
    assert np.array_equal(O, crossed)
    dO = rng.normal(size=O.shape)
    d_asking, d_asked, _ = cross_attention_backward(dO, cross_cache)
    assert_close(self_attention_backward(dO, cache)[0], d_asking + d_asked, "float64")


def test_permuting_the_sequence_permutes_the_output(rng):
    X, weights, order = rng.normal(size=(M, D_X)), weights_for(rng, D_X, D_X), rng.permutation(M)
    assert_close(self_attention(X[order], weights)[0], self_attention(X, weights)[0][order], "float64")


def test_under_a_causal_mask_nothing_depends_on_the_future(rng):
    X, weights = rng.normal(size=(M, D_X)), weights_for(rng, D_X, D_X)
    whole, cache = self_attention(X, weights, causal_mask(M))
    for t in range(1, M + 1):
        assert_close(self_attention(X[:t], weights)[0][-1], whole[t - 1], "float64")
        dO = np.zeros_like(whole)
        dO[t - 1] = rng.normal(size=D_V)
        dX, _ = self_attention_backward(dO, cache)
        assert not dX[t:].any() and dX[:t].any()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_goes_in_in_one_precision_comes_out_in_it(rng, dtype):
    X = rng.normal(size=(M, D_X)).astype(dtype)
    weights = AttentionWeights(*(W.astype(dtype) for W in weights_for(rng, D_X, D_X)))
    O, cache = self_attention(X, weights)
    dX, d_weights = self_attention_backward(O, cache)
    assert all(array.dtype == dtype for array in (O, dX, *d_weights))


@pytest.mark.bad_input
def test_the_input_that_does_not_fit_is_named(rng):
    weights = weights_for(rng, D_X, D_Y)
    with pytest.raises(ValueError, match=r"cross_attention: X and Y must have the same batch axes; got X"):
        cross_attention(np.ones((2, 3, D_X)), np.ones((3, D_Y)), weights)
    with pytest.raises(
        ValueError, match=r"X and weights.W_K must have the same width d_model; got X \(3, 13\)"
    ):
        self_attention(np.ones((3, D_X)), weights)
    with pytest.raises(TypeError, match="self_attention: X must hold real floating-point numbers; got int64"):
        self_attention(np.ones((3, D_X), dtype=int), weights)
