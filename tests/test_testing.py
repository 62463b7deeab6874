"""The measuring tools catch what they are meant to catch."""

import numpy as np
import pytest
import torch

from attnlib.nn.attention import AttentionLayer
from attnlib.reference.attention import AttentionWeights
from attnlib.reference.ops import softmax, softmax_backward
from attnlib.testing import assert_close, central_difference, check_gradients, copy_weights, tolerance


def with_output(X):
    P = softmax(X)
    return P, P


@pytest.mark.parametrize(
    "wrong",
    [
        lambda dP, P: np.zeros_like(P),
        lambda dP, P: 0.5 * softmax_backward(dP, P),
        lambda dP, P: -softmax_backward(dP, P),
        lambda dP, P: P * dP,
    ],
    ids=["zeros", "half", "sign flipped", "without the sum"],
)
def test_a_wrong_backward_does_not_pass(wrong, rng):
    X = rng.normal(size=(3, 5))
    check_gradients(with_output, softmax_backward, [X], rng)
    with pytest.raises(AssertionError):
        check_gradients(with_output, wrong, [X], rng)


def test_central_differences_leave_their_input_alone():
    X = np.array([1.0, 2.0])
    central_difference(lambda X: X**3, X, np.ones(2))
    assert np.array_equal(X, [1.0, 2.0])


def test_close_means_equal_shapes_too():
    with pytest.raises(AssertionError, match="shapes"):
        assert_close(np.ones(3), np.ones((1, 3)), "float64")
    with pytest.raises(ValueError, match="kind must be one of float64, .*; got 'float128'"):
        tolerance("float128")


def test_weights_are_copied_with_the_one_transpose(rng):
    weights = AttentionWeights(*(rng.normal(size=shape) for shape in [(2, 3), (5, 3), (5, 7)]))
    module = AttentionLayer(d_query=2, d_input=5, d_k=3, d_v=7).double()
    copy_weights(weights, module)
    assert torch.equal(module.W_Q.weight, torch.tensor(weights.W_Q.T))


def test_weights_that_do_not_fit_are_refused_and_nothing_is_changed(rng):
    module = AttentionLayer(d_query=2, d_input=5, d_k=3, d_v=7).double()
    before = {name: value.clone() for name, value in module.state_dict().items()}
    wrong = AttentionWeights(*(rng.normal(size=shape) for shape in [(2, 3), (5, 3), (7, 5)]))
    with pytest.raises(ValueError, match=r"copy_weights: W_V must be \(in, out\) = \(5, 7\); got \(7, 5\)"):
        copy_weights(wrong, module)
    assert all(torch.equal(before[name], value) for name, value in module.state_dict().items())
