"""The twin of `attnlib.reference.attention`: attention in PyTorch. Functions return the output; ask for weights apart.

The book derives it in eq-attend, eq-attention and eq-layer (Chapter 1).
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnlib.nn import _check
from attnlib.nn.ops import masked_softmax
from attnlib.reference import _check_masks
from attnlib.shapes import Bool, Float


def attend(
    S: Float[Tensor, "*b m n"], V: Float[Tensor, "*b n d_v"], mask: Bool[Tensor, "*#b #m #n"] | None = None
) -> Float[Tensor, "*b m d_v"]:
    """Normalise any scores to weights and average the values with them (eq-attend)."""
    _check.matrices("attend", S=S, V=V)
    if S.shape[-1] != V.shape[-2]:
        raise ValueError(
            f"attend: there must be one value for each of the n keys; got S {tuple(S.shape)} with n={S.shape[-1]} "
            f"and V {tuple(V.shape)} with n={V.shape[-2]}."
        )
    _check.boolean_mask("attend", mask, tuple(S.shape))
    return masked_softmax(S, mask) @ V  # eq-attend


def attention_weights(
    Q: Float[Tensor, "*b m d_k"], K: Float[Tensor, "*b n d_k"], mask: Bool[Tensor, "*#b #m #n"] | None = None
) -> Float[Tensor, "*b m n"]:
    """The weights of scaled dot-product attention (eq-weights)."""
    who = "attention_weights"
    _check.matrices(who, Q=Q, K=K)
    _check.same_width(who, "queries and keys", "d_k", Q=Q, K=K)
    S = Q @ K.mT / math.sqrt(Q.shape[-1])
    _check.boolean_mask(who, mask, tuple(S.shape))
    return masked_softmax(S, mask)  # eq-weights


def _four_axes(X: Tensor) -> Tensor:
    """(1, 1, m, n) from (m, n): with fewer axes PyTorch's operator takes a program that keeps all the weights."""
    return X[(None,) * max(0, 4 - X.dim())]


def _fused(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None) -> Tensor:
    """PyTorch's operator. Some answer NaN to a query that may look nowhere: it looks everywhere, then is zeroed."""
    Q, K, V = _four_axes(Q), _four_axes(K), _four_axes(V)
    if mask is None:
        return F.scaled_dot_product_attention(Q, K, V)
    mask = _four_axes(mask)
    seen = mask.any(dim=-1, keepdim=True)
    if bool(seen.all()):
        return F.scaled_dot_product_attention(Q, K, V, attn_mask=mask)
    return torch.where(seen, F.scaled_dot_product_attention(Q, K, V, attn_mask=mask | ~seen), 0.0)


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
    who = "scaled_dot_product_attention"
    _check.batched(who, Q=Q, K=K, V=V)
    _check.same_width(who, "queries and keys", "d_k", Q=Q, K=K)
    _check.same_count(who, "keys and values", "n", K=K, V=V)
    _check.boolean_mask(who, mask, (*Q.shape[:-1], K.shape[-2]))
    O = _fused(Q, K, V, mask).reshape(*Q.shape[:-1], V.shape[-1])  # eq-attention
    read = sum(array.detach().sum() for array in (O, Q, K))  # NaN and infinity stay visible in a sum
    if math.isfinite(float(read)):  # of O alone they do not: the operator may answer zeros to a query of NaN
        return O
    _check.finite(who, V=V)
    return attention_weights(Q, K, mask) @ V  # the plain form says which scores are wrong


class AttentionLayer(nn.Module):
    """Attention with separate projections for queries, keys and values (eq-layer)."""

    def __init__(self, *, d_query: int, d_input: int, d_k: int, d_v: int) -> None:
        super().__init__()
        _check_masks.sizes("attention_layer", d_query=d_query, d_input=d_input, d_k=d_k, d_v=d_v)
        self.W_Q = nn.Linear(d_query, d_k, bias=False)
        self.W_K = nn.Linear(d_input, d_k, bias=False)
        self.W_V = nn.Linear(d_input, d_v, bias=False)

    def forward(self, X_Q: Tensor, X: Tensor, mask: Tensor | None = None) -> Tensor:
        self._check_widths(X_Q, X)
        return scaled_dot_product_attention(self.W_Q(X_Q), self.W_K(X), self.W_V(X), mask)

    def weights(self, X_Q: Tensor, X: Tensor, mask: Tensor | None = None) -> Tensor:
        """Who looks where: (*b, m, n), each row with sum one."""
        self._check_widths(X_Q, X)
        return attention_weights(self.W_Q(X_Q), self.W_K(X), mask)

    def _check_widths(self, X_Q: Tensor, X: Tensor) -> None:
        _check.matrices("attention_layer", X_Q=X_Q, X=X)
        _check.same_dtype("attention_layer", X_Q=X_Q, W_Q=self.W_Q.weight)
        _check.weight("attention_layer", "d_query", "d_k", "X_Q", X_Q.shape[-1], W_Q=self.W_Q.weight.T)
        _check.weight("attention_layer", "d_input", "d_k", "X", X.shape[-1], W_K=self.W_K.weight.T)
