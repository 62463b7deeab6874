"""Self- and cross-attention are one layer read two ways; their slopes, their twins and what they never do."""

import numpy as np
import pytest
import torch

from attnlib.nn.layers import CrossAttention, SelfAttention
from attnlib.reference.attention import AttentionParameters
from attnlib.reference.layers import (
    cross_attention,
    cross_attention_backward,
    self_attention,
    self_attention_backward,
)
from attnlib.reference.masks import causal_mask, combine_masks, padding_mask
from attnlib.testing import assert_close, check_gradients, check_twin

B, N, M, D_K, D_V, D_MODEL, D_SOURCE = 2, 3, 5, 7, 11, 13, 17


def parameters_for(rng, d_model, d_source):
    return AttentionParameters(
        *(rng.normal(size=shape) / 3 for shape in [(d_model, D_K), (d_source, D_K), (d_source, D_V)])
    )


def test_self_attention_and_its_slope_equal_the_twin(rng):
    X, parameters = rng.normal(size=(B, M, D_MODEL)), parameters_for(rng, D_MODEL, D_MODEL)
    mask = combine_masks(causal_mask(M), padding_mask(np.array([3, 5]), M))

    def forward(X, *parameters):
        return self_attention(X, AttentionParameters(*parameters), mask)

    def backward(dO, cache):
        dX, d_parameters = self_attention_backward(dO, cache)
        return dX, *d_parameters

    check_gradients(forward, backward, [X, *parameters], rng)
    module = SelfAttention(d_model=D_MODEL, d_k=D_K, d_v=D_V).double()
    check_twin(
        lambda X, parameters: self_attention(X, parameters, mask),
        self_attention_backward,
        lambda X: module(X, torch.tensor(mask)),
        [X],
        rng,
        parameters,
        module.layer,
    )
    _, cache = forward(X, *parameters)
    assert_close(cache.P, module.attention_weights(*map(torch.tensor, (X, mask))), "float64")


def test_cross_attention_and_its_slope_equal_the_twin(rng):
    X, source, parameters = (
        rng.normal(size=(B, M, D_MODEL)),
        rng.normal(size=(B, N, D_SOURCE)),
        parameters_for(rng, D_MODEL, D_SOURCE),
    )

    def forward(X, source, *parameters):
        return cross_attention(X, source, AttentionParameters(*parameters))

    def backward(dO, cache):
        dX, dsource, d_parameters = cross_attention_backward(dO, cache)
        return dX, dsource, *d_parameters

    check_gradients(forward, backward, [X, source, *parameters], rng)
    module = CrossAttention(d_model=D_MODEL, d_source=D_SOURCE, d_k=D_K, d_v=D_V).double()
    check_twin(cross_attention, cross_attention_backward, module, [X, source], rng, parameters, module.layer)
    O, cache = forward(X, source, *parameters)
    assert O.shape == (B, M, D_V)
    assert_close(cache.P, module.attention_weights(*map(torch.tensor, (X, source))), "float64")


def test_self_attention_is_cross_attention_to_oneself_with_the_gradients_added(rng):
    X, parameters = rng.normal(size=(B, M, D_MODEL)), parameters_for(rng, D_MODEL, D_MODEL)
    O, cache = self_attention(X, parameters)
    crossed, cross_cache = cross_attention(X, X, parameters)
    assert np.array_equal(O, crossed)
    dO = rng.normal(size=O.shape)
    d_asking, d_asked, _ = cross_attention_backward(dO, cross_cache)
    assert_close(self_attention_backward(dO, cache)[0], d_asking + d_asked, "float64")


def test_permuting_the_sequence_permutes_the_output(rng):
    X, parameters, order = (
        rng.normal(size=(M, D_MODEL)),
        parameters_for(rng, D_MODEL, D_MODEL),
        rng.permutation(M),
    )
    assert_close(self_attention(X[order], parameters)[0], self_attention(X, parameters)[0][order], "float64")


def test_under_a_causal_mask_nothing_depends_on_the_future(rng):
    X, parameters = rng.normal(size=(M, D_MODEL)), parameters_for(rng, D_MODEL, D_MODEL)
    whole, cache = self_attention(X, parameters, causal_mask(M))
    for t in range(1, M + 1):
        assert_close(self_attention(X[:t], parameters)[0][-1], whole[t - 1], "float64")
        dO = np.zeros_like(whole)
        dO[t - 1] = rng.normal(size=D_V)
        dX, _ = self_attention_backward(dO, cache)
        assert not dX[t:].any() and dX[:t].any()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_goes_in_in_one_precision_comes_out_in_it(rng, dtype):
    X = rng.normal(size=(M, D_MODEL)).astype(dtype)
    parameters = AttentionParameters(*(W.astype(dtype) for W in parameters_for(rng, D_MODEL, D_MODEL)))
    O, cache = self_attention(X, parameters)
    dX, d_parameters = self_attention_backward(O, cache)
    assert all(array.dtype == dtype for array in (O, dX, *d_parameters))


@pytest.mark.bad_input
def test_the_input_that_does_not_fit_is_named(rng):
    parameters = parameters_for(rng, D_MODEL, D_SOURCE)
    with pytest.raises(
        ValueError, match=r"cross_attention: X and source must have the same batch axes; got X"
    ):
        cross_attention(np.ones((2, 3, D_MODEL)), np.ones((3, D_SOURCE)), parameters)
    with pytest.raises(
        ValueError, match=r"X and parameters.W_K must have the same width d_model; got X \(3, 13\)"
    ):
        self_attention(np.ones((3, D_MODEL)), parameters)
    with pytest.raises(TypeError, match="self_attention: X must hold real floating-point numbers; got int64"):
        self_attention(np.ones((3, D_MODEL), dtype=int), parameters)
