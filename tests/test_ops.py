"""Softmax and its relatives: equal to PyTorch's, with slopes equal to central differences, and finite everywhere."""

import math

import numpy as np
import pytest
import torch

from attnlib.nn import ops as nn_ops
from attnlib.reference import ops
from attnlib.testing import assert_close, central_difference, check_gradients, check_twin

B, N, M, D_K, D_V = 2, 3, 5, 7, 11


def slopes_of_twin(function, arrays, dY):
    leaves = [torch.tensor(array, requires_grad=True) for array in arrays]
    (function(*leaves) * torch.tensor(dY)).sum().backward()
    return [leaf.grad.numpy() for leaf in leaves]


UNARY = {
    "length": (ops.length, ops.length_backward, nn_ops.length, "input"),
    "unit": (ops.unit, ops.unit_backward, nn_ops.unit, "input"),
    "softmax": (ops.softmax, ops.softmax_backward, nn_ops.softmax, "output"),
    "log_sum_exp": (ops.log_sum_exp, ops.log_sum_exp_backward, nn_ops.log_sum_exp, "input"),
    "log_softmax": (ops.log_softmax, ops.log_softmax_backward, nn_ops.log_softmax, "output"),
}


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("shape", [(M,), (N, M), (B, N, M)])
def test_an_operation_equals_its_twin_forwards_and_backwards(name, shape, rng):
    forward, backward, twin, needs = UNARY[name]
    X = 3 * rng.normal(size=shape)

    def with_cache(X):
        Y = forward(X)
        return Y, Y if needs == "output" else X

    check_gradients(with_cache, backward, [X], rng)
    check_twin(with_cache, backward, twin, [X], rng)


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_an_operation_keeps_the_dtype_and_its_input(name, dtype, rng):
    forward = UNARY[name][0]
    X = rng.normal(size=(N, M)).astype(dtype)
    before = X.copy()
    assert np.asarray(forward(X)).dtype == dtype
    assert np.array_equal(X, before)


def test_half_precision_does_not_overflow():
    S = np.array([[60000.0, -60000.0, 60000.0]], dtype=np.float16)
    assert np.array_equal(ops.softmax(S), np.array([[0.5, 0, 0.5]], dtype=np.float16))
    assert np.array_equal(ops.masked_softmax(S, S > 0), ops.softmax(S))
    assert np.array_equal(ops.softmax_with_temperature(S, 1e-30), ops.softmax(S))
    assert ops.length(np.full((1, 4), 1e4, dtype=np.float16)) == 2e4
    assert np.isfinite(ops.log_sum_exp(S)).all()


SCALES = {
    np.float16: ("float16", [1e-4, 1.0, 1e3]),
    np.float32: ("float32", [1e-30, 1e-12, 1.0, 1e8, 1e17]),
    np.float64: ("float64", [1e-200, 1e-100, 1.0, 1e8, 1e17, 1e200]),
}
AT_SCALE = [(dtype, kind, scale) for dtype, (kind, scales) in SCALES.items() for scale in scales]


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("dtype, kind, scale", AT_SCALE)
def test_an_operation_equals_its_twin_at_every_scale(name, dtype, kind, scale, rng):
    forward, backward, twin, needs = UNARY[name]
    X = (scale * rng.normal(size=(N, M))).astype(dtype)
    Y = np.asarray(forward(X))
    unit = scale if name == "length" else max(scale, 1) if name.startswith("log") else 1
    assert_close(Y / dtype(unit), twin(torch.tensor(X)).numpy() / dtype(unit), kind)
    dY = rng.normal(size=Y.shape).astype(dtype)
    by_hand = backward(dY, Y if needs == "output" else X)
    unit = 1 / scale if name == "unit" else 1
    assert by_hand.dtype == dtype
    assert_close(by_hand / dtype(unit), slopes_of_twin(twin, [X], dY)[0] / dtype(unit), kind)


