"""The twin of `attnlib.reference.layers`: self-attention and cross-attention.

The book derives it in eq-self-attention and eq-cross-attention (Chapter 2). Both hold an `AttentionLayer`, the
projections of Chapter 1, as `layer`: `copy_parameters(parameters, module.layer)` fills them.
"""

from torch import Tensor, nn

from attnlib.nn.attention import AttentionLayer
from attnlib.shapes import checked


class SelfAttention(nn.Module):
    """Queries, keys and values come from the same X (eq-self-attention)."""

    @checked
    def __init__(self, *, d_model: int, d_k: int, d_v: int) -> None:
        super().__init__()
        self.layer = AttentionLayer(d_model=d_model, d_k=d_k, d_v=d_v)

    def forward(self, X: Tensor, mask: Tensor | None = None) -> Tensor:
        return self.layer(X, mask=mask)  # eq-self-attention

    def attention_weights(self, X: Tensor, mask: Tensor | None = None) -> Tensor:
        """The attention weights, (*b, n, n)."""
        return self.layer.attention_weights(X, mask=mask)


class CrossAttention(nn.Module):
    """Queries come from X, keys and values from the source (eq-cross-attention)."""

    @checked
    def __init__(self, *, d_model: int, d_source: int, d_k: int, d_v: int) -> None:
        super().__init__()
        self.layer = AttentionLayer(d_model=d_model, d_source=d_source, d_k=d_k, d_v=d_v)

    def forward(self, X: Tensor, source: Tensor, mask: Tensor | None = None) -> Tensor:
        return self.layer(X, source, mask)  # eq-cross-attention

    def attention_weights(self, X: Tensor, source: Tensor, mask: Tensor | None = None) -> Tensor:
        """The attention weights, (*b, m, n)."""
        return self.layer.attention_weights(X, source, mask)
