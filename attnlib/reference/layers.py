"""Where queries, keys and values come from: one sequence (self-attention) or two (cross-attention).

The book derives it in eq-self-attention, eq-cross-attention and eq-three-roads (Chapter 2). Both are the layer of
`attnlib.reference.attention` (eq-layer, Chapter 1) with its two inputs named. The twin is `attnlib.nn.layers`.
"""

from attnlib.reference.attention import (
    AttentionWeights,
    LayerCache,
    attention_layer,
    attention_layer_backward,
)
from attnlib.shapes import Array, Bool, Float, checked, where


@checked
@where(m="n", d_query="d_model", d_input="d_model")
def self_attention(
    X: Float[Array, "*b n d_model"], weights: AttentionWeights, mask: Bool[Array, "*#b #n #n"] | None = None
) -> tuple[Float[Array, "*b n d_v"], LayerCache]:
    """Every position asks, and every position answers: queries, keys and values all come from X (eq-self-attention).

    >>> import numpy as np
    >>> one = np.array([[1.0]])
    >>> self_attention(np.array([[1.0], [3.0]]), AttentionWeights(0 * one, one, one))[0]
    array([[2.],
           [2.]])
    """
    return attention_layer(X, X, weights, mask)  # eq-self-attention  (*b, n, d_v)


@checked
@where(m="n", d_query="d_model", d_input="d_model")
def self_attention_backward(
    dO: Float[Array, "*b n d_v"], cache: LayerCache
) -> tuple[Float[Array, "*b n d_model"], AttentionWeights]:
    """dX and the gradients of the weights; X is read three times, so three gradients add up (eq-three-roads)."""
    dX_Q, dX_KV, d_weights = attention_layer_backward(dO, cache)
    return dX_Q + dX_KV, d_weights  # eq-three-roads


@checked
@where(d_query="d_x", d_input="d_y")
def cross_attention(
    X: Float[Array, "*b m d_x"],
    Y: Float[Array, "*b n d_y"],
    weights: AttentionWeights,
    mask: Bool[Array, "*#b #m #n"] | None = None,
) -> tuple[Float[Array, "*b m d_v"], LayerCache]:
    """X asks and the source Y answers: queries come from X, keys and values from Y (eq-cross-attention).

    The output has one row for each row of X; lengths and widths of X and Y may differ.

    >>> import numpy as np
    >>> one = np.array([[1.0]])
    >>> cross_attention(one, np.array([[2.0], [2.0]]), AttentionWeights(one, one, 3 * one))[0]
    array([[6.]])
    """
    return attention_layer(X, Y, weights, mask)  # eq-cross-attention  (*b, m, d_v)


@checked
@where(d_query="d_x", d_input="d_y")
def cross_attention_backward(
    dO: Float[Array, "*b m d_v"], cache: LayerCache
) -> tuple[Float[Array, "*b m d_x"], Float[Array, "*b n d_y"], AttentionWeights]:
    """dX, dY and the gradients of the weights; the source is read twice (eq-layer-backward)."""
    return attention_layer_backward(dO, cache)
