"""The twin of `attnlib.reference.multihead`: a home for the weights of multi-head attention, and a decoder's memory.

The book derives it in eq-head, eq-multi-head, eq-multi-head-sum and eq-grouped-query (Chapter 3).
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnlib.nn import _check
from attnlib.nn.attention import attention_weights, scaled_dot_product_attention
from attnlib.nn.grouped import repeat_heads
from attnlib.nn.heads import mask_for_heads, merge_heads, split_heads
from attnlib.nn.masks import causal_mask
from attnlib.reference import _check_heads, _check_masks
from attnlib.shapes import Float


def _together(X: Tensor, *maps: nn.Linear) -> tuple[Tensor, ...]:
    """Several linear maps of the same X as one: their weights are laid side by side, the result is cut again."""
    W = torch.cat([linear.weight for linear in maps])
    b = None if maps[0].bias is None else torch.cat([linear.bias for linear in maps])
    return F.linear(X, W, b).split([linear.out_features for linear in maps], dim=-1)


class KeyValueCache:
    """The keys and values of all positions that a decoder has read, (*b, n_kv_heads, n, d_k) each."""

    def __init__(self) -> None:
        self.K: Tensor | None = None
        self.V: Tensor | None = None

    def joined(self, K: Tensor, V: Tensor) -> tuple[Tensor, Tensor]:
        """All keys and values so far, and those of new positions behind them; nothing is kept yet."""
        if self.K is None or self.V is None:
            return K, V
        _check_heads.follows("KeyValueCache", K, self.K)
        return torch.cat([self.K, K], dim=-2), torch.cat([self.V, V], dim=-2)

    def append(self, K: Tensor, V: Tensor) -> tuple[Tensor, Tensor]:
        """Keep the keys and values of new positions; all so far come back."""
        self.K, self.V = self.joined(K, V)
        return self.K, self.V

    def __len__(self) -> int:
        return 0 if self.K is None else self.K.shape[-2]

    @property
    def nbytes(self) -> int:
        """What the memory costs."""
        return sum(tensor.nbytes for tensor in (self.K, self.V) if tensor is not None)


class MultiHeadAttention(nn.Module):
    """Attention with n_heads heads from X to a source, or from X to itself (eq-multi-head).

    d_source      width of the source; by default that of X
    n_kv_heads    heads of keys and values; fewer than n_heads share them (eq-grouped-query), 1 is multi-query

    The weights of attention are not kept: `attention_weights` computes them, and takes what `forward` takes. What
    each head says passes through the submodule `heads`, which does nothing: a forward hook there reads or replaces it.
    (The linear maps of the same input run as one, so hooks on them are not called: on W_Q, W_K and W_V within one
    sequence, on W_K and W_V towards a source. What they would hear is `layer.W_Q(X)`.)
    """

    def __init__(
        self,
        *,
        d_model: int,
        n_heads: int,
        n_kv_heads: int | None = None,
        bias: bool = True,
        d_source: int | None = None,
    ) -> None:
        super().__init__()
        n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
        d_source = d_model if d_source is None else d_source
        _check_masks.sizes("multi_head_attention", d_source=d_source)
        _check_heads.splits_evenly("multi_head_attention", "d_model", d_model, "n_heads", n_heads)
        _check_heads.splits_evenly("multi_head_attention", "n_heads", n_heads, "n_kv_heads", n_kv_heads)
        self.n_heads, self.n_kv_heads = n_heads, n_kv_heads
        d_shared = n_kv_heads * (d_model // n_heads)
        self.W_Q = nn.Linear(d_model, d_model, bias=bias)
        self.W_K = nn.Linear(d_source, d_shared, bias=bias)
        self.W_V = nn.Linear(d_source, d_shared, bias=bias)
        self.W_O = nn.Linear(d_model, d_model, bias=bias)
        self.heads = nn.Identity()

    def forward(self, X: Tensor, source: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        """(*b, m, d_model). mask: (*b, m, n) for all heads or (*b, h, m, n) for each; True = may look."""
        self._check(X, source, mask)
        Q, K, V = self._project(X, source)
        return self.W_O(merge_heads(self._head_outputs(Q, K, V, mask)))  # eq-multi-head

    def attention_weights(
        self, X: Tensor, source: Tensor | None = None, mask: Tensor | None = None
    ) -> Tensor:
        """Who looks where, for each head: (*b, h, m, n)."""
        self._check(X, source, mask)
        Q, K, _ = self._project(X, source)
        return attention_weights(Q, self._for_all_heads(K), mask_for_heads(mask, X.dim()))  # eq-weights

    def contributions(self, X: Tensor, source: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        """What each head adds to the output, (*b, h, m, d_model); with the bias they sum to it (eq-multi-head-sum)."""
        self._check(X, source, mask)
        Q, K, V = self._project(X, source)
        Z = self._head_outputs(Q, K, V, mask)
        return Z @ self.W_O.weight.T.unflatten(0, (self.n_heads, -1))  # eq-multi-head-sum

    def step(self, X: Tensor, cache: KeyValueCache) -> Tensor:
        """Causal self-attention of the next positions X, after those in the cache, which grows by them."""
        self._check(X, None, None)
        if not isinstance(cache, KeyValueCache):
            raise TypeError(
                f"multi_head_attention: a step needs a KeyValueCache; got {type(cache).__name__}. "
                "Make one with `KeyValueCache()` and give it to every step."
            )
        Q, K, V = self._project(X, None)
        K, V = cache.joined(K, V)
        mask = None if X.shape[-2] == 1 else causal_mask(K.shape[-2], X.shape[-2], device=X.device)
        Y = self.W_O(merge_heads(self._head_outputs(Q, K, V, mask)))
        cache.K, cache.V = K, V  # a step that failed has left nothing behind
        return Y

    def _project(self, X: Tensor, source: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """Q (*b, h, m, d_k), K and V (*b, g, n, d_k)."""
        if source is None:
            Q, K, V = _together(X, self.W_Q, self.W_K, self.W_V)  # eq-layer
        else:
            Q, (K, V) = self.W_Q(X), _together(source, self.W_K, self.W_V)
        return split_heads(Q, self.n_heads), split_heads(K, self.n_kv_heads), split_heads(V, self.n_kv_heads)

    def _head_outputs(self, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None) -> Tensor:
        K, V = self._for_all_heads(K), self._for_all_heads(V)
        return self.heads(scaled_dot_product_attention(Q, K, V, mask_for_heads(mask, Q.dim() - 1)))  # eq-head

    def _for_all_heads(self, K: Float[Tensor, "*b g n d"]) -> Float[Tensor, "*b h n d"]:
        return repeat_heads(K, self.n_heads // self.n_kv_heads)

    def _check(self, X: Tensor, source: Tensor | None, mask: Tensor | None) -> None:
        who, other = "multi_head_attention", X if source is None else source
        _check.batched(who, X=X, source=other)
        _check.same_dtype(who, X=X, W_Q=self.W_Q.weight)
        _check.weight(who, "d_model", "h d_k", "X", X.shape[-1], W_Q=self.W_Q.weight.T)
        _check.weight(who, "d_source", "h d_k", "the source", other.shape[-1], W_K=self.W_K.weight.T)
        rows = tuple(X.shape[:-1])
        _check_heads.mask(who, mask, rows, self.n_heads, other.shape[-2], kind=_check.TENSOR)
