"""The twin of `attnlib.reference.linear_gates`: linear attention whose decay is a gate for each coordinate of the key.

The book derives it in eq-linear-state and eq-linear-chunks (Chapter 6), after Yang and others (2024).
"""

from torch import Tensor

from attnlib.nn.linear_attention import (
    _first,
    _from_chunk_to_chunk,
    _in_chunks,
    _log,
    _token_after_token,
    decay_products,
)
from attnlib.shapes import Float, Number, checked


@checked
def gated_linear_attention(
    Q: Float[Tensor, "*b n d_k"],
    K: Float[Tensor, "*b n d_k"],
    V: Float[Tensor, "*b n d_v"],
    gates: Float[Tensor, "*b n d_k"],
    state: Float[Tensor, "*b d_k d_v"] | None = None,
) -> tuple[Float[Tensor, "*b n d_v"], Float[Tensor, "*b d_k d_v"]]:
    """Linear attention whose decay is a gate for each coordinate of the key, token after token (eq-linear-state).

    gates    in (0, 1], what is kept of each row of the state at each token
    """
    return _token_after_token(Q, K, V, gates, _first(state, K, V))


@checked
def gated_linear_attention_chunked(
    Q: Float[Tensor, "*b n d_k"],
    K: Float[Tensor, "*b n d_k"],
    V: Float[Tensor, "*b n d_v"],
    gates: Float[Tensor, "*b n d_k"],
    chunk: Number[int, "1.."],
    state: Float[Tensor, "*b d_k d_v"] | None = None,
) -> tuple[Float[Tensor, "*b n d_v"], Float[Tensor, "*b d_k d_v"]]:
    """The same in chunks; each pair of tokens of a chunk has its own products, one for each coordinate of the key.

    This takes n * chunk * d_k numbers, and no product is ever divided by another one (eq-linear-chunks).
    """
    n, S = K.shape[-2], _first(state, K, V)
    Q, K, V = (_in_chunks(A, chunk) for A in (Q, K, V))  # (*b, C, c, d)
    a = _in_chunks(gates, chunk, filling=1.0)
    M = decay_products(a.mT).movedim(-3, -1)  # (*b, C, c, c, d_k)
    since = _log(a).cumsum(dim=-2).exp()
    before, S = _from_chunk_to_chunk(S, since[..., -1, :, None], (M[..., -1, :, :] * K).mT @ V)
    P = (Q[..., :, None, :] * K[..., None, :, :] * M).sum(dim=-1)
    O = P @ V + (since * Q) @ before  # eq-linear-chunks
    return O.flatten(-3, -2)[..., :n, :], S
