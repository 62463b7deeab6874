"""State spaces: discretised as scipy does it, as a recurrence and as a convolution; diagonal, and plus rank one."""

import numpy as np
import pytest
import torch
from scipy import linalg, signal
from test_linear_attention import assert_same, tensors

from attnlib.nn import long_convolution as nn_long
from attnlib.nn import s4 as nn_s4
from attnlib.nn import s4d as nn_s4d
from attnlib.nn import state_space as nn_ssm
from attnlib.reference import hippo, s4, s4d
from attnlib.reference import long_convolution as long
from attnlib.reference import state_space as ssm
from attnlib.testing import assert_close, check_twin

B, N, D, D_STATE = 2, 13, 3, 5
METHODS = {"zero order hold": ("zoh", "zero_order_hold"), "bilinear": ("bilinear", "bilinear")}


def system(rng, d_state=D_STATE):
    """A stable A, and B and C."""
    A = rng.normal(size=(d_state, d_state)) - 2 * np.sqrt(d_state) * np.eye(d_state)
    return A, *rng.normal(size=(2, d_state))


def diagonal(rng, d_state=D_STATE):
    """A of negative real parts, B and C for d channels."""
    A = -rng.uniform(0.1, 1, size=(D, d_state)) + 1j * rng.normal(size=(D, d_state))
    return A, *(rng.normal(size=(2, D, d_state)) + 1j * rng.normal(size=(2, D, d_state)))


# --- discretisation ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [1e-3, 0.1, 3.0])
@pytest.mark.parametrize("method", METHODS)
def test_it_discretises_as_scipy_does(method, step, rng):
    theirs, ours = METHODS[method]
    A, B_, C = system(rng)
    expected = signal.cont2discrete((A, B_[:, None], C[None], np.zeros((1, 1))), step, method=theirs)
    found = getattr(ssm, ours)(A, B_, step)
    np.testing.assert_allclose(found[0], expected[0], rtol=0, atol=1e-10)
    np.testing.assert_allclose(found[1], expected[1][:, 0], rtol=0, atol=1e-10)
    assert_same(getattr(nn_ssm, ours)(*tensors(A, B_), step), found)


def test_the_exponential_is_that_of_scipy(rng):
    for size in (1e-9, 1.0, 40.0):
        A = size * rng.normal(size=(7, 7))
        expected = linalg.expm(A)
        assert np.abs(ssm._exponential(A) - expected).max() < 1e-11 * np.abs(expected).max()
    assert np.array_equal(ssm._exponential(np.zeros((2, 2))), np.eye(2))


@pytest.mark.parametrize("method", ["zero_order_hold", "bilinear"])
def test_each_number_of_a_diagonal_is_discretised_alone(method, rng):
    A, B_, _ = diagonal(rng)
    step = rng.uniform(0.1, 2, size=D)
    found = getattr(s4d, f"diagonal_{method}")(A, B_, step)
    assert_same(getattr(nn_s4d, f"diagonal_{method}")(*tensors(A, B_, step)), found)
    for d in range(D):  # a complex number is a real matrix of two rows
        for j in range(D_STATE):
            turn = np.array([[A[d, j].real, -A[d, j].imag], [A[d, j].imag, A[d, j].real]])
            kept, written = getattr(ssm, method)(turn, np.array([B_[d, j].real, B_[d, j].imag]), step[d])
            np.testing.assert_allclose(found[0][d, j], kept[0, 0] + 1j * kept[1, 0], rtol=0, atol=1e-12)
            np.testing.assert_allclose(found[1][d, j], written[0] + 1j * written[1], rtol=0, atol=1e-12)


def test_a_zero_order_hold_follows_the_equation_exactly_where_the_input_is_constant(rng):
    A, B_, C = system(rng)
    x = rng.normal(size=N)
    y, _ = ssm.state_space_recurrence(x, *ssm.zero_order_hold(A, B_, 0.2), C)
    fine, _ = ssm.state_space_recurrence(np.repeat(x, 64), *ssm.zero_order_hold(A, B_, 0.2 / 64), C)
    np.testing.assert_allclose(y, fine[63::64], rtol=0, atol=1e-10)


# --- recurrence and convolution ------------------------------------------------------------------------------------


