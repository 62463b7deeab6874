"""The twin of `attnlib.reference.multihead`: multi-head attention, a module with its parameters.

The book derives it in eq-head, eq-multi-head, eq-multi-head-sum and eq-grouped-query (Chapter 3). The keys and
values that a decoder keeps between steps are in `attnlib.nn.cache`.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from attnlib import rules
from attnlib.nn.attention import fused_attention, visible
from attnlib.nn.cache import KVCache, SourceCache
from attnlib.nn.grouped import repeat_heads
from attnlib.nn.heads import mask_for_heads, merge_heads
from attnlib.nn.ops import masked_softmax
from attnlib.nn.scores import scaled_dot_scores
from attnlib.shapes import Bool, Float, Number, checked

WHO = "MultiHeadAttention"
Cache = KVCache | SourceCache
Rotate = Callable[[Tensor, int], Tensor]


def _split_by_width(X: Float[Tensor, "*b n d"], d_head: int) -> Float[Tensor, "*b h n d_head"]:
    """Split a width into heads of width d_head: their number may be smaller where devices share a layer."""
    return X.unflatten(-1, (-1, d_head)).transpose(-2, -3)  # eq-split-heads


class MultiHeadAttention(nn.Module):
    """Attention with n_heads heads from X to a source, or from X to itself (eq-multi-head).

    d_source      width of the source; by default that of X
    n_kv_heads    heads of keys and values; fewer than n_heads share them (eq-grouped-query), 1 is multi-query
    d_k, d_v      widths of a head's keys and values; by default d_model / n_heads, and d_k
    causal        each position attends to itself and earlier positions, also those in a cache
    dropout       the share of attention weights that is dropped during training
    norm          a class of norm, such as `torch.nn.RMSNorm`, applied to queries and keys

    The submodules `W_Q`, `W_K`, `W_V`, `heads` and `W_O` are called, so hooks, adapters and shards work. `heads` is
    the identity: hooks on it can read or replace the output of each head. Attention weights are not stored;
    `attention_weights` computes them from the arguments of `forward`.
    """

    @checked
    def __init__(
        self,
        *,
        d_model: Number[int, "1.."],
        n_heads: Number[int, "1.."],
        n_kv_heads: Number[int, "1.."] | None = None,
        d_source: Number[int, "1.."] | None = None,
        d_k: Number[int, "1.."] | None = None,
        d_v: Number[int, "1.."] | None = None,
        bias: bool = True,
        causal: bool = False,
        dropout: float = 0.0,
        norm: Callable[[int], nn.Module] | None = None,
    ) -> None:
        super().__init__()
        n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
        d_source = d_model if d_source is None else d_source
        rules.splits_evenly(WHO, "n_heads", n_heads, "n_kv_heads", n_kv_heads)
        if d_k is None:
            rules.splits_evenly(WHO, "d_model", d_model, "n_heads", n_heads)
            d_k = d_model // n_heads
        d_v = d_k if d_v is None else d_v
        rules.must(0 <= dropout < 1, WHO, f"dropout must be at least 0 and below 1; got {dropout=}.")
        self.d_model, self.d_source, self.d_k, self.d_v = d_model, d_source, d_k, d_v
        self.n_heads, self.n_kv_heads, self.causal, self.dropout = n_heads, n_kv_heads, causal, dropout
        self.W_Q = nn.Linear(d_model, n_heads * d_k, bias=bias)
        self.W_K = nn.Linear(d_source, n_kv_heads * d_k, bias=bias)
        self.W_V = nn.Linear(d_source, n_kv_heads * d_v, bias=bias)
        self.W_O = nn.Linear(n_heads * d_v, d_model, bias=bias)
        self.norm_Q, self.norm_K = (nn.Identity(), nn.Identity()) if norm is None else (norm(d_k), norm(d_k))
        self.heads = nn.Identity()

    @checked
    def forward(
        self,
        X: Float[Tensor, "*b m {self.d_model}"],
        source: Float[Tensor, "*b n {self.d_source}"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
        bias: Float[Tensor, "..."] | None = None,
        rotate: Rotate | None = None,
        kv_cache: Cache | None = None,
    ) -> Float[Tensor, "*b m d_model"]:
        """The output for X: the outputs of all heads, joined and projected.

        mask         True = may look; (*b, m, n) for all heads or (*b, h, m, n) for each
        bias         added to the scores, (h, m, n) or what broadcasts to it: relative positions, for example
        rotate       rotates queries and keys, `rotate(Q, first)`, where `first` is the position of the first
        kv_cache     keys and values of earlier positions, `KVCache`, or of the source, `SourceCache`
        """
        Z = self._head_outputs(X, source, mask, bias, rotate, kv_cache)
        Y = self.W_O(merge_heads(Z))  # eq-multi-head
        if kv_cache is not None:
            kv_cache.keep()  # only now, so that a call that fails leaves the cache as it was
        return Y

    @checked
    def attention_weights(
        self,
        X: Float[Tensor, "*b m {self.d_model}"],
        source: Float[Tensor, "*b n {self.d_source}"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
        bias: Float[Tensor, "..."] | None = None,
        rotate: Rotate | None = None,
        kv_cache: Cache | None = None,
    ) -> Float[Tensor, "*b h m n"]:
        """The attention weights of each head. The cache is read, but not changed."""
        Q, K, _ = self._project(X, source, mask, bias, rotate, kv_cache)
        S = scaled_dot_scores(Q, repeat_heads(K, self.n_heads // self.n_kv_heads))
        S = S if bias is None else S + bias
        return masked_softmax(S, visible(Q, K, mask_for_heads(mask, X.dim()), self.causal))  # eq-weights

    @checked
    def contributions(
        self,
        X: Float[Tensor, "*b m {self.d_model}"],
        source: Float[Tensor, "*b n {self.d_source}"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
        bias: Float[Tensor, "..."] | None = None,
        rotate: Rotate | None = None,
        kv_cache: Cache | None = None,
    ) -> Float[Tensor, "*b h m d_model"]:
        """What each head adds to the output; together with the bias of W_O they sum to it (eq-multi-head-sum)."""
        Z = self._head_outputs(X, source, mask, bias, rotate, kv_cache)
        heads = torch.eye(Z.shape[-3], dtype=Z.dtype, device=Z.device)
        alone = merge_heads(Z[..., None, :, :, :] * heads[..., None, None])  # one head, the others zero
        nothing = self.W_O(torch.zeros_like(merge_heads(Z)))
        return self.W_O(alone) - nothing[..., None, :, :]  # eq-multi-head-sum

    def _head_outputs(
        self,
        X: Tensor,
        source: Tensor | None,
        mask: Tensor | None,
        bias: Tensor | None,
        rotate: Rotate | None,
        kv_cache: Cache | None,
    ) -> Float[Tensor, "*b h m d_v"]:
        Q, K, V = self._project(X, source, mask, bias, rotate, kv_cache)
        dropout = self.dropout if self.training else 0.0
        mask = None if mask is None else mask_for_heads(mask, X.dim())
        Z = fused_attention(Q, K, V, mask, bias, self.causal, dropout)  # eq-head
        return self.heads(Z)

    def _project(
        self,
        X: Tensor,
        source: Tensor | None,
        mask: Tensor | None,
        bias: Tensor | None,
        rotate: Rotate | None,
        kv_cache: Cache | None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Q (*b, h, m, d_k), K and V (*b, g, n, d_k) and (*b, g, n, d_v), those in the cache included."""
        self._check(X, source, mask, bias, rotate, kv_cache)

        def keys_and_values(source: Tensor) -> tuple[Tensor, Tensor]:
            return self.norm_K(_split_by_width(self.W_K(source), self.d_k)), _split_by_width(
                self.W_V(source), self.d_v
            )

        Q = self.norm_Q(_split_by_width(self.W_Q(X), self.d_k))  # eq-layer
        if isinstance(kv_cache, SourceCache):
            return Q, *kv_cache.once(lambda: keys_and_values(source))  # pyright: ignore
        K, V = keys_and_values(X if source is None else source)
        first = 0 if kv_cache is None else kv_cache.length
        if rotate is not None:
            Q, K = rotate(Q, first), rotate(K, first)
        return (Q, K, V) if kv_cache is None else (Q, *kv_cache.extended(K, V))

    def _check(self, X: Tensor, source: Any, mask: Any, bias: Any, rotate: Any, kv_cache: Any) -> None:
        """Checks that annotations cannot express: which arguments may be combined, and the shape of the scores."""
        if torch.compiler.is_compiling():
            return
        rules.dtype_of_the_layer(WHO, X, self.W_Q)
        if (
            source is mask is bias is None
            and self.d_source == self.d_model
            and type(kv_cache) is not SourceCache
        ):
            return
        held = 0 if kv_cache is None else len(kv_cache)
        if isinstance(kv_cache, SourceCache):
            of, n = (held, held) if source is None else (held or source.shape[-2], source.shape[-2])
            rules.must(
                of > 0, WHO, "an empty SourceCache needs a source; got none. Pass it to the first call."
            )
            then = f"got one of {n} positions after one of {held}. Another source needs a cache of its own, or `reset`."
            rules.must(of == n, WHO, f"a SourceCache holds one source; {then}")
        elif source is not None:
            then = "got a KVCache, which grows with every call."
            rules.must(kv_cache is None, WHO, f"a source needs a SourceCache; {then}")
        crossed = source is not None or isinstance(kv_cache, SourceCache)
        what = f"for {'a causal layer' if self.causal else 'positions'}"
        then = "got a source. Pass its positions in `mask` or `bias`."
        alone = not crossed or (not self.causal and rotate is None)
        rules.must(alone, WHO, f"queries and keys must come from one sequence {what}; {then}")
        widths = f"for d_source={self.d_source} is not d_model={self.d_model}"
        same = crossed or self.d_source == self.d_model
        rules.must(same, WHO, f"source must be given, {widths}; got none.")
        n = held if crossed and held else held + (X if source is None else source).shape[-2]
        rows = (*X.shape[:-2], self.n_heads, X.shape[-2], n)
        shared = mask is not None and mask.dim() < len(rows)
        rules.broadcasts(WHO, "mask", mask, (*X.shape[:-1], n) if shared else rows)
        rules.broadcasts(WHO, "bias", bias, rows)
