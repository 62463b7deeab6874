"""Linear attention whose decay is a gate: one number for each coordinate of the key, so rows of the state fade apart.

The book derives it in eq-linear-state and eq-linear-chunks (Chapter 6), after Yang and others (2024). The twin is
`attnlib.nn.linear_gates`. With equal gates it is `attnlib.reference.linear_attention` with a decay.
"""

import numpy as np

from attnlib import rules
from attnlib.reference.linear_attention import _chunks, _first, _token_after_token, decay_products
from attnlib.shapes import Array, Float, Number, checked


@checked
def gated_linear_attention(
    Q: Float[Array, "*b n d_k"],
    K: Float[Array, "*b n d_k"],
    V: Float[Array, "*b n d_v"],
    gates: Float[Array, "*b n d_k"],
    state: Float[Array, "*b d_k d_v"] | None = None,
) -> tuple[Float[Array, "*b n d_v"], Float[Array, "*b d_k d_v"]]:
    """Linear attention whose decay is a gate for each coordinate of the key, token after token (eq-linear-state).

    gates    in (0, 1], what is kept of each row of the state at each token

    >>> Q, K, V = np.ones((2, 2)), np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([[2.0], [4.0]])
    >>> gated_linear_attention(Q, K, V, gates=np.array([[1.0, 1.0], [0.5, 1.0]]))[1]
    array([[1.],
           [6.]])
    """
    rules.decays("gated_linear_attention", gates)
    return _token_after_token(Q, K, V, gates, _first(state, K, V))


@checked
def gated_linear_attention_chunked(
    Q: Float[Array, "*b n d_k"],
    K: Float[Array, "*b n d_k"],
    V: Float[Array, "*b n d_v"],
    gates: Float[Array, "*b n d_k"],
    chunk: Number[int, "1.."],
    state: Float[Array, "*b d_k d_v"] | None = None,
) -> tuple[Float[Array, "*b n d_v"], Float[Array, "*b d_k d_v"]]:
    """The same in chunks; each pair of tokens of a chunk has its own products, one for each coordinate of the key.

    This takes chunk * chunk * d_k numbers, and no product is ever divided by another one (eq-linear-chunks).

    >>> Q, K, V = np.ones((2, 2)), np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([[2.0], [4.0]])
    >>> gated_linear_attention_chunked(Q, K, V, np.array([[1.0, 1.0], [0.5, 1.0]]), chunk=2)[0]
    array([[4.],
           [7.]])
    """
    rules.finite("gated_linear_attention_chunked", "K", K)
    rules.finite("gated_linear_attention_chunked", "V", V)
    rules.decays("gated_linear_attention_chunked", gates)
    S, O = _first(state, K, V), np.empty_like(V)
    for c in _chunks(K.shape[-2], chunk):
        Q_c, K_c, V_c, a = Q[..., c, :], K[..., c, :], V[..., c, :], gates[..., c, :]
        M = np.moveaxis(decay_products(a.swapaxes(-1, -2)), -3, -1)  # (*b, c, c, d_k)
        P = (Q_c[..., :, None, :] * K_c[..., None, :, :] * M).sum(axis=-1)
        since = np.cumprod(a, axis=-2)
        O[..., c, :] = P @ V_c + (since * Q_c) @ S  #                                     eq-linear-chunks
        S = since[..., -1, :, None] * S + (M[..., -1, :, :] * K_c).swapaxes(-1, -2) @ V_c  # eq-linear-chunks
    return O, S