def test_the_recurrence_is_that_of_scipy(rng):
    """Its dlsim reads before it writes: the same output needs C A in place of C, and C B from input to output."""
    A, B_, C = system(rng)
    A, B_ = ssm.zero_order_hold(A, B_, 0.3)
    x = rng.normal(size=N)
    _, expected, _ = signal.dlsim((A, B_[:, None], (C @ A)[None], np.array([[C @ B_]]), 1.0), x)
    y, last = ssm.state_space_recurrence(x, A, B_, C)
    np.testing.assert_allclose(y, expected[:, 0], rtol=0, atol=1e-10)
    assert_same(nn_ssm.state_space_recurrence(*tensors(x, A, B_, C)), (y, last))


def test_a_single_number_is_the_filter_of_scipy(rng):
    x = rng.normal(size=(B, N))
    y, _ = ssm.state_space_recurrence(x, np.array([[0.8]]), np.array([0.3]), np.array([2.0]))
    np.testing.assert_allclose(y, signal.lfilter([0.6], [1, -0.8], x), rtol=0, atol=1e-10)


def test_the_recurrence_is_the_convolution_with_the_kernel(rng):
    A, B_, C = system(rng)
    A, B_ = ssm.bilinear(A, B_, 0.3)
    x = rng.normal(size=N)
    K = ssm.state_space_kernel(A, B_, C, N)
    y, _ = ssm.state_space_recurrence(x, A, B_, C)
    np.testing.assert_allclose(long.causal_convolution(x[:, None], K[:, None])[:, 0], y, rtol=0, atol=1e-10)
    np.testing.assert_allclose(np.convolve(x, K)[:N], y, rtol=0, atol=1e-10)
    assert_same([nn_ssm.state_space_kernel(*tensors(A, B_, C), N)], [K])


@pytest.mark.parametrize("n", [1, 2, N, 64])
def test_the_convolution_by_transforms_is_the_sum(n, rng):
    X, K = rng.normal(size=(B, n, D)), rng.normal(size=(n, D))
    expected = np.zeros_like(X)
    for t in range(n):
        for s in range(t + 1):
            expected[:, t] += K[s] * X[:, t - s]
    np.testing.assert_allclose(long.causal_convolution(X, K), expected, rtol=0, atol=1e-10)
    check_twin(
        lambda X, K: (long.causal_convolution(X, K), (X, K)),
        lambda dY, cache: long.causal_convolution_backward(dY, *cache),
        nn_long.causal_convolution,
        [X, K],
        rng,
    )


def test_without_zeros_the_end_of_a_signal_would_run_into_its_beginning(rng):
    X, K = rng.normal(size=(N, 1)), rng.normal(size=(N, 1))
    wrapped = np.fft.irfft(np.fft.rfft(X, axis=0) * np.fft.rfft(K, axis=0), N, axis=0)
    over = np.convolve(X[:, 0], K[:, 0])[N:]
    np.testing.assert_allclose((wrapped - long.causal_convolution(X, K))[:-1, 0], over, rtol=0, atol=1e-10)


def test_a_text_in_two_halves_is_the_whole_text_if_the_state_goes_on(rng):
    A, B_, C = system(rng)
    A, B_ = ssm.bilinear(A, B_, 0.3)
    x = rng.normal(size=(B, N))
    y, last = ssm.state_space_recurrence(x, A, B_, C)
    first, state = ssm.state_space_recurrence(x[:, :4], A, B_, C)
    rest, state = ssm.state_space_recurrence(x[:, 4:], A, B_, C, state)
    assert_same([np.concatenate([first, rest], axis=1), state], [y, last])


# --- diagonal ------------------------------------------------------------------------------------------------------


def test_a_diagonal_recurrence_is_the_convolution_with_its_kernel(rng):
    A, B_, C = diagonal(rng)
    A, B_ = s4d.diagonal_zero_order_hold(A, B_, rng.uniform(0.1, 1, size=D))
    X = rng.normal(size=(B, N, D))
    Y, last = s4d.diagonal_recurrence(X, A, B_, C)
    K = s4d.diagonal_kernel(A, B_, C, N)
    np.testing.assert_allclose(long.causal_convolution(X, K), Y, rtol=0, atol=1e-10)
    assert_same([nn_s4d.diagonal_kernel(*tensors(A, B_, C), N)], [K])
    assert_same(nn_s4d.diagonal_recurrence(*tensors(X, A, B_, C)), (Y, last))


