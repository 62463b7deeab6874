"""Fewer heads of keys and values than of queries: a group of heads shares them, or all heads do (multi-query).

The book derives it in eq-grouped-query (Chapter 3). The twin is `attnlib.nn.grouped`. The layer is
`grouped_query_attention` of `attnlib.reference.multihead`; the module, `MultiHeadAttention` with `n_kv_heads`.
"""

import numpy as np

from attnlib import rules
from attnlib.shapes import Array, Float, Number, checked


@checked
def repeat_heads(K: Float[Array, "*b g n d"], times: Number[int, "1.."]) -> Float[Array, "*b h n d"]:
    """Each head `times` times in a row, so that query head i uses key head i // times (eq-grouped-query).

    >>> repeat_heads(np.array([[[1.0]], [[2.0]]]), times=2)[:, 0, 0]
    array([1., 1., 2., 2.])
    """
    return np.repeat(K, times, axis=-3)  # eq-grouped-query


@checked
def repeat_heads_backward(
    dR: Float[Array, "*b h n d"], times: Number[int, "1.."]
) -> Float[Array, "*b g n d"]:
    """dK: the sum of the gradients of all copies (eq-grouped-query)."""
    rules.splits_evenly("repeat_heads_backward", "the number of heads", dR.shape[-3], "times", times)
    return dR.reshape(*dR.shape[:-3], dR.shape[-3] // times, times, *dR.shape[-2:]).sum(axis=-3)
