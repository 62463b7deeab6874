"""The twin of `attnlib.reference.decoder_block`: a block that hears what was said, and reads a memory.

The book derives it in eq-decoder-block and eq-cross-projections (Chapter 4).
"""

from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor, nn

from attnlib import rules
from attnlib.nn.cache import KeyValueCache, SourceCache
from attnlib.nn.multihead import MultiHeadAttention
from attnlib.nn.transformer import ORDERS, dropout_of
from attnlib.shapes import Float


class DecoderCache(NamedTuple):
    """What one block remembers from step to step: what was said, which grows, and the source, which does not."""

    said: KeyValueCache
    source: SourceCache


class DecoderBlock(nn.Module):
    """Attention within the target, attention to the memory of a source, and a feed-forward network (eq-decoder-block).

    attention    within the target: causal, where the block says one token after the other
    cross        from the target to the memory
    order        one of ORDERS, as in `Block`
    """

    def __init__(
        self,
        *,
        attention: MultiHeadAttention,
        cross: MultiHeadAttention,
        feed_forward: nn.Module,
        norm: Callable[[int], nn.Module] = nn.LayerNorm,
        order: str = "pre",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        rules.one_of("decoder_block", "order", order, ORDERS)
        self.order = order
        self.attention, self.cross, self.feed_forward = attention, cross, feed_forward
        self.norm_1, self.norm_2, self.norm_3 = (norm(attention.d_model) for _ in range(3))
        self.dropout = dropout_of(dropout)

    def forward(
        self,
        X: Float[Tensor, "*b m d_model"],
        memory: Float[Tensor, "*b n d_source"],
        mask: Tensor | None = None,
        source_mask: Tensor | None = None,
        cache: DecoderCache | None = None,
    ) -> Float[Tensor, "*b m d_model"]:
        """mask (*b, m, m) within the target, source_mask (*b, m, n) of the memory; True = may look.

        With a cache, X are the tokens after those that it holds, and the memory is projected at the first call alone.
        """
        around, (said, source) = ORDERS[self.order], cache or (None, None)

        def attention(Z: Tensor) -> Tensor:
            return self.dropout(self.attention(Z, mask=mask, cache=said))

        def cross(Z: Tensor) -> Tensor:
            return self.dropout(self.cross(Z, memory, mask=source_mask, cache=source))  # eq-cross-projections

        X = around(X, self.norm_1, attention)
        X = around(X, self.norm_2, cross)
        return around(X, self.norm_3, self.feed_forward)  # eq-decoder-block
