"""S4: a state matrix that is a diagonal minus a matrix of rank one, so that it need not be stored or inverted.

The book derives it in eq-dplr (Chapter 6), after Gu, Goel and Ré (2022). One step, and each number of the kernel's
Fourier transform, costs a multiple of d_state, not of its square. `attnlib.reference.hippo.hippo_dplr` makes the matrix
of HiPPO in this form. The state is complex and has both of each conjugate pair, so outputs are real parts. The twin is
`attnlib.nn.s4`.
"""

import numpy as np

from attnlib.shapes import Array, Complex, Float, Number, checked


def _times_rank_one(h: Array, P: Array) -> Array:
    """P P* h."""
    return (h @ P.conj())[..., None] * P


@checked
def dplr_recurrence(
    x: Float[Array, "*b n"],
    Lambda: Complex[Array, "d_state"],
    P: Complex[Array, "d_state"],
    B: Complex[Array, "d_state"],
    C: Complex[Array, "d_state"],
    step: Number[float, "0<.."],
    state: Complex[Array, "*b d_state"] | None = None,
) -> tuple[Float[Array, "*b n"], Complex[Array, "*b d_state"]]:
    """What is read after each input, and the last state, discretised by the bilinear rule (eq-dplr).

    The new state solves (I - step/2 A) h = (I + step/2 A) h_before + step B x. With A = diag(Lambda) - P P* the matrix
    on the left is a diagonal plus a matrix of rank one, and its inverse is one, too (the formula of Woodbury).

    state    what earlier inputs left; by default zeros

    >>> one = np.ones(1, dtype=complex)
    >>> y, _ = dplr_recurrence(np.array([1.0, 0.0]), -0.5 * one, np.sqrt(0.5) * one, one, one, step=1.0)
    >>> y.round(3)  # of A = -1, as in `bilinear`
    array([0.667, 0.222])
    """
    D = 1 / (1 - step / 2 * Lambda)
    share = step / 2 / (1 + step / 2 * (P.conj() * D * P).sum())
    h = np.zeros((*x.shape[:-1], len(B)), dtype=B.dtype) if state is None else state
    y = np.empty_like(x)
    for t in range(x.shape[-1]):
        right = h + step / 2 * (Lambda * h - _times_rank_one(h, P)) + step * B * x[..., t, None]
        h = D * right - share * D * _times_rank_one(D * right, P)
        y[..., t] = (h @ C).real
    return y, h


@checked
def dplr_kernel(
    Lambda: Complex[Array, "d_state"],
    P: Complex[Array, "d_state"],
    B: Complex[Array, "d_state"],
    C: Complex[Array, "d_state"],
    step: Number[float, "0<.."],
    n: Number[int, "1.."],
) -> Float[Array, "n"]:
    """What an input adds to the output 0, 1, ..., n - 1 tokens later, by its generating function (eq-dplr).

    The sum of K_s z^s at the n-th roots of unity is the Fourier transform of K. There z^n is 1, so the geometric series
    that it contains is C (I - A^n) (I - A z)^-1 B. After the bilinear rule the inverse is that of a diagonal plus a
    matrix of rank one, so all that is left are sums of d_state fractions, at each root. (S4 learns C (I - A^n) in place
    of C, and so never computes that power.)

    >>> one = np.ones(1, dtype=complex)
    >>> dplr_kernel(-0.5 * one, np.sqrt(0.5) * one, one, one, step=1.0, n=3).round(3)
    array([0.667, 0.222, 0.074])
    """
    C = C - _after(n, Lambda, P, C, step)
    z = np.exp(-2j * np.pi * np.arange(n) / n)[:, None]
    W = 1 / (2 / step * (1 - z) - Lambda * (1 + z))  # Cauchy  (n, d_state)
    CB, CP, PB, PP = (W @ (a * b) for a, b in ((C, B), (C, P), (P.conj(), B), (P.conj(), P)))
    once = 1 + z[:, 0]
    spectrum = 2 * (CB - once * CP * PB / (1 + once * PP))  # the formula of Woodbury
    return np.real(np.fft.ifft(spectrum)).astype(np.real(Lambda).dtype)


def _after(n: int, Lambda: Array, P: Array, C: Array, step: float) -> Array:
    """C A^n for the discretised A, by squaring."""
    A = np.diag(Lambda) - np.outer(P, P.conj())
    I = np.eye(len(A))
    return C @ np.linalg.matrix_power(np.linalg.solve(I - step / 2 * A, I + step / 2 * A), n)
