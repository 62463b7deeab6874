"""The measuring tools catch what they are meant to catch."""

from contextlib import nullcontext
from typing import NamedTuple

import numpy as np
import pytest
import torch

from attnlib.nn.attention import AttentionLayer
from attnlib.nn.scores import AdditiveScore
from attnlib.reference.attention import AttentionParameters
from attnlib.reference.ops import softmax, softmax_backward
from attnlib.reference.scores import additive_scores
from attnlib.testing import (
    assert_close,
    central_difference,
    check_gradients,
    check_twin,
    copy_parameters,
    tolerance,
)


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


def test_parameters_are_copied_with_the_one_transpose(rng):
    parameters = AttentionParameters(*(rng.normal(size=shape) for shape in [(2, 3), (5, 3), (5, 7)]))
    module = AttentionLayer(d_model=2, d_source=5, d_k=3, d_v=7).double()
    copy_parameters(parameters, module)
    assert torch.equal(module.W_Q.weight, torch.tensor(parameters.W_Q.T))


def test_parameters_that_are_a_view_read_backwards_are_copied_too(rng):
    """PyTorch knows no negative strides."""
    forwards = AttentionParameters(*(rng.normal(size=shape) for shape in [(2, 3), (5, 3), (5, 7)]))
    module = AttentionLayer(d_model=2, d_source=5, d_k=3, d_v=7).double()
    copy_parameters(AttentionParameters(*(W[:, ::-1] for W in forwards)), module)
    assert torch.equal(module.W_V.weight, torch.tensor(forwards.W_V.T).flip(0))


def test_parameters_that_do_not_fit_are_refused_and_nothing_is_changed(rng):
    module = AttentionLayer(d_model=2, d_source=5, d_k=3, d_v=7).double()
    before = {name: value.clone() for name, value in module.state_dict().items()}
    wrong = AttentionParameters(*(rng.normal(size=shape) for shape in [(2, 3), (5, 3), (7, 5)]))
    with pytest.raises(
        ValueError, match=r"copy_parameters: W_V must be \(in, out\) = \(5, 7\); got \(7, 5\)"
    ):
        copy_parameters(wrong, module)
    assert all(torch.equal(before[name], value) for name, value in module.state_dict().items())


def test_parameters_outside_a_map_are_copied_as_they_are(rng):
    class Parameters(NamedTuple):
        W_q: np.ndarray
        W_k: np.ndarray
        v: np.ndarray

    parameters = Parameters(*(rng.normal(size=shape) for shape in [(2, 3), (5, 3), (3,)]))
    module = AdditiveScore(d_q=2, d_k=5, d_a=3).double()
    copy_parameters(parameters, module)
    Q, K = rng.normal(size=(7, 2)), rng.normal(size=(11, 5))
    assert_close(module(torch.tensor(Q), torch.tensor(K)), additive_scores(Q, K, *parameters)[0], "float64")
    with pytest.raises(
        ValueError, match="copy_parameters: AttentionLayer must have a parameter W_q; it has none"
    ):
        copy_parameters(parameters, AttentionLayer(d_model=2, d_source=5, d_k=3, d_v=7))


def test_tensors_can_be_compared_with_arrays_even_where_numpy_lacks_the_dtype():
    values = np.array([1.0, 2.0], dtype=np.float32)
    assert_close(torch.tensor(values, requires_grad=True), values, "float32")
    assert_close(torch.tensor([1.001, 2.0], dtype=torch.bfloat16), values, "bfloat16")
    with pytest.raises(AssertionError):
        assert_close(torch.tensor([1.1, 2.0], dtype=torch.bfloat16), values, "bfloat16")


def test_a_gradient_too_few_is_noticed(rng):
    X = rng.normal(size=(3, 5))
    with pytest.raises(ValueError, match="shorter"):
        check_gradients(lambda X, Y: (X + Y, None), lambda dY, cache: (dY,), [X, X], rng)


class Line(NamedTuple):
    W_1: np.ndarray
    b_1: np.ndarray


@pytest.mark.parametrize("wrong", [None, "output", 0, 1, 2])
def test_a_twin_is_compared_in_its_output_and_in_every_gradient(wrong, rng):
    module = torch.nn.Module()
    module.W_1 = torch.nn.Linear(2, 3).double()

    def forward(X, line):
        return X @ line.W_1 + line.b_1 + (wrong == "output"), (X, line)

    def backward(dY, cache):
        X, line = cache
        gradients = [dY @ line.W_1.T, X.T @ dY, dY.sum(axis=0)]
        if wrong in (0, 1, 2):
            gradients[wrong] = gradients[wrong] + 1e-6
        return gradients[0], Line(*gradients[1:])

    line = Line(rng.normal(size=(2, 3)), rng.normal(size=3))
    with pytest.raises(AssertionError) if wrong is not None else nullcontext():
        check_twin(forward, backward, lambda X: module.W_1(X), [rng.normal(size=(5, 2))], rng, line, module)
