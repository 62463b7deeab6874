"""Where queries, keys and values come from: one sequence (self-attention) or two (cross-attention).

The book derives it in eq-self-attention, eq-cross-attention and eq-three-roads (Chapter 2). Both are the layer of
`attnlib.reference.attention` (eq-layer, Chapter 1) with its two inputs named. The twin is `attnlib.nn.layers`.
"""

from attnlib.reference.attention import (
    AttentionParameters,
    LayerCache,
    attention_layer,
    attention_layer_backward,
)
from attnlib.shapes import Array, Bool, Float, checked, same_size


@checked
@same_size(m="n", d_source="d_model")
def self_attention(
    X: Float[Array, "*b n d_model"],
    parameters: AttentionParameters,
    mask: Bool[Array, "*#b #n #n"] | None = None,
) -> tuple[Float[Array, "*b n d_v"], LayerCache]:
    """Attention within one sequence: queries, keys and values all come from X (eq-self-attention).

    >>> import numpy as np
    >>> one = np.array([[1.0]])
    >>> self_attention(np.array([[1.0], [3.0]]), AttentionParameters(0 * one, one, one))[0]
    array([[2.],
           [2.]])
    """
    return attention_layer(X, X, parameters, mask)  # eq-self-attention  (*b, n, d_v)


@checked
@same_size(m="n", d_source="d_model")
def self_attention_backward(
    dO: Float[Array, "*b n d_v"], cache: LayerCache
) -> tuple[Float[Array, "*b n d_model"], AttentionParameters]:
    """dX and the gradients of the parameters; X is used three times, so three gradients add up (eq-three-roads)."""
    dX, dsource, d_parameters = attention_layer_backward(dO, cache)
    return dX + dsource, d_parameters  # eq-three-roads


@checked
def cross_attention(
    X: Float[Array, "*b m d_model"],
    source: Float[Array, "*b n d_source"],
    parameters: AttentionParameters,
    mask: Bool[Array, "*#b #m #n"] | None = None,
) -> tuple[Float[Array, "*b m d_v"], LayerCache]:
    """Attention from X to another sequence: queries from X, keys and values from the source (eq-cross-attention).

    The output has one row for each row of X; lengths and widths of X and the source may differ.

    >>> import numpy as np
    >>> one = np.array([[1.0]])
    >>> cross_attention(one, np.array([[2.0], [2.0]]), AttentionParameters(one, one, 3 * one))[0]
    array([[6.]])
    """
    return attention_layer(X, source, parameters, mask)  # eq-cross-attention  (*b, m, d_v)


@checked
def cross_attention_backward(
    dO: Float[Array, "*b m d_v"], cache: LayerCache
) -> tuple[Float[Array, "*b m d_model"], Float[Array, "*b n d_source"], AttentionParameters]:
    """dX, dsource and the gradients of the parameters; the source is used twice (eq-layer-backward)."""
    return attention_layer_backward(dO, cache)
