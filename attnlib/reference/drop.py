"""Dropout: in training random entries are set to zero and the others scaled up; also of attention weights.

Chapter 5 shows where a transformer has it. The twin, where autograd does the backward, is `attnlib.nn.drop`; whole
sublayers are dropped in `attnlib.reference.depth`. The mask of kept entries is an argument that the caller draws, so
that the functions are deterministic.
"""

import math
from typing import NamedTuple

from attnlib import rules
from attnlib.reference.attention import AttentionCache, scaled_dot_product_attention
from attnlib.reference.ops import masked_softmax_backward
from attnlib.shapes import Array, Bool, Float, Number, checked


@checked
def dropout(
    X: Float[Array, "*s"], kept: Bool[Array, "*s"], share: Number[float, "0<..1"]
) -> Float[Array, "*s"]:
    """The kept entries, divided by the share that is kept on average, and zeros elsewhere: on average this is X.

    >>> import numpy as np
    >>> dropout(np.array([3.0, 3.0]), np.array([True, False]), share=0.75)
    array([4., 0.])
    """
    return X * (kept / share).astype(X.dtype)


@checked
def dropout_backward(
    dY: Float[Array, "*s"], kept: Bool[Array, "*s"], share: Number[float, "0<..1"]
) -> Float[Array, "*s"]:
    """dX: dropped entries have no gradient."""
    return dropout(dY, kept, share)


class DroppedAttentionCache(NamedTuple):
    attention: AttentionCache  # its P are the weights before some were dropped
    kept: Bool[Array, "*b m n"]
    share: Number[float, "0<..1"]


@checked
def dropped_attention(
    Q: Float[Array, "*b m d_k"],
    K: Float[Array, "*b n d_k"],
    V: Float[Array, "*b n d_v"],
    kept: Bool[Array, "*b m n"],
    share: Number[float, "0<..1"],
    mask: Bool[Array, "*#b #m #n"] | None = None,
) -> tuple[Float[Array, "*b m d_v"], DroppedAttentionCache]:
    """Attention with dropout on its weights. The rows of kept weights sum to one only on average.

    >>> import numpy as np
    >>> Q, K, V = np.zeros((1, 1)), np.zeros((2, 1)), np.array([[4.0], [8.0]])
    >>> dropped_attention(Q, K, V, np.array([[True, True]]), 0.5)[0]  # both are kept, and doubled
    array([[12.]])
    """
    rules.finite("dropped_attention", "V", V)
    _, attention = scaled_dot_product_attention(Q, K, V, mask)
    return dropout(attention.P, kept, share) @ V, DroppedAttentionCache(attention, kept, share)


@checked
def dropped_attention_backward(
    dO: Float[Array, "*b m d_v"], cache: DroppedAttentionCache
) -> tuple[Float[Array, "*b m d_k"], Float[Array, "*b n d_k"], Float[Array, "*b n d_v"]]:
    """dQ, dK, dV: a dropped key has no gradient through its own weight, but has one through the softmax's sum."""
    (Q, K, V, P), kept, share = cache
    dropped = dropout(P, kept, share)
    dV = dropped.swapaxes(-1, -2) @ dO
    dP = dropout_backward(dO @ V.swapaxes(-1, -2), kept, share)
    dS = masked_softmax_backward(dP, P) / math.sqrt(Q.shape[-1])
    return dS @ K, dS.swapaxes(-1, -2) @ Q, dV