def test_a_diagonal_is_a_dense_matrix_with_the_conjugates_beside_it(rng):
    A, B_, C = (one[0] for one in diagonal(rng))
    n = np.arange(N)
    pairs = [np.concatenate([one, one.conj()]) for one in (A, B_, C)]
    expected = [pairs[2] @ np.linalg.matrix_power(np.diag(pairs[0]), int(s)) @ pairs[1] for s in n]
    np.testing.assert_allclose(np.imag(expected), 0, atol=1e-12)
    found = s4d.diagonal_kernel(*(one[None] for one in (A, B_, C)), N)[:, 0]
    np.testing.assert_allclose(found, np.real(expected), rtol=0, atol=1e-12)


@pytest.mark.parametrize("stated", [False, True])
@pytest.mark.parametrize("batch", [(), (B,)])
def test_the_backward_of_the_diagonal_recurrence_is_the_gradient(batch, stated, rng):
    """Complex numbers as pairs of real ones, whose gradients are the two parts; the last state has a gradient, too."""
    A, B_, C = diagonal(rng)
    A = np.exp(A)
    first = rng.normal(size=(*batch, D, D_STATE, 2))
    arrays = [rng.normal(size=(*batch, 7, D)), *(_parts(one) for one in (A, B_, C))] + [first] * stated

    def forward(X, *pairs):
        given = [X, *map(_whole, pairs)]
        Y, h = s4d.diagonal_recurrence(*given)
        return (Y, _parts(h)), given

    def backward(gradients, given):
        found = s4d.diagonal_recurrence_backward(gradients[0], _whole(gradients[1]), *given)
        return tuple(one if i == 0 else _parts(one) for i, one in enumerate(found) if one is not None)

    def twin(X, *pairs):
        Y, h = nn_s4d.diagonal_recurrence(X, *map(torch.view_as_complex, pairs))
        return Y, torch.view_as_real(h)

    check_twin(forward, backward, twin, arrays, rng)


def _parts(Z):
    return np.stack([Z.real, Z.imag], axis=-1)


def _whole(pair):
    return pair[..., 0] + 1j * pair[..., 1]


# --- diagonal plus rank one ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 12, N])
@pytest.mark.parametrize("d_state", [1, 4, 16])
def test_s4_is_the_dense_matrix_of_hippo_as_a_recurrence_and_as_a_kernel(d_state, n, rng):
    A, B_ = hippo.hippo_legs(d_state)
    C, x, step = rng.normal(size=d_state), rng.normal(size=(B, 3, n)), 0.1
    dense = ssm.bilinear(A, B_, step)
    K = ssm.state_space_kernel(*dense, C, n)
    y, _ = ssm.state_space_recurrence(x, *dense, C)
    form = hippo.hippo_dplr(d_state)
    given = form.Lambda, form.P, form.B, C @ form.V
    found, last = s4.dplr_recurrence(x, *given, step)
    np.testing.assert_allclose(found, y, rtol=0, atol=1e-10)
    np.testing.assert_allclose(s4.dplr_kernel(*given, step, n), K, rtol=0, atol=1e-10)
    assert_same(nn_s4.dplr_recurrence(*tensors(x, *given), step), (found, last), 1e-11)
    assert_same([nn_s4.dplr_kernel(*tensors(*given), step, n)], [K], 1e-10)


def test_s4_goes_on_from_a_state(rng):
    form = hippo.hippo_dplr(8)
    given = form.Lambda, form.P, form.B, rng.normal(size=8) @ form.V
    x = rng.normal(size=(B, N))
    y, last = s4.dplr_recurrence(x, *given, 0.2)
    first, state = s4.dplr_recurrence(x[:, :5], *given, 0.2)
    rest, state = s4.dplr_recurrence(x[:, 5:], *given, 0.2, state)
    assert_same([np.concatenate([first, rest], axis=1), state], [y, last])
    _, state = nn_s4.dplr_recurrence(*tensors(x[:, :5], *given), 0.2)
    assert_same(nn_s4.dplr_recurrence(*tensors(x[:, 5:], *given), 0.2, state), (rest, last))


