"""The selective scan (Mamba): a diagonal state space whose step, input map and output map are computed from the token.

The book derives it in eq-selective (Chapter 6), after Gu and Dao (2023). Each of d channels has a state of d_state
numbers. Because the decays differ from token to token there is no kernel; but two steps in a row are again a step of
the same kind, so many can be joined at once (`associative_scan`). The twin is `attnlib.nn.selective_scan`.
"""

import numpy as np

from attnlib.shapes import Array, Float, checked


def _discretised(X: Array, step: Array, A: Array, B: Array) -> tuple[Array, Array]:
    """What is kept of the state at each token, and what is added: both (*b, n, d, d_state)."""
    decay = np.exp(step[..., None] * A)  #               eq-selective
    added = (step * X)[..., None] * B[..., None, :]  #   eq-selective
    return decay, added


def _first(state: Array | None, X: Array, A: Array) -> Array:
    return np.zeros((*X.shape[:-2], *A.shape), dtype=X.dtype) if state is None else state


def _read(h: Array, C: Array) -> Array:
    """The state of each channel, weighted by C."""
    return (h @ C[..., :, None])[..., 0]


@checked
def selective_scan(
    X: Float[Array, "*b n d"],
    step: Float[Array, "*b n d"],
    A: Float[Array, "d d_state"],
    B: Float[Array, "*b n d_state"],
    C: Float[Array, "*b n d_state"],
    state: Float[Array, "*b d d_state"] | None = None,
) -> tuple[Float[Array, "*b n d"], Float[Array, "*b d d_state"]]:
    """What each token reads after its own write, token after token, and the last state (eq-selective).

    step     of each channel at each token; at zero the token is passed over: nothing is forgotten and nothing written
    A        negative; the larger, the faster the state forgets
    B, C     what the token writes into each number of the state, and how it reads them
    state    what earlier tokens left; by default zeros

    >>> X, one = np.array([[3.0], [5.0], [7.0]]), np.ones((3, 1))
    >>> selective_scan(X, np.array([[1.0], [0.0], [1.0]]), np.zeros((1, 1)), one, one)[0].T
    array([[ 3.,  3., 10.]])
    """
    decay, added = _discretised(X, step, A, B)
    h, Y = _first(state, X, A), np.empty_like(X)
    for t in range(X.shape[-2]):
        h = decay[..., t, :, :] * h + added[..., t, :, :]  # eq-selective
        Y[..., t, :] = _read(h, C[..., t, :])  #             eq-selective
    return Y, h


@checked
def selective_scan_backward(
    dY: Float[Array, "*b n d"],
    d_last: Float[Array, "*b d d_state"] | None,
    X: Float[Array, "*b n d"],
    step: Float[Array, "*b n d"],
    A: Float[Array, "d d_state"],
    B: Float[Array, "*b n d_state"],
    C: Float[Array, "*b n d_state"],
    state: Float[Array, "*b d d_state"] | None = None,
) -> tuple[
    Float[Array, "*b n d"],
    Float[Array, "*b n d"],
    Float[Array, "d d_state"],
    Float[Array, "*b n d_state"],
    Float[Array, "*b n d_state"],
    Float[Array, "*b d d_state"] | None,
]:
    """dX and the gradients of step, A, B, C and state, None if none was given (eq-selective).

    d_last    the gradient of the last state; None where only the outputs were used

    The states are computed again and kept; their gradient runs from the last token to the first.
    """
    decay, added = _discretised(X, step, A, B)
    states = [_first(state, X, A)]
    for t in range(X.shape[-2]):
        states.append(decay[..., t, :, :] * states[-1] + added[..., t, :, :])
    dX, d_step, dB, dC = (np.empty_like(one) for one in (X, step, B, C))
    G, dA = np.zeros_like(states[0]) if d_last is None else d_last, np.zeros_like(states[0])
    for t in reversed(range(X.shape[-2])):
        x, s, b = X[..., t, :], step[..., t, :], B[..., t, :]
        G = G + dY[..., t, :, None] * C[..., t, None, :]  # the gradient of state t
        dC[..., t, :] = (dY[..., t, :, None] * states[t + 1]).sum(axis=-2)
        written = _read(G, b)
        exponent = G * states[t] * decay[..., t, :, :]  # the gradient of step times A
        dX[..., t, :] = s * written
        d_step[..., t, :] = x * written + (exponent * A).sum(axis=-1)
        dB[..., t, :] = (G * (s * x)[..., None]).sum(axis=-2)
        dA += exponent * s[..., None]
        G = decay[..., t, :, :] * G
    return dX, d_step, dA.reshape(-1, *A.shape).sum(axis=0), dB, dC, None if state is None else G


@checked
def associative_scan(
    decay: Float[Array, "*b n d d_state"], added: Float[Array, "*b n d d_state"]
) -> Float[Array, "*b n d d_state"]:
    """All states of h_t = decay_t h_(t-1) + added_t from a state of zeros, with about 2 log2(n) steps in a row.

    Two steps make one: decay_2 (decay_1 h + added_1) + added_2. So pairs of tokens are joined, the states after each
    pair are found in the same way, and one step more gives the states within the pairs.

    >>> ones = np.ones((5, 1, 1))
    >>> associative_scan(0.5 * ones, ones)[:, 0, 0]
    array([1.    , 1.5   , 1.75  , 1.875 , 1.9375])
    """
    n = added.shape[-3]
    if n == 1:
        return added
    first, second = np.s_[..., 0 : n - 1 : 2, :, :], np.s_[..., 1::2, :, :]
    joined = decay[second] * added[first] + added[second]
    states = np.empty_like(added)
    states[second] = associative_scan(decay[second] * decay[first], joined)
    rest = np.s_[..., 2::2, :, :]
    states[..., 0, :, :] = added[..., 0, :, :]
    states[rest] = decay[rest] * states[..., 1 : n - 1 : 2, :, :] + added[rest]
    return states


@checked
def selective_scan_parallel(
    X: Float[Array, "*b n d"],
    step: Float[Array, "*b n d"],
    A: Float[Array, "d d_state"],
    B: Float[Array, "*b n d_state"],
    C: Float[Array, "*b n d_state"],
    state: Float[Array, "*b d d_state"] | None = None,
) -> tuple[Float[Array, "*b n d"], Float[Array, "*b d d_state"]]:
    """The same output, all tokens at once by `associative_scan`, and the last state (eq-selective).

    The state before the first token is added to what that token writes.
    """
    decay, added = _discretised(X, step, A, B)
    added[..., 0, :, :] += decay[..., 0, :, :] * _first(state, X, A)
    states = associative_scan(decay, added)
    return _read(states, C), states[..., -1, :, :]
