"""Low-rank attention (Linformer): keys and values are projected along the length, from n rows to r.

The book derives it in eq-linformer and eq-best-low-rank (Chapter 6), after Wang and others (2020), who call the number
of rows k. The twin, where autograd does the backward, is `attnlib.nn.low_rank`. There is no causal form: every row of
the shorter keys and values mixes all positions, later ones too.
"""

import math
from typing import NamedTuple

import numpy as np

from attnlib import rules
from attnlib.reference.attention import (
    AttentionCache,
    scaled_dot_product_attention,
    scaled_dot_product_attention_backward,
)
from attnlib.shapes import Array, Float, Number, checked


@checked
def random_projection(
    r: Number[int, "1.."], n: Number[int, "1.."], rng: np.random.Generator
) -> Float[Array, "r n"]:
    """A random map from n rows to r: on average, its transpose times itself is the identity.

    >>> R = random_projection(100_000, 2, np.random.default_rng(0))
    >>> (R.T @ R).round(1) + 0.0
    array([[1., 0.],
           [0., 1.]])
    """
    return rng.normal(size=(r, n)) / math.sqrt(r)


@checked
def best_low_rank(P: Float[Array, "*b m n"], r: Number[int, "1.."]) -> Float[Array, "*b m n"]:
    """The matrix of rank r or less that is nearest to P: its r largest singular values are kept (eq-best-low-rank).

    >>> best_low_rank(np.array([[3.0, 0.0], [0.0, 2.0]]), r=1).round(12) + 0.0
    array([[3., 0.],
           [0., 0.]])
    """
    U, values, Vt = np.linalg.svd(P, full_matrices=False)
    return (U[..., :r] * values[..., None, :r]) @ Vt[..., :r, :]  # eq-best-low-rank  (*b, m, n)


class LowRankCache(NamedTuple):
    Q: Float[Array, "*b m d_k"]
    K: Float[Array, "*b n d_k"]
    V: Float[Array, "*b n d_v"]
    E: Float[Array, "r n"]
    F: Float[Array, "r n"]
    P: Float[Array, "*b m r"]


@checked
def low_rank_attention(
    Q: Float[Array, "*b m d_k"],
    K: Float[Array, "*b n d_k"],
    V: Float[Array, "*b n d_v"],
    E: Float[Array, "r n"],
    F: Float[Array, "r n"],
) -> tuple[Float[Array, "*b m d_v"], LowRankCache]:
    """Attention to r mixtures of the tokens in place of the n tokens (eq-linformer).

    E, F    what each of the r mixtures takes of each key, and of each value

    >>> Q, K, V = np.zeros((1, 1)), np.zeros((4, 1)), np.array([[1.0], [3.0], [5.0], [7.0]])
    >>> halves = np.array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]])
    >>> low_rank_attention(Q, K, V, halves, halves)[0]
    array([[4.]])
    """
    rules.finite("low_rank_attention", "K", K)
    rules.finite("low_rank_attention", "V", V)
    O, attention = scaled_dot_product_attention(Q, E @ K, F @ V)  # eq-linformer  (*b, m, d_v)
    return O, LowRankCache(Q, K, V, E, F, attention.P)


@checked
def low_rank_attention_backward(
    dO: Float[Array, "*b m d_v"], cache: LowRankCache
) -> tuple[
    Float[Array, "*b m d_k"],
    Float[Array, "*b n d_k"],
    Float[Array, "*b n d_v"],
    Float[Array, "r n"],
    Float[Array, "r n"],
]:
    """dQ, dK, dV, dE and dF; E and F serve every sequence of a batch, so their gradients are sums over it."""
    Q, K, V, E, F, P = cache
    attention = AttentionCache(Q, E @ K, F @ V, P)
    dQ, dK_short, dV_short = scaled_dot_product_attention_backward(dO, attention)
    return dQ, E.T @ dK_short, F.T @ dV_short, _summed(dK_short, K), _summed(dV_short, V)  # eq-linformer


def _summed(d_short: Array, X: Array) -> Array:
    """The gradient of a projection of X along the length, summed over the batch."""
    products = d_short @ X.swapaxes(-1, -2)
    return products.reshape(-1, *products.shape[-2:]).sum(axis=0)
