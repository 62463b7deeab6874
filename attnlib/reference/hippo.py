"""HiPPO: the matrix whose state holds the best polynomial for the past, and diagonal matrices made after it.

The book derives it in eq-hippo, eq-legendre and eq-dplr (Chapter 6). All of these are first values of parameters, made
once, so `attnlib.nn` uses the same functions. A state has d_state numbers; where they are complex they come in
conjugate pairs, and the diagonal forms keep one of each pair.
"""

import math
from typing import NamedTuple

import numpy as np

from attnlib import rules
from attnlib.shapes import Array, Complex, Float, Number, checked


@checked
def legendre(tau: Float[Array, "*s"], d_state: Number[int, "1.."]) -> Float[Array, "*s d_state"]:
    """The first d_state Legendre polynomials at tau, orthonormal on the interval from 0 to 1 (eq-legendre).

    >>> legendre(np.array([0.0, 0.5, 1.0]), 3).round(3)
    array([[ 1.   , -1.732,  2.236],
           [ 1.   ,  0.   , -1.118],
           [ 1.   ,  1.732,  2.236]])
    """
    z = 2 * tau - 1
    P = [np.ones_like(z), z]
    for k in range(1, d_state - 1):
        P.append(((2 * k + 1) * z * P[k] - k * P[k - 1]) / (k + 1))
    return np.stack([math.sqrt(2 * k + 1) * one for k, one in enumerate(P[:d_state])], axis=-1)


@checked
def hippo_legs(
    d_state: Number[int, "1.."],
) -> tuple[Float[Array, "d_state d_state"], Float[Array, "d_state"]]:
    """A and B of HiPPO-LegS, without its factor 1 / t, as S4 has them (Gu and others, 2020 and 2022; eq-hippo).

    >>> A, B = hippo_legs(3)
    >>> A.round(3)
    array([[-1.   ,  0.   ,  0.   ],
           [-1.732, -2.   ,  0.   ],
           [-2.236, -3.873, -3.   ]])
    """
    B = np.sqrt(2 * np.arange(d_state) + 1.0)
    A = 0.0 - np.tril(np.outer(B, B), -1) - np.diag(np.arange(d_state) + 1.0)  # eq-hippo
    return A, B


class DPLR(NamedTuple):
    """A diagonal minus a matrix of rank one, and what takes the state to these coordinates (eq-dplr)."""

    Lambda: Complex[Array, "d_state"]  # A = V (diag(Lambda) - P P*) V*
    P: Complex[Array, "d_state"]
    B: Complex[Array, "d_state"]  # V* B
    V: Complex[Array, "d_state d_state"]  # unitary


@checked
def hippo_dplr(d_state: Number[int, "1.."]) -> DPLR:
    """HiPPO-LegS as a diagonal minus a matrix of rank one (eq-dplr).

    A + P P^T is minus one half of the identity plus a skew-symmetric matrix, whose eigenvectors are orthogonal.

    >>> form = hippo_dplr(4)
    >>> A = form.V @ (np.diag(form.Lambda) - np.outer(form.P, form.P.conj())) @ form.V.conj().T
    >>> np.allclose(A, hippo_legs(4)[0])
    True
    """
    A, B = hippo_legs(d_state)
    P = np.sqrt(np.arange(d_state) + 0.5)
    skew = A + np.outer(P, P) + np.eye(d_state) / 2
    frequencies, V = np.linalg.eigh(-1j * skew)
    return DPLR(-0.5 + 1j * frequencies, V.conj().T @ P, V.conj().T @ B, V)


def _pairs(who: str, d_state: int) -> Array:
    """The numbers of the pairs: half of d_state."""
    rules.must(d_state % 2 == 0, who, f"d_state must be even, two for each pair; got d_state={d_state}.")
    return np.arange(d_state // 2)


@checked
def s4d_lin(d_state: Number[int, "2.."]) -> Complex[Array, "d_pairs"]:
    """The diagonal of S4D-Lin: one decay, and frequencies that are multiples of pi (Gu and others, 2022).

    >>> s4d_lin(4).round(3)
    array([-0.5+0.j   , -0.5+3.142j])
    """
    return -0.5 + 1j * math.pi * _pairs("s4d_lin", d_state)


@checked
def s4d_inv(d_state: Number[int, "2.."]) -> Complex[Array, "d_pairs"]:
    """The diagonal of S4D-Inv: nearly the frequencies of HiPPO, the largest of them far apart (Gu and others, 2022).

    >>> s4d_inv(4).round(3)
    array([-0.5+3.82j , -0.5+0.424j])
    """
    return -0.5 + 1j * d_state / math.pi * (d_state / (2 * _pairs("s4d_inv", d_state) + 1) - 1)


@checked
def s4d_real(d_state: Number[int, "1.."]) -> Float[Array, "d_state"]:
    """The diagonal of S4D-Real: the eigenvalues of HiPPO-LegS, with which Mamba begins.

    >>> s4d_real(3)
    array([-1., -2., -3.])
    """
    return -np.arange(1.0, d_state + 1)
