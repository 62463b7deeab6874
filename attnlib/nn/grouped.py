"""The twin of `attnlib.reference.grouped`: groups of query heads that share keys and values.

The book derives it in eq-grouped-query (Chapter 3). The layer is `MultiHeadAttention` with `n_kv_heads`.
"""

from torch import Tensor

from attnlib.shapes import Float, Number, checked


@checked
def repeat_heads(K: Float[Tensor, "*b g n d"], times: Number[int, "1.."]) -> Float[Tensor, "*b h n d"]:
    """Each head `times` times in a row, so that query head i uses key head i // times (eq-grouped-query)."""
    return K if times == 1 else K.repeat_interleave(times, dim=-3)  # eq-grouped-query
