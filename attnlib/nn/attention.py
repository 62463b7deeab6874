"""The twin of `attnlib.reference.attention`: attention in PyTorch. Functions return only the output.

The book derives it in eq-attend, eq-attention and eq-layer (Chapter 1).
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnlib import rules
from attnlib.nn.masks import causal_mask
from attnlib.nn.ops import masked_softmax
from attnlib.shapes import Bool, Float, Number, checked, same_size


@checked
def attend(
    S: Float[Tensor, "*b m n"], V: Float[Tensor, "*b n d_v"], mask: Bool[Tensor, "*#b #m #n"] | None = None
) -> Float[Tensor, "*b m d_v"]:
    """Normalise any scores to weights and average the values with them (eq-attend)."""
    return masked_softmax(S, mask) @ V  # eq-attend


@checked
def attention_weights(
    Q: Float[Tensor, "*b m d_k"], K: Float[Tensor, "*b n d_k"], mask: Bool[Tensor, "*#b #m #n"] | None = None
) -> Float[Tensor, "*b m n"]:
    """The weights of scaled dot-product attention (eq-weights)."""
    S = Q @ K.mT / math.sqrt(Q.shape[-1])
    return masked_softmax(S, mask)  # eq-weights


def _four_axes(X: Tensor) -> Tensor:
    """(1, 1, m, n) from (m, n): with fewer axes PyTorch chooses an implementation that stores all weights."""
    return X if X.dim() > 3 else X[(None,) * (4 - X.dim())]


@checked
def visible(
    Q: Float[Tensor, "*b m d_k"],
    K: Float[Tensor, "*g n d_k"],
    mask: Bool[Tensor, "*#b #m #n"] | None,
    causal: bool,
) -> Bool[Tensor, "..."] | None:
    """The mask, combined with a causal one if `causal`; the last query is at the position of the last key."""
    m, n = Q.shape[-2], K.shape[-2]
    if not causal or m == 1:
        return mask
    past = causal_mask(n, m, device=Q.device)
    return past if mask is None else mask & past


def _hidden(
    Q: Tensor, K: Tensor, mask: Tensor | None, bias: Tensor | None, causal: bool
) -> Float[Tensor, "..."] | Bool[Tensor, "..."] | None:
    """The operator's `attn_mask`: boolean (True = may look), or numbers to add, -inf where a query may not look."""
    seen = visible(Q, K, mask, causal)
    if bias is not None:
        bias = bias.to(Q.dtype)
        seen = bias if seen is None else bias.masked_fill(~seen, -math.inf)
    return None if seen is None else _four_axes(seen)


@checked
def fused_attention(
    Q: Float[Tensor, "*b m d_k"],
    K: Float[Tensor, "*g n d_k"],
    V: Float[Tensor, "*g n d_v"],
    mask: Bool[Tensor, "*#b #m #n"] | None = None,
    bias: Float[Tensor, "*#b #m #n"] | None = None,
    causal: bool = False,
    dropout: Number[float, "0..1"] = 0.0,
) -> Float[Tensor, "*b m d_v"]:
    """Attention by PyTorch's fused operator, which never stores all weights (eq-attention).

    A query that may look nowhere gets zeros, and its gradients are finite. If only `causal` hides keys, no n x n mask
    is made: the operator has a flag for m = n, and `causal_lower_right` stands for the last m of n positions.

    >>> fused_attention(torch.zeros(2, 1), torch.zeros(2, 1), torch.tensor([[4.0], [8.0]]), causal=True)
    tensor([[4.],
            [6.]])
    """
    m, n = Q.shape[-2], K.shape[-2]
    causal = causal and m > 1  # a single query is the last position, which sees all keys
    alone = mask is None and bias is None
    whole, hidden = False, None
    if alone and causal and m == n:
        whole = True
    elif (
        alone and causal and not torch.compiler.is_compiling()
    ):  # torch.compile does not support causal_lower_right
        from torch.nn.attention.bias import (
            causal_lower_right,
        )  # here, because it loads the compiler, which takes a second

        hidden = causal_lower_right(m, n)
    elif causal or not alone:
        hidden = _hidden(Q, K, mask, bias, causal)
    O = F.scaled_dot_product_attention(
        _four_axes(Q),
        _four_axes(K),
        _four_axes(V),
        attn_mask=hidden,
        dropout_p=dropout,
        is_causal=whole,
        enable_gqa=Q.dim() > 2 and Q.shape[-3] != K.shape[-3],
    )  # eq-attention
    return O if Q.dim() > 3 else O.reshape(*Q.shape[:-1], V.shape[-1])


@checked
def scaled_dot_product_attention(
    Q: Float[Tensor, "*b m d_k"],
    K: Float[Tensor, "*b n d_k"],
    V: Float[Tensor, "*b n d_v"],
    mask: Bool[Tensor, "*#b #m #n"] | None = None,
) -> Float[Tensor, "*b m d_v"]:
    """Attention with scaled dot-product scores, by PyTorch's fused operator (eq-attention).

    mask    True where a query may look; a query that may look nowhere gets zeros

    >>> Q, K, V = torch.tensor([[1.0]]), torch.tensor([[0.0], [math.log(3.0)]]), torch.tensor([[4.0], [8.0]])
    >>> scaled_dot_product_attention(Q, K, V)
    tensor([[7.0000]])
    """
    return fused_attention(Q, K, V, mask)  # eq-attention


class AttentionLayer(nn.Module):
    """Attention with separate projections from X to a source, or from X to itself (eq-layer).

    d_source    width of the source; by default that of X
    """

    @checked
    def __init__(
        self,
        *,
        d_model: Number[int, "1.."],
        d_source: Number[int, "1.."] | None = None,
        d_k: Number[int, "1.."],
        d_v: Number[int, "1.."],
    ) -> None:
        super().__init__()
        d_source = d_model if d_source is None else d_source
        self.d_model, self.d_source = d_model, d_source
        self.W_Q = nn.Linear(d_model, d_k, bias=False)
        self.W_K = nn.Linear(d_source, d_k, bias=False)
        self.W_V = nn.Linear(d_source, d_v, bias=False)

    @checked
    @same_size(source="X")
    def forward(
        self,
        X: Float[Tensor, "*b m {self.d_model}"],
        source: Float[Tensor, "*b n {self.d_source}"] | None = None,
        mask: Bool[Tensor, "*#b #m #n"] | None = None,
    ) -> Float[Tensor, "*b m d_v"]:
        source = self._source(X, source)
        return scaled_dot_product_attention(self.W_Q(X), self.W_K(source), self.W_V(source), mask)

    @checked
    @same_size(source="X")
    def attention_weights(
        self,
        X: Float[Tensor, "*b m {self.d_model}"],
        source: Float[Tensor, "*b n {self.d_source}"] | None = None,
        mask: Bool[Tensor, "*#b #m #n"] | None = None,
    ) -> Float[Tensor, "*b m n"]:
        """The attention weights, (*b, m, n); each row sums to one."""
        source = self._source(X, source)
        return attention_weights(self.W_Q(X), self.W_K(source), mask)

    def _source(self, X: Tensor, source: Tensor | None) -> Tensor:
        """The source, or X itself if none is given."""
        rules.dtype_of_the_layer("AttentionLayer", X, self.W_Q)
        return X if source is None else source
