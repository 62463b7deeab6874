"""Recurrent cells: a state of fixed size that is rewritten at every step, and the Jacobian that one step multiplies.

The book derives them in eq-recurrence, eq-rnn, eq-gru, eq-lstm, eq-rnn-jacobian and eq-jacobian-product (Chapter 1).
The twin is `attnlib.nn.recurrent`.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from attnlib import rules
from attnlib.reference.activations import sigmoid
from attnlib.reference.ops import LinearCache, linear, linear_backward
from attnlib.shapes import Array, Float, Number, checked


class RNNParameters(NamedTuple):
    W_x: Float[Any, "d_in d"]
    W_h: Float[Any, "d d"]
    b: Float[Any, "d"]


class RNNCache(NamedTuple):
    x: Float[Array, "*b d_in"]
    h: Float[Array, "*b d"]
    h_new: Float[Array, "*b d"]
    parameters: RNNParameters


@checked
def rnn_cell(
    x: Float[Array, "*b d_in"], h: Float[Array, "*b d"], parameters: RNNParameters
) -> tuple[Float[Array, "*b d"], RNNCache]:
    """The next state of a simple recurrent network: linear maps of state and input, then tanh (eq-rnn).

    >>> parameters = RNNParameters(W_x=np.array([[1.0]]), W_h=np.array([[0.5]]), b=np.array([0.0]))
    >>> h, cache = rnn_cell(np.array([1.0]), np.array([-2.0]), parameters)
    >>> h
    array([0.])
    """
    h_new = np.tanh(x @ parameters.W_x + h @ parameters.W_h + parameters.b)  # eq-rnn  (*b, d)
    return h_new, RNNCache(x, h, h_new, parameters)


@checked
def rnn_cell_backward(
    dh_new: Float[Array, "*b d"], cache: RNNCache
) -> tuple[Float[Array, "*b d_in"], Float[Array, "*b d"], RNNParameters]:
    """dx, dh and the gradients of the parameters; 1 - h^2 is the derivative of tanh (eq-rnn-backward)."""
    x, h, h_new, parameters = cache
    da = dh_new * (1 - h_new**2)  # eq-rnn-backward
    dx, dW_x, db = linear_backward(da, LinearCache(x, parameters.W_x))
    dh, dW_h, _ = linear_backward(da, LinearCache(h, parameters.W_h))
    return dx, dh, RNNParameters(dW_x, dW_h, db)


@checked
def rnn_jacobian(h: Float[Array, "*b d"], W_h: Float[Array, "d d"]) -> Float[Array, "*b d d"]:
    """The derivative of the state h that `rnn_cell` returned with respect to the state before it (eq-rnn-jacobian).

    Row a, column c: the derivative of entry a of the new state with respect to entry c of the old one.

    >>> rnn_jacobian(np.array([0.0, 0.5]), np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[1. , 3. ],
           [1.5, 3. ]])
    """
    return (1 - h**2)[..., None] * W_h.T  # eq-rnn-jacobian  (*b, d, d)


@checked
def jacobian_through_time(W_h: Float[Array, "d d"], hs: Float[Array, "*b T d"]) -> Float[Array, "*b d d"]:
    """The derivative of the last state by that before the first: a product over steps (eq-jacobian-product).

    hs      the states in the order of time; for the last with respect to the first of them pass `hs[..., 1:, :]`

    >>> hs = np.array([[0.0], [0.5]])
    >>> jacobian_through_time(np.array([[2.0]]), hs)
    array([[3.]])
    """
    steps = rnn_jacobian(hs, W_h)
    J = steps[..., 0, :, :]
    for t in range(1, hs.shape[-2]):
        J = steps[..., t, :, :] @ J  # eq-jacobian-product  (*b, d, d)
    return J


@checked
def orthogonal(
    d: Number[int, "1.."], rng: np.random.Generator, spectral_radius: Number[float, "0<.."] = 1.0
) -> Float[Array, "{d} {d}"]:
    """A random rotation or reflection times a number: every vector is stretched by it alike (eq-orthogonal).

    >>> W = orthogonal(3, np.random.default_rng(0), spectral_radius=2.0)
    >>> (W @ W.T).round(12) + 0.0
    array([[4., 0., 0.],
           [0., 4., 0.],
           [0., 0., 4.]])
    """
    Q, R = np.linalg.qr(rng.normal(size=(d, d)))
    return (
        spectral_radius * Q * np.sign(np.diag(R))
    )  # eq-orthogonal; the signs make every rotation equally likely


class GRUParameters(NamedTuple):
    """Three blocks side by side: reset r, update z, candidate g. Two biases, because r multiplies only one of g's."""

    W_x: Float[Any, "d_in 3d"]
    W_h: Float[Any, "d 3d"]
    b_x: Float[Any, "3d"]
    b_h: Float[Any, "3d"]


