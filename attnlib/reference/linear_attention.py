"""Linear attention: without the softmax the past is a matrix of fixed size, and one equation has three forms.

The book derives it in eq-linear-attention, eq-linear-state and eq-linear-chunks (Chapter 6). The twin, where autograd
does the backward, is `attnlib.nn.linear_attention`. Rows are tokens, each one reads itself and what came before, and
the state S is (*b, d_k, d_v): a token writes its key and value into it, then reads it with its query. Nothing is
scaled.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from attnlib import rules
from attnlib.reference.masks import causal_mask
from attnlib.shapes import Array, Float, Number, checked


@checked
def elu_plus_one(X: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """A feature map that is positive everywhere: x + 1 above zero, e^x below (Katharopoulos and others, 2020).

    >>> elu_plus_one(np.array([-np.log(2.0), 0.0, 3.0])).round(12)
    array([0.5, 1. , 4. ])
    """
    return np.where(X > 0, X + 1, np.exp(np.minimum(X, 0)))


@checked
def elu_plus_one_backward(dY: Float[Array, "*s"], X: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """dX: the derivative is one above zero and e^x below, so the two sides meet without a kink."""
    return dY * np.exp(np.minimum(X, 0))


@checked
def decay_products(decay: Float[Array, "*b n"]) -> Float[Array, "*b n n"]:
    """How much of the pair of token s is left at token t: the product of the decays after s up to t; 0 for s > t.

    The products are differences of summed logarithms, so a long text neither underflows to 0 / 0 nor overflows.

    >>> decay_products(np.array([0.9, 0.5, 0.25])).round(12)
    array([[1.   , 0.   , 0.   ],
           [0.5  , 1.   , 0.   ],
           [0.125, 0.25 , 1.   ]])
    """
    rules.decays("decay_products", decay)
    L = np.cumsum(np.log(decay), axis=-1)
    ahead = L[..., :, None] - L[..., None, :]
    return np.exp(np.where(causal_mask(decay.shape[-1]), ahead, -np.inf))  # eq-linear-attention  (*b, n, n)


@checked
def decay_products_backward(
    dM: Float[Array, "*b n n"], decay: Float[Array, "*b n"], M: Float[Array, "*b n n"]
) -> Float[Array, "*b n"]:
    """The gradient of the decays from the products M: decay r is a factor of all M[t, s] with s < r <= t."""
    G = np.tril(dM * M, -1)  # the gradient of each product's logarithm
    dL = G.sum(axis=-1) - G.sum(axis=-2)
    return np.cumsum(dL[..., ::-1], axis=-1)[..., ::-1] / decay


def _decays(decay: Array | None, K: Array) -> Array:
    """The decays, ones where none were given."""
    return np.ones(K.shape[:-1], dtype=K.dtype) if decay is None else decay


def _first(state: Array | None, K: Array, V: Array) -> Array:
    """The state before the first token, zeros where none was given."""
    return np.zeros((*K.shape[:-2], K.shape[-1], V.shape[-1]), dtype=V.dtype) if state is None else state


def _chunks(n: int, chunk: int) -> Iterator[slice]:
    return (slice(i, min(i + chunk, n)) for i in range(0, n, chunk))


def _outer(k: Array, v: Array) -> Array:
    """k^T v, the matrix that a pair adds to the state."""
    return k[..., :, None] * v[..., None, :]


def _read(q: Array, S: Array) -> Array:
    """q S, what the state holds for a query or key."""
    return (q[..., None, :] @ S)[..., 0, :]


def _token_after_token(Q: Array, K: Array, V: Array, gates: Array, S: Array) -> tuple[Array, Array]:
    """The recurrence, with what is kept of each row of the state, or one number for all rows."""
    O = np.empty_like(V)
    for t in range(K.shape[-2]):
        S = gates[..., t, :, None] * S + _outer(K[..., t, :], V[..., t, :])  # eq-linear-state
        O[..., t, :] = _read(Q[..., t, :], S)  #                               eq-linear-state  (*b, d_v)
    return O, S


class LinearAttentionCache(NamedTuple):
    Q: Float[Array, "*b n d_k"]
    K: Float[Array, "*b n d_k"]
    V: Float[Array, "*b n d_v"]
    decay: Float[Array, "*b n"] | None
    M: Float[Array, "*b n n"]


@checked
def linear_attention(
    Q: Float[Array, "*b n d_k"],
    K: Float[Array, "*b n d_k"],
    V: Float[Array, "*b n d_v"],
    decay: Float[Array, "*b n"] | None = None,
) -> tuple[Float[Array, "*b n d_v"], LinearAttentionCache]:
    """The masked sum: every score of a token and an earlier one, or itself, times its value (eq-linear-attention).

    decay    in (0, 1], how much of all that came before is kept at each token; by default everything

    >>> Q, K, V = np.ones((2, 1)), np.ones((2, 1)), np.array([[2.0], [4.0]])
    >>> linear_attention(Q, K, V, decay=np.array([1.0, 0.5]))[0]  # 0.5 * 2 + 4
    array([[2.],
           [5.]])
    """
    rules.finite("linear_attention", "K", K)
    rules.finite("linear_attention", "V", V)
    M = decay_products(_decays(decay, K))
    O = (Q @ K.swapaxes(-1, -2) * M) @ V  # eq-linear-attention  (*b, n, d_v)
    return O, LinearAttentionCache(Q, K, V, decay, M)


@checked
def linear_attention_backward(
    dO: Float[Array, "*b n d_v"], cache: LinearAttentionCache
) -> tuple[
    Float[Array, "*b n d_k"],
    Float[Array, "*b n d_k"],
    Float[Array, "*b n d_v"],
    Float[Array, "*b n"] | None,
]:
    """dQ, dK, dV and the gradient of the decays, None where none were given (eq-linear-attention).

    The recurrent and the chunked form are the same function, so they have the same gradients.
    """
    Q, K, V, decay, M = cache
    S, dP = Q @ K.swapaxes(-1, -2), dO @ V.swapaxes(-1, -2)
    dS = dP * M
    d_decay = None if decay is None else decay_products_backward(dP * S, decay, M)
    return dS @ K, dS.swapaxes(-1, -2) @ Q, (S * M).swapaxes(-1, -2) @ dO, d_decay


@checked
def linear_attention_recurrent(
    Q: Float[Array, "*b n d_k"],
    K: Float[Array, "*b n d_k"],
    V: Float[Array, "*b n d_v"],
    decay: Float[Array, "*b n"] | None = None,
    state: Float[Array, "*b d_k d_v"] | None = None,
) -> tuple[Float[Array, "*b n d_v"], Float[Array, "*b d_k d_v"]]:
    """The same output token after token, and the last state: S_t = decay_t S_(t-1) + k_t^T v_t (eq-linear-state).

    state    what earlier tokens left; by default zeros

    >>> Q, K, V = np.ones((2, 1)), np.ones((2, 1)), np.array([[2.0], [4.0]])
    >>> linear_attention_recurrent(Q, K, V, state=np.array([[10.0]]))
    (array([[12.],
           [16.]]), array([[16.]]))
    """
    rules.decays("linear_attention_recurrent", decay)
    return _token_after_token(Q, K, V, _decays(decay, K)[..., None], _first(state, K, V))


@checked
def linear_attention_chunked(
    Q: Float[Array, "*b n d_k"],
    K: Float[Array, "*b n d_k"],
    V: Float[Array, "*b n d_v"],
    chunk: Number[int, "1.."],
    decay: Float[Array, "*b n"] | None = None,
    state: Float[Array, "*b d_k d_v"] | None = None,
) -> tuple[Float[Array, "*b n d_v"], Float[Array, "*b d_k d_v"]]:
    """The same again: the masked sum within each chunk, the state from chunk to chunk (eq-linear-chunks).

    chunk    how many tokens a chunk has; the last one may have fewer, and the output does not depend on it

    >>> Q, K, V = np.ones((3, 1)), np.ones((3, 1)), np.array([[2.0], [4.0], [1.0]])
    >>> linear_attention_chunked(Q, K, V, chunk=2)
    (array([[2.],
           [6.],
           [7.]]), array([[7.]]))
    """
    rules.finite("linear_attention_chunked", "K", K)
    rules.finite("linear_attention_chunked", "V", V)
    rules.decays("linear_attention_chunked", decay)
    S, O, a = _first(state, K, V), np.empty_like(V), _decays(decay, K)
    for c in _chunks(K.shape[-2], chunk):
        Q_c, K_c, V_c = Q[..., c, :], K[..., c, :], V[..., c, :]
        M = decay_products(a[..., c])
        since = np.cumprod(a[..., c], axis=-1)[..., None]  # what is left of the state before the chunk
        left = M[..., -1, :, None]  #                        and of each pair at the end of the chunk
        O[..., c, :] = (Q_c @ K_c.swapaxes(-1, -2) * M) @ V_c + since * (Q_c @ S)  # eq-linear-chunks
        S = since[..., -1:, :] * S + (left * K_c).swapaxes(-1, -2) @ V_c  #          eq-linear-chunks
    return O, S


class NormalisedLinearAttentionCache(NamedTuple):
    Q: Float[Array, "*b n d_k"]
    K: Float[Array, "*b n d_k"]
    V: Float[Array, "*b n d_v"]
    O: Float[Array, "*b n d_v"]
    total: Float[Array, "*b n 1"]


@checked
def normalised_linear_attention(
    Q: Float[Array, "*b n d_k"], K: Float[Array, "*b n d_k"], V: Float[Array, "*b n d_v"]
) -> tuple[Float[Array, "*b n d_v"], NormalisedLinearAttentionCache]:
    """Linear attention divided by the query's dot product with the sum of all keys so far (eq-linear-attention).

    Q and K have passed a feature map that makes every such product positive, as `elu_plus_one` does; any other is
    refused. The divisor is the same sum with one as the value of every token, so a state holds it as another column.

    >>> Q, K, V = np.ones((2, 1)), np.array([[1.0], [3.0]]), np.array([[2.0], [4.0]])
    >>> normalised_linear_attention(Q, K, V)[0]  # (1 * 2 + 3 * 4) / (1 + 3)
    array([[2. ],
           [3.5]])
    """
    ones = np.ones((*V.shape[:-1], 1), dtype=V.dtype)
    summed, _ = linear_attention(Q, K, np.concatenate([V, ones], axis=-1))
    total = summed[..., -1:]
    rule = "the dot product of each query with the sum of the keys so far must be positive"
    then = "Apply a positive feature map, such as elu_plus_one, to Q and K first."
    rules.refuse_where(~(total > 0), "normalised_linear_attention", rule, "queries without", then)
    O = summed[..., :-1] / total  # eq-linear-attention  (*b, n, d_v)
    return O, NormalisedLinearAttentionCache(Q, K, V, O, total)


@checked
def normalised_linear_attention_backward(
    dO: Float[Array, "*b n d_v"], cache: NormalisedLinearAttentionCache
) -> tuple[Float[Array, "*b n d_k"], Float[Array, "*b n d_k"], Float[Array, "*b n d_v"]]:
    """dQ, dK, dV: the weights are the scores divided by their sum, so each depends on all of them."""
    Q, K, V, O, total = cache
    P = np.tril(Q @ K.swapaxes(-1, -2)) / total
    dS = np.tril(dO @ V.swapaxes(-1, -2) - (dO * O).sum(axis=-1, keepdims=True)) / total
    return dS @ K, dS.swapaxes(-1, -2) @ Q, P.swapaxes(-1, -2) @ dO  # eq-linear-attention
