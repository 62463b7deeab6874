"""The twin of `attnlib.reference.multihead`: a home for the parameters of multi-head attention.

The book derives it in eq-head, eq-multi-head, eq-multi-head-sum and eq-grouped-query (Chapter 3). What a decoder
remembers from step to step is in `attnlib.nn.cache`.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from attnlib import rules
from attnlib.nn.attention import fused_attention, visible
from attnlib.nn.cache import KeyValueCache, SourceCache
from attnlib.nn.grouped import repeat_heads
from attnlib.nn.heads import mask_for_heads, merge_heads
from attnlib.nn.ops import masked_softmax
from attnlib.nn.scores import scaled_dot_scores
from attnlib.shapes import Bool, Float, Number, checked

WHO = "MultiHeadAttention"
Cache = KeyValueCache | SourceCache
Positions = Callable[[Tensor, int], Tensor]


def _split_by_width(X: Float[Tensor, "*b n d"], d_head: int) -> Float[Tensor, "*b h n d_head"]:
    """The heads of a width, cut by *their* width: a layer that is shared among devices has a part of the heads."""
    return X.unflatten(-1, (-1, d_head)).transpose(-2, -3)  # eq-split-heads


class MultiHeadAttention(nn.Module):
    """Attention with n_heads heads from X to a source, or from X to itself (eq-multi-head).

    d_source      width of the source; by default that of X
    n_kv_heads    heads of keys and values; fewer than n_heads share them (eq-grouped-query), 1 is multi-query
    d_k, d_v      widths of a head's keys and values; by default d_model / n_heads, and d_k
    causal        each position sees itself and what came before, in a cache too
    dropout       the share of weights that is dropped while training
    norm          makes, from a width, what queries and keys pass through: `torch.nn.RMSNorm`, for example

    What goes through the submodules `W_Q`, `W_K`, `W_V`, `heads` and `W_O` can be read and replaced there: they are
    called, so hooks, adapters and shards of them work. `heads` does nothing; it hears what each head says. The weights
    of attention are not kept: `attention_weights` computes them, and takes what `forward` takes.
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
        positions: Positions | None = None,
        cache: Cache | None = None,
    ) -> Float[Tensor, "*b m d_model"]:
        """What the heads say of X, joined.

        mask         True = may look; (*b, m, n) for all heads or (*b, h, m, n) for each
        bias         added to the scores, (h, m, n) or what broadcasts to it: relative positions, for example
        positions    turns queries and keys, `positions(Q, first)`; the first one stands at position `first`
        cache        what came before X, `KeyValueCache`, or the source's keys and values, `SourceCache`
        """
        Z = self._head_outputs(X, source, mask, bias, positions, cache)
        Y = self.W_O(merge_heads(Z))  # eq-multi-head
        if cache is not None:
            cache.keep()  # a call that failed has left nothing behind
        return Y

    @checked
    def attention_weights(
        self,
        X: Float[Tensor, "*b m {self.d_model}"],
        source: Float[Tensor, "*b n {self.d_source}"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
        bias: Float[Tensor, "..."] | None = None,
        positions: Positions | None = None,
        cache: Cache | None = None,
    ) -> Float[Tensor, "*b h m n"]:
        """Who looks where, for each head. The cache is read, and stays as it is."""
        Q, K, _ = self._project(X, source, mask, bias, positions, cache)
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
        positions: Positions | None = None,
        cache: Cache | None = None,
    ) -> Float[Tensor, "*b h m d_model"]:
        """What each head adds to the output; with what W_O gives to zeros they sum to it (eq-multi-head-sum)."""
        Z = self._head_outputs(X, source, mask, bias, positions, cache)
        heads = torch.eye(Z.shape[-3], dtype=Z.dtype, device=Z.device)
        alone = merge_heads(Z[..., None, :, :, :] * heads[..., None, None])  # one head each, zeros beside it
        nothing = self.W_O(torch.zeros_like(merge_heads(Z)))
        return self.W_O(alone) - nothing[..., None, :, :]  # eq-multi-head-sum

    def _head_outputs(
        self,
        X: Tensor,
        source: Tensor | None,
        mask: Tensor | None,
        bias: Tensor | None,
        positions: Positions | None,
        cache: Cache | None,
    ) -> Float[Tensor, "*b h m d_v"]:
        Q, K, V = self._project(X, source, mask, bias, positions, cache)
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
        positions: Positions | None,
        cache: Cache | None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Q (*b, h, m, d_k), K and V (*b, g, n, d_k) and (*b, g, n, d_v), those in the cache included."""
        self._check(X, source, mask, bias, positions, cache)

        def keys_and_values(source: Tensor) -> tuple[Tensor, Tensor]:
            return self.norm_K(_split_by_width(self.W_K(source), self.d_k)), _split_by_width(
                self.W_V(source), self.d_v
            )

        Q = self.norm_Q(_split_by_width(self.W_Q(X), self.d_k))  # eq-layer
        if isinstance(cache, SourceCache):
            return Q, *cache.once(lambda: keys_and_values(source))  # pyright: ignore
        K, V = keys_and_values(X if source is None else source)
        first = 0 if cache is None else cache.length
        if positions is not None:
            Q, K = positions(Q, first), positions(K, first)
        return (Q, K, V) if cache is None else (Q, *cache.extended(K, V))

    def _check(self, X: Tensor, source: Any, mask: Any, bias: Any, positions: Any, cache: Any) -> None:
        """What the annotations cannot say: who may attend to what, and the shape of the scores."""
        if torch.compiler.is_compiling():
            return
        rules.dtype_of_the_layer(WHO, X, self.W_Q)
        if (
            source is mask is bias is None
            and self.d_source == self.d_model
            and type(cache) is not SourceCache
        ):
            return
        held = 0 if cache is None else len(cache)
        if isinstance(cache, SourceCache):
            of, n = (held, held) if source is None else (held or source.shape[-2], source.shape[-2])
            rules.must(
                of > 0, WHO, "an empty SourceCache needs a source; got none. Pass it to the first call."
            )
            then = f"got one of {n} positions after one of {held}. Another source needs a cache of its own, or `reset`."
            rules.must(of == n, WHO, f"a SourceCache holds one source; {then}")
        elif source is not None:
            then = "got a KeyValueCache, which grows with every call."
            rules.must(cache is None, WHO, f"a source needs a SourceCache; {then}")
        crossed = source is not None or isinstance(cache, SourceCache)
        what = f"for {'a causal layer' if self.causal else 'positions'}"
        then = "got a source. Its places go into `mask` or `bias`."
        alone = not crossed or (not self.causal and positions is None)
        rules.must(alone, WHO, f"queries and keys must come from one sequence {what}; {then}")
        widths = f"for d_source={self.d_source} is not d_model={self.d_model}"
        same = crossed or self.d_source == self.d_model
        rules.must(same, WHO, f"source must be given, {widths}; got none.")
        n = held if crossed and held else held + (X if source is None else source).shape[-2]
        rows = (*X.shape[:-2], self.n_heads, X.shape[-2], n)
        shared = mask is not None and mask.dim() < len(rows)
        rules.broadcasts(WHO, "mask", mask, (*X.shape[:-1], n) if shared else rows)
        rules.broadcasts(WHO, "bias", bias, rows)
