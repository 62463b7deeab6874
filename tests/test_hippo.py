"""HiPPO: what its state holds, its diagonal form, and the published diagonals."""

import math

import numpy as np
import pytest
from scipy import linalg

from attnlib.reference import hippo
from attnlib.testing import assert_close

SIZES = [1, 2, 7, 32]


def test_the_polynomials_are_orthonormal_on_the_interval():
    tau, weights = np.polynomial.legendre.leggauss(40)
    L = hippo.legendre((tau + 1) / 2, 32)
    assert_close(L.T @ (weights[:, None] / 2 * L), np.eye(32), "float64")


@pytest.mark.parametrize("d_state", SIZES)
def test_the_state_after_one_impulse_is_a_legendre_polynomial_of_the_decay(d_state):
    """e^(s A) B = tau L(tau) with tau = e^-s: the state is the best polynomial in tau for the past."""
    A, B = hippo.hippo_legs(d_state)
    for s in (0.0, 0.3, 1.7):
        tau = np.exp(-s)
        np.testing.assert_allclose(
            linalg.expm(s * A) @ B, tau * hippo.legendre(np.array(tau), d_state), rtol=0, atol=1e-10
        )


def test_the_state_holds_the_coefficients_of_a_polynomial_past_exactly():
    """Of a past that is a polynomial in tau nothing is lost, and of any other what is kept is the projection."""
    rng, d_state = np.random.default_rng(0), 9
    A, B = hippo.hippo_legs(d_state)
    coefficients = rng.normal(size=d_state)
    nodes, weights = np.polynomial.legendre.leggauss(60)
    tau = (nodes + 1) / 2
    past = hippo.legendre(tau, d_state) @ coefficients  # x at the time ln(tau) before now
    kernel = np.stack([linalg.expm(-math.log(one) * A) @ B for one in tau])  # what it adds to the state
    state = (weights / 2 / tau * past) @ kernel  # ds = -d tau / tau
    np.testing.assert_allclose(state, coefficients, rtol=0, atol=1e-10)


@pytest.mark.parametrize("d_state", SIZES)
def test_the_matrix_is_a_diagonal_minus_a_matrix_of_rank_one(d_state):
    A, B = hippo.hippo_legs(d_state)
    form = hippo.hippo_dplr(d_state)
    back = form.V @ (np.diag(form.Lambda) - np.outer(form.P, form.P.conj())) @ form.V.conj().T
    np.testing.assert_allclose(back, A, rtol=0, atol=1e-10)
    np.testing.assert_allclose(form.V @ form.B, B, rtol=0, atol=1e-10)
    np.testing.assert_allclose(form.V.conj().T @ form.V, np.eye(d_state), rtol=0, atol=1e-10)
    np.testing.assert_allclose(form.Lambda.real, -0.5, rtol=0, atol=1e-10)
    np.testing.assert_allclose(np.sort(form.Lambda.imag), -np.sort(-form.Lambda.imag)[::-1], atol=1e-10)


def test_the_published_diagonals():
    n = np.arange(8)
    assert_close(hippo.s4d_lin(16), -0.5 + 1j * np.pi * n, "float64")
    assert_close(hippo.s4d_inv(16), -0.5 + 1j * 16 / np.pi * (16 / (2 * n + 1) - 1), "float64")
    assert_close(hippo.s4d_real(5), np.sort(np.linalg.eigvals(hippo.hippo_legs(5)[0]).real)[::-1], "float64")


def test_s4d_inv_has_nearly_the_largest_frequencies_of_hippo():
    frequencies = np.sort(hippo.hippo_dplr(64).Lambda.imag)[32:]
    ratio = np.sort(hippo.s4d_inv(64).imag) / frequencies
    assert np.abs(ratio - 1)[-3:].max() < 0.08  # measured: 0.069, 0.043, 0.015


@pytest.mark.bad_input
@pytest.mark.parametrize("make", [hippo.s4d_lin, hippo.s4d_inv])
def test_pairs_need_an_even_number(make):
    with pytest.raises(
        ValueError, match=f"{make.__name__}: d_state must be even, two for each pair; got d_state=5"
    ):
        make(5)