@pytest.mark.parametrize("dtype, kind, scale", AT_SCALE)
def test_temperature_equals_its_twin_at_every_scale(dtype, kind, scale, rng):
    S = (1e3 if dtype == np.float16 else 1e8) + rng.integers(-9, 9, size=(N, M)).astype(dtype)
    S = (S * min(scale, 1)).astype(dtype)
    T = float(8 * min(scale, 1))
    P = ops.softmax_with_temperature(S, T)
    assert_close(P, nn_ops.softmax_with_temperature(torch.tensor(S), T).numpy(), kind)
    dP = rng.normal(size=P.shape).astype(dtype)
    dS, dT = ops.softmax_with_temperature_backward(dP, P, S, T)
    (by_twin,) = slopes_of_twin(lambda S: nn_ops.softmax_with_temperature(S, T), [S], dP)
    assert_close((dS * dtype(T)).astype(dtype), by_twin * dtype(T), kind)
    exact = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    gaps = torch.tensor(S.astype(np.float64) - S.max(-1, keepdims=True).astype(np.float64)) / T
    (torch.softmax(gaps / exact, -1) * torch.tensor(dP.astype(np.float64))).sum().backward()
    assert math.isclose(dT * T, float(exact.grad), rel_tol=2e-2 if dtype == np.float16 else 1e-4)


def test_a_large_score_does_not_swallow_the_logarithm():
    assert_close(
        ops.log_softmax(np.full(2, 1e8, dtype=np.float32)), np.full(2, -math.log(2), np.float32), "float32"
    )
    S = np.array([100, 99, 98], dtype=np.float16)
    assert_close(ops.log_softmax(S), ops.log_softmax(S.astype(float)).astype(np.float16), "float16")


def test_the_pull_on_the_temperature_does_not_depend_on_where_the_scores_start():
    S, dP = np.array([0, -8, -16], dtype=np.float32), np.array([1, 0, 0], dtype=np.float32)
    P = ops.softmax_with_temperature(S, 8.0)
    here = ops.softmax_with_temperature_backward(dP, P, S, 8.0)[1]
    assert math.isclose(here, -0.0353, abs_tol=1e-4)
    assert here == ops.softmax_with_temperature_backward(dP, P, S + np.float32(1e8), 8.0)[1]


@pytest.mark.parametrize("scale", [5e-324, 1e-200, 1e200])
def test_a_length_and_its_direction_survive_where_squares_do_not(scale):
    X = scale * np.array([[3.0, 4.0]])
    slope = ops.length_backward(np.ones(1), X)
    assert_close(ops.length(X) / scale, np.array([5.0]), "float64")
    assert_close(slope, np.array([[0.6, 0.8]]), "float64")
    assert_close(ops.unit(X), slope, "float64")


def test_minus_infinity_is_a_score_and_gets_weight_zero(rng):
    S = np.array([[1.0, -math.inf, 2.0]])
    P = ops.softmax(S)
    assert P[0, 1] == 0 and math.isclose(P.sum(), 1)
    assert_close(ops.masked_softmax(S, np.array([[True, True, False]])), np.array([[1.0, 0, 0]]), "float64")
    dP = rng.normal(size=S.shape)
    dS, dT = ops.softmax_with_temperature_backward(dP, P, S, 1.0)
    assert np.isfinite(dS).all() and dS[0, 1] == 0 and math.isfinite(dT)
    assert_close(slopes_of_twin(nn_ops.softmax, [S], dP)[0], ops.softmax_backward(dP, P), "float64")


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_softmax_sums_to_one_along_the_axis_that_was_asked_for(axis, rng):
    S = rng.normal(size=(N, M))
    P = ops.softmax(S, axis=axis)
    assert_close(P.sum(axis=axis), np.ones(P.shape[1 - axis % 2]), "float64")
    assert_close(P, nn_ops.softmax(torch.tensor(S), axis=axis).numpy(), "float64")


def test_linear_and_its_backward(rng):
    X, W, b = rng.normal(size=(B, N, D_K)), rng.normal(size=(D_K, D_V)), rng.normal(size=D_V)
    Y, cache = ops.linear(X, W, b)
    assert_close(Y, nn_ops.linear(*map(torch.tensor, (X, W, b))).numpy(), "float64")
    dY = rng.normal(size=Y.shape)
    gradients = ops.linear_backward(dY, cache)
    for gradient, expected in zip(gradients, slopes_of_twin(nn_ops.linear, [X, W, b], dY), strict=True):
        assert_close(gradient, expected, "float64")
    assert_close(
        gradients[0], central_difference(lambda X: ops.linear(X, W, b)[0], X, dY), "central difference"
    )
    assert_close(
        gradients[1], central_difference(lambda W: ops.linear(X, W, b)[0], W, dY), "central difference"
    )
    assert_close(
        gradients[2], central_difference(lambda b: ops.linear(X, W, b)[0], b, dY), "central difference"
    )