class GRUCache(NamedTuple):
    x: Float[Array, "*b d_in"]
    h: Float[Array, "*b d"]
    r: Float[Array, "*b d"]
    z: Float[Array, "*b d"]
    g: Float[Array, "*b d"]
    a_hg: Float[Array, "*b d"]
    parameters: GRUParameters


@checked
def gru_cell(
    x: Float[Array, "*b d_in"], h: Float[Array, "*b d"], parameters: GRUParameters
) -> tuple[Float[Array, "*b d"], GRUCache]:
    """The next state of a gated recurrent unit: the gate z keeps the old state or takes the candidate g (eq-gru).

    With all parameters zero both gates are one half and the candidate is zero, so half of the state remains.

    >>> parameters = GRUParameters(np.zeros((1, 3)), np.zeros((1, 3)), np.zeros(3), np.zeros(3))
    >>> gru_cell(np.array([7.0]), np.array([1.0]), parameters)[0]
    array([0.5])
    """
    a_xr, a_xz, a_xg = np.split(linear(x, parameters.W_x, parameters.b_x)[0], 3, axis=-1)
    a_hr, a_hz, a_hg = np.split(linear(h, parameters.W_h, parameters.b_h)[0], 3, axis=-1)
    r, z = sigmoid(a_xr + a_hr), sigmoid(a_xz + a_hz)  # eq-gru-gates
    g = np.tanh(a_xg + r * a_hg)  #                      eq-gru-candidate
    h_new = (1 - z) * g + z * h  #                       eq-gru  (*b, d)
    return h_new, GRUCache(x, h, r, z, g, a_hg, parameters)


@checked
def gru_cell_backward(
    dh_new: Float[Array, "*b d"], cache: GRUCache
) -> tuple[Float[Array, "*b d_in"], Float[Array, "*b d"], GRUParameters]:
    """dx, dh and the gradients of the parameters; through z, dh has a path without any matrix (eq-gru-backward)."""
    x, h, r, z, g, a_hg, parameters = cache
    da_g = dh_new * (1 - z) * (1 - g**2)  #    eq-gru-backward: through the candidate
    da_z = dh_new * (h - g) * z * (1 - z)  #   through the update gate
    da_r = da_g * a_hg * r * (1 - r)  #        through the reset gate
    da_x = np.concatenate([da_r, da_z, da_g], axis=-1)
    da_h = np.concatenate([da_r, da_z, da_g * r], axis=-1)
    dx, dW_x, db_x = linear_backward(da_x, LinearCache(x, parameters.W_x))
    dh, dW_h, db_h = linear_backward(da_h, LinearCache(h, parameters.W_h))
    return dx, dh + dh_new * z, GRUParameters(dW_x, dW_h, db_x, db_h)


class LSTMState(NamedTuple):
    """The state of an LSTM between steps: the output h, and the internal memory c."""

    h: Float[Any, "*b d"]
    c: Float[Any, "*b d"]


class LSTMParameters(NamedTuple):
    """Four blocks side by side: input gate i, forget gate f, candidate g, output gate o."""

    W_x: Float[Any, "d_in 4d"]
    W_h: Float[Any, "d 4d"]
    b: Float[Any, "4d"]


class LSTMCache(NamedTuple):
    x: Float[Array, "*b d_in"]
    state: LSTMState
    i: Float[Array, "*b d"]
    f: Float[Array, "*b d"]
    g: Float[Array, "*b d"]
    o: Float[Array, "*b d"]
    c_new: Float[Array, "*b d"]
    parameters: LSTMParameters


