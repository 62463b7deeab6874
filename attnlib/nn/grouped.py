"""The twin of `attnlib.reference.grouped`: groups of query heads that share keys and values.

The book derives it in eq-grouped-query (Chapter 3). The layer is `MultiHeadAttention` with `n_kv_heads`.
"""

from torch import Tensor

from attnlib.nn import _check
from attnlib.reference import _check_heads, _check_masks
from attnlib.shapes import Float


def repeat_heads(K: Float[Tensor, "*b g n d"], times: int) -> Float[Tensor, "*b h n d"]:
    """Each head `times` times in a row, so that query head i meets key head i // times (eq-grouped-query)."""
    _check_heads.has_heads("repeat_heads", "K", K, kind=_check.TENSOR)
    _check_masks.sizes("repeat_heads", times=times)
    return K if times == 1 else K.repeat_interleave(times, dim=-3)  # eq-grouped-query