def test_masked_softmax_with_masks_and_empty_rows(rng):
    S, mask = rng.normal(size=(B, N, M)), rng.random((B, N, M)) < 0.5
    mask[0, 1] = False
    P = ops.masked_softmax(S, mask)
    assert (P[~mask] == 0).all() and not P[0, 1].any()
    assert_close(P.sum(axis=-1), mask.any(axis=-1).astype(float), "float64")
    assert_close(P, nn_ops.masked_softmax(torch.tensor(S), torch.tensor(mask)).numpy(), "float64")
    dP = rng.normal(size=P.shape)
    by_hand = ops.masked_softmax_backward(dP, P)
    assert_close(
        by_hand, central_difference(lambda S: ops.masked_softmax(S, mask), S, dP), "central difference"
    )
    twin = slopes_of_twin(lambda S: nn_ops.masked_softmax(S, torch.tensor(mask)), [S], dP)[0]
    assert_close(by_hand, twin, "float64")
    assert not by_hand[0, 1].any()


def test_what_stands_behind_a_mask_does_not_matter():
    S = np.array([[1.0, math.nan, 2.0, math.inf]])
    mask = np.array([[True, False, True, False]])
    assert_close(ops.masked_softmax(S, mask)[0, [0, 2]], ops.softmax(np.array([1.0, 2.0])), "float64")


@pytest.mark.parametrize("T", [0.1, 1.0, 7.0])
def test_temperature_and_its_backward(T, rng):
    S = rng.normal(size=(N, M))
    P = ops.softmax_with_temperature(S, T)
    assert_close(P, nn_ops.softmax_with_temperature(torch.tensor(S), T).numpy(), "float64")
    dP = rng.normal(size=P.shape)
    dS, dT = ops.softmax_with_temperature_backward(dP, P, S, T)
    assert_close(
        dS, central_difference(lambda S: ops.softmax_with_temperature(S, T), S, dP), "central difference"
    )
    twin = slopes_of_twin(lambda S: nn_ops.softmax_with_temperature(S, T), [S], dP)[0]
    assert_close(dS, twin, "float64")
    h = 1e-6 * T
    ahead, behind = ((ops.softmax_with_temperature(S, T + step) * dP).sum() for step in (h, -h))
    assert math.isclose(dT, (ahead - behind) / (2 * h), rel_tol=1e-5, abs_tol=1e-7)


def test_entropy_and_its_backward(rng):
    P = ops.softmax(rng.normal(size=(B, N, M)))
    assert_close(np.asarray(ops.entropy(P)), nn_ops.entropy(torch.tensor(P)).numpy(), "float64")
    dH = rng.normal(size=(B, N))
    assert_close(ops.entropy_backward(dH, P), central_difference(ops.entropy, P, dH), "central difference")
    assert_close(ops.entropy_backward(dH, P), slopes_of_twin(nn_ops.entropy, [P], dH)[0], "float64")
    assert ops.entropy(np.array([0.0, 1.0, 0.0])) == 0
    with np.errstate(all="raise"):
        assert ops.entropy_backward(np.float64(1), np.array([0.0, 1.0, 0.0])).tolist() == [0, -1, 0]
    certain = torch.tensor([0.0, 1.0, 0.0], requires_grad=True)
    nn_ops.entropy(certain).backward()
    assert certain.grad.tolist() == [0, -1, 0]
    assert math.isclose(ops.entropy(np.full(M, 1 / M)), math.log(M))


def test_the_jacobian_is_the_matrix_of_the_backward(rng):
    P = ops.softmax(rng.normal(size=M))
    rows = np.stack([ops.softmax_backward(e, P) for e in np.eye(M)])
    assert_close(ops.softmax_jacobian(P), rows, "float64")