@checked
def lstm_cell(
    x: Float[Array, "*b d_in"], state: LSTMState, parameters: LSTMParameters
) -> tuple[LSTMState, LSTMCache]:
    """The next state of a long short-term memory: the gates forget, write and output (eq-lstm).

    With all parameters zero every gate is one half and the candidate is zero, so half of the memory remains.

    >>> parameters = LSTMParameters(np.zeros((1, 4)), np.zeros((1, 4)), np.zeros(4))
    >>> lstm_cell(np.array([7.0]), LSTMState(h=np.array([0.0]), c=np.array([1.0])), parameters)[0].c
    array([0.5])
    """
    h, c = state
    a_i, a_f, a_g, a_o = np.split(x @ parameters.W_x + h @ parameters.W_h + parameters.b, 4, axis=-1)
    i, f, o = sigmoid(a_i), sigmoid(a_f), sigmoid(a_o)  # eq-lstm-gates
    g = np.tanh(a_g)  #                                   eq-lstm-candidate
    c_new = f * c + i * g  #                              eq-lstm-memory  (*b, d)
    h_new = o * np.tanh(c_new)  #                         eq-lstm         (*b, d)
    return LSTMState(h_new, c_new), LSTMCache(x, LSTMState(h, c), i, f, g, o, c_new, parameters)


@checked
def lstm_cell_backward(
    d_state: LSTMState, cache: LSTMCache
) -> tuple[Float[Array, "*b d_in"], LSTMState, LSTMParameters]:
    """dx, the gradients of state and parameters; from c_new to c there is only the factor f (eq-lstm-backward)."""
    x, (h, c), i, f, g, o, c_new, parameters = cache
    shown = np.tanh(c_new)
    dc_new = d_state.c + d_state.h * o * (1 - shown**2)  # eq-lstm-backward: what reaches the memory
    da_i = dc_new * g * i * (1 - i)
    da_f = dc_new * c * f * (1 - f)
    da_g = dc_new * i * (1 - g**2)
    da_o = d_state.h * shown * o * (1 - o)
    da = np.concatenate([da_i, da_f, da_g, da_o], axis=-1)
    dx, dW_x, db = linear_backward(da, LinearCache(x, parameters.W_x))
    dh, dW_h, _ = linear_backward(da, LinearCache(h, parameters.W_h))
    return dx, LSTMState(dh, dc_new * f), LSTMParameters(dW_x, dW_h, db)


@checked
def unroll(
    cell: Callable[..., tuple[Any, Any]], X: Float[Array, "*b T d_in"], state: Any, parameters: Any
) -> tuple[list[Any], list[Any]]:
    """One cell applied along a sequence: the T states, and the T caches for the backward (eq-recurrence).

    state       the state before the first input

    >>> parameters = RNNParameters(W_x=np.array([[0.0]]), W_h=np.array([[0.0]]), b=np.array([0.0]))
    >>> states, caches = unroll(rnn_cell, np.array([[1.0], [2.0]]), np.array([3.0]), parameters)
    >>> states
    [array([0.]), array([0.])]
    """
    states, caches = [], []
    for t in range(X.shape[-2]):
        state, cache = cell(X[..., t, :], state, parameters)  # eq-recurrence
        states.append(state)
        caches.append(cache)
    return states, caches


def _add(a: Any, b: Any) -> Any:
    """The sum of two gradients of the same structure; None counts as zero."""
    if a is None or b is None:
        return b if a is None else a
    return a + b if isinstance(a, np.ndarray) else type(a)(*map(_add, a, b))


@checked
def unroll_backward(
    cell_backward: Callable[..., tuple[Any, Any, Any]], d_states: Sequence[Any], caches: Sequence[Any]
) -> tuple[Float[Array, "*b T d_in"], Any, Any]:
    """dX, the gradient of the state before the first input, and those of the parameters (eq-recurrence-backward).

    d_states    one gradient for each of the T states, for example from losses or from attention

    It is backpropagation through time: each state's gradient is the sum of its own and of that through later states.
    """
    rules.one_for_each_step("unroll_backward", d_states, caches)
    dX, d_state, d_parameters = [], None, None
    for d_here, cache in zip(reversed(d_states), reversed(caches), strict=True):
        dx, d_state, d_step = cell_backward(_add(d_state, d_here), cache)  # eq-recurrence-backward
        d_parameters = _add(d_parameters, d_step)
        dX.append(dx)
    return np.stack(dX[::-1], axis=-2), d_state, d_parameters