def test_the_generating_function_at_the_roots_of_unity_is_the_transform_of_the_kernel(rng):
    form, n = hippo.hippo_dplr(6), 10
    given = form.Lambda, form.P, form.B, rng.normal(size=6) @ form.V
    K = s4.dplr_kernel(*given, 0.1, n)
    for k in range(n):
        z = np.exp(-2j * np.pi * k / n)
        np.testing.assert_allclose(np.fft.fft(K)[k], sum(K[s] * z**s for s in range(n)), rtol=0, atol=1e-10)


# --- properties ----------------------------------------------------------------------------------------------------


def test_no_output_depends_on_a_later_input_and_each_on_its_own(rng):
    A, B_, C = tensors(*system(rng))
    A, B_ = nn_ssm.bilinear(A, B_, 0.3)
    K = nn_ssm.state_space_kernel(A, B_, C, N)[:, None]
    x = torch.randn(N, dtype=torch.float64)
    for run in (
        lambda x: nn_ssm.state_space_recurrence(x, A, B_, C)[0],
        lambda x: nn_long.causal_convolution(x[:, None], K)[:, 0],
    ):
        J = torch.autograd.functional.jacobian(run, x)
        assert J.triu(1).abs().max() < 1e-12 and J.diagonal().abs().min() > 1e-6


def test_float32_in_float32_out(rng):
    A, B_, C = (one.astype(np.float32) for one in system(rng))
    x = rng.normal(size=(B, N)).astype(np.float32)
    found = [*ssm.zero_order_hold(A, B_, 0.3), *ssm.bilinear(A, B_, 0.3), ssm.state_space_kernel(A, B_, C, N)]
    A, B_ = found[:2]
    found += [
        *ssm.state_space_recurrence(x, A, B_, C),
        long.causal_convolution(x[..., None], found[4][:, None]),
    ]
    form = [one.astype(np.complex64) for one in diagonal(rng)]
    X = rng.normal(size=(N, D)).astype(np.float32)
    found += [s4d.diagonal_kernel(*form, N), s4d.diagonal_recurrence(X, *form)[0]]
    assert all(one.dtype == np.float32 for one in found)
    backward = s4d.diagonal_recurrence_backward(X, None, X, *form)
    assert [one.dtype for one in backward[:4]] == [np.float32, *[np.complex64] * 3] and backward[4] is None


def test_inputs_stay_as_they_were(rng):
    form = diagonal(rng)
    given = [rng.normal(size=(B, N, D)), *form, rng.normal(size=(B, D, D_STATE)) + 0j]
    copies = [one.copy() for one in given]
    Y, h = s4d.diagonal_recurrence(*given)
    s4d.diagonal_recurrence_backward(Y, h, *given)
    s4d.diagonal_kernel(*form, N)
    assert all(np.array_equal(one, copy) for one, copy in zip(given, copies, strict=True))


def test_vmap_and_meta():
    rng = np.random.default_rng(0)
    X, *form = tensors(rng.normal(size=(B, N, D)), *diagonal(rng))
    run = lambda X: nn_s4d.diagonal_recurrence(X, *form)[0]  # noqa: E731
    assert_same([torch.func.vmap(run)(X)], [run(X)])
    K = nn_s4d.diagonal_kernel(*(one.to("meta") for one in form), N)
    assert K.is_meta and nn_long.causal_convolution(X.to("meta"), K).shape == X.shape


@pytest.mark.bad_input
def test_a_real_diagonal_where_a_complex_one_is_needed_is_refused(rng):
    A, B_, C = diagonal(rng)
    with pytest.raises(
        TypeError, match="diagonal_kernel: A must hold complex numbers; got float64. Convert it to"
    ):
        s4d.diagonal_kernel(A.real, B_, C, N)
    with pytest.raises(ValueError, match="must have the same width d_state|same shape"):
        s4d.diagonal_kernel(A, B_[:, :2], C, N)
    assert_close(s4d.diagonal_kernel(A.real + 0j, B_, C, 1)[0], 2 * (C * B_).sum(-1).real, "float64")
