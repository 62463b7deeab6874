"""The delta rule: a token writes the difference between its value and what the state already holds for its key.

The book derives it in eq-delta-rule and eq-delta-chunks (Chapter 6). The twin, where autograd does the backward, is
`attnlib.nn.delta_rule`. Rows are tokens and the state S is (*b, d_k, d_v), as in linear attention. Keys are not
normalised here: with |k| = 1 a step of one overwrites exactly what was held for the key, and a write makes the error
for its key smaller only where step |k|^2 is below 2; above that a state explodes.
"""

import numpy as np

from attnlib import rules
from attnlib.reference.linear_attention import _chunks, _decays, _first, _outer, _read, decay_products
from attnlib.shapes import Array, Float, Number, checked


def _written(S: Array, k: Array, v: Array, step: Array, decay: Array) -> tuple[Array, Array, Array]:
    """The state after one pair, what was kept of the state before it, and the error of that for the pair's key."""
    kept = decay[..., None, None] * S
    error = v - _read(k, kept)
    return kept + _outer(k, step[..., None] * error), kept, error  # eq-delta-rule  (*b, d_k, d_v)


def _transposed(S: Array) -> Array:
    return S.swapaxes(-1, -2)


@checked
def delta_rule(
    Q: Float[Array, "*b n d_k"],
    K: Float[Array, "*b n d_k"],
    V: Float[Array, "*b n d_v"],
    step: Float[Array, "*b n"],
    decay: Float[Array, "*b n"] | None = None,
    state: Float[Array, "*b d_k d_v"] | None = None,
) -> tuple[Float[Array, "*b n d_v"], Float[Array, "*b d_k d_v"]]:
    """What each token reads after its own write, and the last state (eq-delta-rule).

    step     in [0, 2], the share of the error that is corrected: 0 nothing, 1 all of it, 2 flips its sign
    decay    in (0, 1], how much of the state is kept at each token, before the difference is taken
    state    what earlier tokens left; by default zeros

    >>> Q, K, V = np.ones((2, 1)), np.ones((2, 1)), np.array([[2.0], [4.0]])
    >>> delta_rule(Q, K, V, step=np.ones(2))[0]  # the second value overwrites the first
    array([[2.],
           [4.]])
    """
    rules.decays("delta_rule", decay)
    rules.steps("delta_rule", step)
    S, O, a = _first(state, K, V), np.empty_like(V), _decays(decay, K)
    for t in range(K.shape[-2]):
        S, _, _ = _written(S, K[..., t, :], V[..., t, :], step[..., t], a[..., t])  # eq-delta-rule
        O[..., t, :] = _read(Q[..., t, :], S)
    return O, S


@checked
def delta_rule_backward(
    dO: Float[Array, "*b n d_v"],
    d_last: Float[Array, "*b d_k d_v"] | None,
    Q: Float[Array, "*b n d_k"],
    K: Float[Array, "*b n d_k"],
    V: Float[Array, "*b n d_v"],
    step: Float[Array, "*b n"],
    decay: Float[Array, "*b n"] | None = None,
    state: Float[Array, "*b d_k d_v"] | None = None,
) -> tuple[
    Float[Array, "*b n d_k"],
    Float[Array, "*b n d_k"],
    Float[Array, "*b n d_v"],
    Float[Array, "*b n"],
    Float[Array, "*b n"] | None,
    Float[Array, "*b d_k d_v"] | None,
]:
    """dQ, dK, dV and the gradients of step, decay and state, None for one that was not given (eq-delta-rule).

    d_last    the gradient of the last state; None where only the outputs were used

    The states are computed again and kept; then the recurrence runs backwards, from the last token to the first.
    """
    a, S, written = _decays(decay, K), _first(state, K, V), []
    for t in range(K.shape[-2]):
        before = S
        S, kept, error = _written(S, K[..., t, :], V[..., t, :], step[..., t], a[..., t])
        written.append((before, kept, error, S))
    dQ, dK, dV, d_step, d_decay = (np.empty_like(A) for A in (Q, K, V, step, step))
    dS = np.zeros_like(S) if d_last is None else d_last
    for t in reversed(range(K.shape[-2])):
        before, kept, error, S = written[t]
        k, b = K[..., t, :], step[..., t, None]
        dS = dS + _outer(Q[..., t, :], dO[..., t, :])
        d_write = _read(k, dS)  # the gradient of b * error
        d_kept = dS - _outer(k, b * d_write)
        dQ[..., t, :] = _read(dO[..., t, :], _transposed(S))
        dK[..., t, :] = _read(b * error, _transposed(dS)) - _read(b * d_write, _transposed(kept))
        dV[..., t, :] = b * d_write
        d_step[..., t] = (d_write * error).sum(axis=-1)
        d_decay[..., t] = (d_kept * before).sum(axis=(-1, -2))
        dS = a[..., t, None, None] * d_kept
    return dQ, dK, dV, d_step, None if decay is None else d_decay, None if state is None else dS


def _solve_unit_lower(A: Array, B: Array) -> Array:
    """X with (I + A) X = B, for A zero on and above the diagonal: row after row, each from those above it."""
    X = B.copy()
    for t in range(1, A.shape[-1]):
        X[..., t, :] -= _read(A[..., t, :t], X[..., :t, :])
    return X


@checked
def delta_rule_chunked(
    Q: Float[Array, "*b n d_k"],
    K: Float[Array, "*b n d_k"],
    V: Float[Array, "*b n d_v"],
    step: Float[Array, "*b n"],
    chunk: Number[int, "1.."],
    decay: Float[Array, "*b n"] | None = None,
    state: Float[Array, "*b d_k d_v"] | None = None,
) -> tuple[Float[Array, "*b n d_v"], Float[Array, "*b d_k d_v"]]:
    """The same in chunks: what all tokens of a chunk write, U, solves one system of equations (eq-delta-chunks).

    Row t of U is step_t times the error of token t, and that depends only on rows above t, because only earlier tokens
    have written: the system is triangular with ones on the diagonal, so it always has one solution.

    chunk    how many tokens a chunk has; the last one may have fewer, and the output does not depend on it

    >>> Q, K, V = np.ones((3, 1)), np.ones((3, 1)), np.array([[2.0], [4.0], [1.0]])
    >>> delta_rule_chunked(Q, K, V, step=np.array([1.0, 0.5, 1.0]), chunk=2)[0]
    array([[2.],
           [3.],
           [1.]])
    """
    rules.finite("delta_rule_chunked", "K", K)
    rules.finite("delta_rule_chunked", "V", V)
    rules.decays("delta_rule_chunked", decay)
    rules.steps("delta_rule_chunked", step)
    S, O, a = _first(state, K, V), np.empty_like(V), _decays(decay, K)
    for c in _chunks(K.shape[-2], chunk):
        Q_c, K_c, V_c, step_c = Q[..., c, :], K[..., c, :], V[..., c, :], step[..., c, None]
        M = decay_products(a[..., c])
        since = np.cumprod(a[..., c], axis=-1)[..., None]  # what is left of the state before the chunk
        A = step_c * np.tril(K_c @ K_c.swapaxes(-1, -2) * M, -1)
        U = _solve_unit_lower(
            A, step_c * (V_c - since * (K_c @ S))
        )  #             eq-delta-chunks  (*b, c, d_v)
        O[..., c, :] = (Q_c @ K_c.swapaxes(-1, -2) * M) @ U + since * (Q_c @ S)  #  as in eq-linear-chunks
        S = since[..., -1:, :] * S + (M[..., -1, :, None] * K_c).swapaxes(-1, -2) @ U
    return O, S
