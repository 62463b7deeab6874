"""A linear differential equation as a layer: discretised, then computed as a recurrence or as a convolution.

The book derives it in eq-state-space, eq-discretised, eq-ssm-recurrence and eq-ssm-kernel (Chapter 6). One number goes
in at each token and one comes out, and the state between them has d_state numbers: h' = A h + B x, y = C h. The twin,
where autograd does the backward, is `attnlib.nn.state_space`, which also has the layer.
"""

import math

import numpy as np

from attnlib.shapes import Array, Float, Number, checked


def _exponential(A: Array) -> Array:
    """e^A: a Taylor series of A / 2^s, which is small, squared s times."""
    s = max(0, math.ceil(math.log2(max(np.abs(A).sum(axis=-1).max(), 1e-300))) + 1)
    term = total = np.eye(len(A), dtype=A.dtype)
    for k in range(1, 17):
        term = term @ A / (2**s * k)
        total = total + term
    for _ in range(s):
        total = total @ total
    return total


@checked
def zero_order_hold(
    A: Float[Array, "d_state d_state"], B: Float[Array, "d_state"], step: Number[float, "0<.."]
) -> tuple[Float[Array, "d_state d_state"], Float[Array, "d_state"]]:
    """A and B for steps of a fixed length, exact for an input that is constant during each step (eq-discretised).

    Both are parts of one exponential, of the equation in which the constant input is another number of the state.

    >>> A, B = zero_order_hold(np.array([[-1.0]]), np.array([1.0]), step=np.log(2))
    >>> A.round(12), B.round(12)  # the state halves, and the input makes up for it
    (array([[0.5]]), array([0.5]))
    """
    n = len(A)
    E = np.zeros((n + 1, n + 1), dtype=A.dtype)
    E[:n, :n], E[:n, n] = step * A, step * B
    E = _exponential(E)
    return E[:n, :n], E[:n, n]  # eq-discretised


@checked
def bilinear(
    A: Float[Array, "d_state d_state"], B: Float[Array, "d_state"], step: Number[float, "0<.."]
) -> tuple[Float[Array, "d_state d_state"], Float[Array, "d_state"]]:
    """A and B for steps of a fixed length, with the mean of A h before and after each step for its derivative.

    This needs no exponential, so S4 uses it. A state that shrinks in the equation also shrinks here, for any step.

    >>> A, B = bilinear(np.array([[-1.0]]), np.array([1.0]), step=1.0)
    >>> A.round(3), B.round(3)
    (array([[0.333]]), array([0.667]))
    """
    I = np.eye(len(A), dtype=A.dtype)
    return np.linalg.solve(I - step / 2 * A, I + step / 2 * A), np.linalg.solve(I - step / 2 * A, step * B)


@checked
def state_space_recurrence(
    x: Float[Array, "*b n"],
    A: Float[Array, "d_state d_state"],
    B: Float[Array, "d_state"],
    C: Float[Array, "d_state"],
    state: Float[Array, "*b d_state"] | None = None,
) -> tuple[Float[Array, "*b n"], Float[Array, "*b d_state"]]:
    """What is read after each input, and the last state, with discretised A and B (eq-ssm-recurrence).

    state    what earlier inputs left; by default zeros

    >>> state_space_recurrence(np.array([1.0, 0.0, 4.0]), np.array([[0.5]]), np.ones(1), np.ones(1))
    (array([1.  , 0.5 , 4.25]), array([4.25]))
    """
    h = np.zeros((*x.shape[:-1], len(B)), dtype=x.dtype) if state is None else state
    y = np.empty_like(x)
    for t in range(x.shape[-1]):
        h = h @ A.T + x[..., t, None] * B  # eq-ssm-recurrence
        y[..., t] = h @ C
    return y, h


@checked
def state_space_kernel(
    A: Float[Array, "d_state d_state"],
    B: Float[Array, "d_state"],
    C: Float[Array, "d_state"],
    n: Number[int, "1.."],
) -> Float[Array, "n"]:
    """What an input adds to the output 0, 1, ..., n - 1 tokens later: C A^s B, by explicit powers (eq-ssm-kernel).

    >>> state_space_kernel(np.array([[0.5]]), np.ones(1), np.ones(1), 4)
    array([1.   , 0.5  , 0.25 , 0.125])
    """
    K, h = np.empty(n, dtype=A.dtype), B
    for s in range(n):
        K[s] = C @ h  # eq-ssm-kernel
        h = A @ h
    return K