@pytest.mark.usefixtures("checked_values")
@pytest.mark.bad_input
@pytest.mark.parametrize("module", [ops, nn_ops], ids=["reference", "nn"])
@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (
            lambda o, a: o.softmax(a([[1, 2]])),
            TypeError,
            "softmax: S must hold real floating-point numbers; got int64",
        ),
        (
            lambda o, a: o.softmax(a([[1j, 2.0]])),
            TypeError,
            "softmax: S must hold real floating-point numbers; got complex128. Convert it to float32 or float64 first",
        ),
        (
            lambda o, a: o.entropy(a([True, False])),
            TypeError,
            "entropy: P must hold real floating-point numbers; got bool",
        ),
        (
            lambda o, a: o.linear(a([[1.0]]), a(np.ones((1, 1), dtype=np.float32))),
            TypeError,
            "linear: all arrays must have the same dtype; got X float64, W float32. Convert them to one dtype.",
        ),
        (
            lambda o, a: o.masked_softmax(a([[1.0, math.nan]]), a([[True, True]])),
            ValueError,
            "masked_softmax: scores must be finite or -inf; got 1 NaN",
        ),
        (
            lambda o, a: o.masked_softmax(a([[1.0, -math.inf]]), a([[False, True]])),
            ValueError,
            "masked_softmax: each row needs at least one score above -inf",
        ),
        (
            lambda o, a: o.log_softmax(a([math.inf, 1.0])),
            ValueError,
            "log_softmax: scores must be finite or -inf; got 1 NaN or [+]inf entries in S",
        ),
        (
            lambda o, a: o.softmax_with_temperature(a([1.0, 2.0]), -1.0),
            ValueError,
            "T must be positive and finite; got T=-1",
        ),
        (
            lambda o, a: o.softmax_with_temperature(a([1.0, 2.0]), math.nan),
            ValueError,
            "T must be positive and finite; got T=nan",
        ),
        (
            lambda o, a: o.softmax_with_temperature(a([1.0, 2.0]), "warm"),
            TypeError,
            "T must be a number; got str",
        ),
        (
            lambda o, a: o.softmax_with_temperature(a(np.ones(2, dtype=np.float32)), 1e-40),
            ValueError,
            "T must be positive and finite and at least 1.18e-38 in this dtype; got T=1e-40",
        ),
        (
            lambda o, a: o.softmax([[1.0, 2.0]]),
            TypeError,
            "softmax: S must be an array; got list. Convert it to an array first.",
        ),
        (
            lambda o, a: o.softmax(a([[1.0, math.nan]])),
            ValueError,
            "softmax: scores must be finite or -inf; got 1 NaN",
        ),
        (
            lambda o, a: o.softmax(a([[-math.inf] * 2])),
            ValueError,
            "each row needs at least one score above -inf",
        ),
        (lambda o, a: o.softmax(a(np.zeros((2, 0)))), ValueError, "every axis must have at least one entry"),
        (
            lambda o, a: o.masked_softmax(a([[1.0, 2.0]]), a([[0.0, 1.0]])),
            TypeError,
            "mask must be boolean with True = may look; got float64",
        ),
        (
            lambda o, a: o.masked_softmax(a([[1.0, 2.0]]), a([[True, False, True]])),
            ValueError,
            r"mask must broadcast to the shape of the scores \(1, 2\); got \(1, 3\)",
        ),
        (
            lambda o, a: o.softmax_with_temperature(a([1.0, 2.0]), 0.0),
            ValueError,
            "T must be positive and finite; got T=0",
        ),
        (
            lambda o, a: o.linear(a([[1.0, 2.0]]), a([[1.0], [2.0], [3.0]])),
            ValueError,
            r"linear: X and W must have the same width d_in; got X \(1, 2\) with d_in=2 and W \(3, 1\) with d_in=3.",
        ),
        (
            lambda o, a: o.entropy(a([-0.5, 1.5])),
            ValueError,
            "probabilities must not be negative or NaN; got -0.5",
        ),
        (
            lambda o, a: o.unit(a([[0.0, 0.0]])),
            ValueError,
            "a vector of length zero has no direction|each vector must be longer than zero.*; got 1 of zeros",
        ),
    ],
)
def test_bad_input_gets_one_clear_sentence_from_both_twins(module, call, error, sentence):
    def make(values):
        array = np.asarray(values)
        return array if module is ops else torch.tensor(array)

    with pytest.raises(error, match=sentence):
        call(module, make)


@pytest.mark.bad_input
def test_a_gradient_has_the_shape_of_what_it_belongs_to():
    with pytest.raises(
        ValueError, match=r"softmax_backward: dP and P must have the same shape; got dP \(3,\) and P \(2, 3\)"
    ):
        ops.softmax_backward(np.ones(3), np.ones((2, 3)) / 3)
    with pytest.raises(
        ValueError, match=r"P must be \(n,\); got \(2, 3\). Take one of the batch, such as `P\[0\]`."
    ):
        ops.softmax_jacobian(np.ones((2, 3)) / 3)


def test_a_gap_beyond_all_floats_is_a_weight_of_zero():
    """1e300 over a temperature of 1e-10 is infinite: only behind the largest score does it do no harm."""
    S = np.array([[0.0, 1e300], [1e300, 0.0]])
    assert ops.softmax_with_temperature(S, 1e-10).tolist() == [[0, 1], [1, 0]]
    assert nn_ops.softmax_with_temperature(torch.tensor(S), 1e-10).tolist() == [[0, 1], [1, 0]]
