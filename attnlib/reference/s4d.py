"""Diagonal state spaces (S4D): each channel has a few complex numbers, one for each conjugate pair.

The book derives it in eq-diagonal (Chapter 6), after Gu, Gupta, Goel and Ré (2022). Each number stands for itself and
for its conjugate, whose contributions add up to twice a real part. The twin is `attnlib.nn.s4d`. Gradients of complex
numbers are PyTorch's: the derivative with respect to the real part, plus i times that with respect to the imaginary
part.
"""

import numpy as np

from attnlib.shapes import Array, Complex, Float, Number, checked


@checked
def diagonal_zero_order_hold(
    A: Complex[Array, "d d_state"], B: Complex[Array, "d d_state"], step: Float[Array, "d"]
) -> tuple[Complex[Array, "d d_state"], Complex[Array, "d d_state"]]:
    """A and B for steps of a fixed length, exact for an input that is constant during each step (eq-discretised).

    >>> A, B = diagonal_zero_order_hold(np.array([[-1 + 0j]]), np.array([[1 + 0j]]), np.array([np.log(2)]))
    >>> A.round(12), B.round(12)
    (array([[0.5+0.j]]), array([[0.5+0.j]]))
    """
    scaled = step[:, None] * A
    return np.exp(scaled), np.expm1(scaled) / A * B  # eq-discretised


@checked
def diagonal_bilinear(
    A: Complex[Array, "d d_state"], B: Complex[Array, "d d_state"], step: Float[Array, "d"]
) -> tuple[Complex[Array, "d d_state"], Complex[Array, "d d_state"]]:
    """A and B for steps of a fixed length by the bilinear rule, a division for each number.

    >>> A, B = diagonal_bilinear(np.array([[-2 + 0j]]), np.array([[1 + 0j]]), np.array([0.5]))
    >>> A.round(3), B.round(3)
    (array([[0.333+0.j]]), array([[0.333+0.j]]))
    """
    half = step[:, None] / 2 * A
    return (1 + half) / (1 - half), step[:, None] * B / (1 - half)


@checked
def diagonal_kernel(
    A: Complex[Array, "d d_state"],
    B: Complex[Array, "d d_state"],
    C: Complex[Array, "d d_state"],
    n: Number[int, "1.."],
) -> Float[Array, "n d"]:
    """What an input adds to the output 0, 1, ..., n - 1 tokens later: C B times a table of powers (eq-diagonal).

    >>> half, one = np.array([[0.5 + 0j]]), np.array([[1 + 0j]])
    >>> diagonal_kernel(half, one, one, 3)[:, 0]  # twice the real part
    array([2. , 1. , 0.5])
    """
    powers = A[..., None] ** np.arange(n, dtype=np.real(A).dtype)  # Vandermonde  (d, d_state, n)
    return 2 * np.real((C * B)[..., None, :] @ powers)[..., 0, :].T.copy()  # eq-diagonal


@checked
def diagonal_recurrence(
    X: Float[Array, "*b n d"],
    A: Complex[Array, "d d_state"],
    B: Complex[Array, "d d_state"],
    C: Complex[Array, "d d_state"],
    state: Complex[Array, "*b d d_state"] | None = None,
) -> tuple[Float[Array, "*b n d"], Complex[Array, "*b d d_state"]]:
    """What is read after each token, and the last state, with discretised A and B (eq-ssm-recurrence).

    state    what earlier tokens left; by default zeros

    >>> half, one = np.array([[0.5 + 0j]]), np.array([[1 + 0j]])
    >>> diagonal_recurrence(np.array([[1.0], [0.0], [4.0]]), half, one, one)[0][:, 0]
    array([2. , 1. , 8.5])
    """
    h = np.zeros((*X.shape[:-2], *A.shape), dtype=A.dtype) if state is None else state
    Y = np.empty_like(X)
    for t in range(X.shape[-2]):
        h = A * h + B * X[..., t, :, None]  # eq-ssm-recurrence
        Y[..., t, :] = 2 * (C * h).sum(axis=-1).real
    return Y, h


@checked
def diagonal_recurrence_backward(
    dY: Float[Array, "*b n d"],
    d_last: Complex[Array, "*b d d_state"] | None,
    X: Float[Array, "*b n d"],
    A: Complex[Array, "d d_state"],
    B: Complex[Array, "d d_state"],
    C: Complex[Array, "d d_state"],
    state: Complex[Array, "*b d d_state"] | None = None,
) -> tuple[
    Float[Array, "*b n d"],
    Complex[Array, "d d_state"],
    Complex[Array, "d d_state"],
    Complex[Array, "d d_state"],
    Complex[Array, "*b d d_state"] | None,
]:
    """dX, dA, dB, dC and the gradient of the state, None if none was given.

    d_last    the gradient of the last state; None where only the outputs were used

    The states are computed again and kept. Then their gradient runs backwards: each state acts on its output, and
    through A on the next state.
    """
    h = np.zeros((*X.shape[:-2], *A.shape), dtype=A.dtype) if state is None else state
    states = [h]
    for t in range(X.shape[-2]):
        states.append(A * states[-1] + B * X[..., t, :, None])
    dX, G = np.empty_like(X), np.zeros_like(h) if d_last is None else d_last
    dA, dB, dC = (np.zeros_like(h) for _ in range(3))
    for t in reversed(range(X.shape[-2])):
        dy = dY[..., t, :, None]
        G = G + 2 * C.conj() * dy  # the gradient of state t
        dA += G * states[t].conj()
        dB += G * X[..., t, :, None]
        dC += 2 * dy * states[t + 1].conj()
        dX[..., t, :] = (B.conj() * G).sum(axis=-1).real
        G = A.conj() * G
    dA, dB, dC = (one.reshape(-1, *A.shape).sum(axis=0) for one in (dA, dB, dC))
    return dX, dA, dB, dC, None if state is None else G
