"""The twin of `attnlib.reference.multihead`: multi-head attention, a module with its parameters.

The book derives it in eq-head, eq-multi-head, eq-multi-head-sum and eq-grouped-query (Chapter 3). The keys and
values that a decoder keeps between steps are in `attnlib.nn.cache`, those of a layer with a window in
`attnlib.nn.ring_cache`.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnlib import rules
from attnlib.nn.attention import fused_attention, visible
from attnlib.nn.cache import KVCache, SourceCache
from attnlib.nn.grouped import repeat_heads
from attnlib.nn.heads import mask_for_heads, merge_heads
from attnlib.nn.multihead_checks import WHO, _check_masks, _check_ring, _combinations, _kind_and_shape
from attnlib.nn.ops import masked_softmax
from attnlib.nn.packed import OneProduct, _does_nothing, _side_by_side
from attnlib.nn.patterns import dense_mask
from attnlib.nn.patterns import window as window_of
from attnlib.nn.ring_cache import RingCache
from attnlib.nn.scores import scaled_dot_scores
from attnlib.shapes import Bool, Float, Number, checked

Cache = KVCache | RingCache | SourceCache
Rotate = Callable[[Tensor, int], Tensor]


def _split_by_width(X: Float[Tensor, "*b n d"], d_head: int) -> Float[Tensor, "*b h n d_head"]:
    """Split a width into heads of width d_head: their number may be smaller where devices share a layer."""
    return X.unflatten(-1, (-1, d_head)).transpose(-2, -3)  # eq-split-heads


class Inputs(NamedTuple):
    """The arguments of `MultiHeadAttention.forward`."""

    X: Tensor
    source: Tensor | None
    mask: Tensor | None
    bias: Tensor | None
    rotate: Rotate | None
    kv_cache: Cache | None
    key_mask: Tensor | None


class MultiHeadAttention(nn.Module):
    """Attention with n_heads heads from X to a source, or from X to itself (eq-multi-head).

    d_source      width of the source; by default that of X
    n_kv_heads    heads of keys and values; fewer than n_heads share them (eq-grouped-query), 1 is multi-query
    d_k, d_v      widths of a head's keys and values; by default d_model / n_heads, and d_k
    causal        each position attends to itself and earlier positions, also those in a cache
    window        how many neighbours each position attends to, before it and, unless causal, after it; None is all
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
        window: Number[int, "0.."] | None = None,
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
        self.window = window
        self._near = _everywhere if window is None else partial(_within, window, causal)
        self.W_Q = nn.Linear(d_model, n_heads * d_k, bias=bias)
        self.W_K = nn.Linear(d_source, n_kv_heads * d_k, bias=bias)
        self.W_V = nn.Linear(d_source, n_kv_heads * d_v, bias=bias)
        self.W_O = nn.Linear(n_heads * d_v, d_model, bias=bias)
        if d_source == d_model:
            _side_by_side(self.W_Q, self.W_K, self.W_V)
        self._one_product = OneProduct()
        self.norm_Q, self.norm_K = (nn.Identity(), nn.Identity()) if norm is None else (norm(d_k), norm(d_k))
        self.heads = nn.Identity()
        self._passed: set[Any] = set()  # what calls like those that were checked are known by

    def extra_repr(self) -> str:
        """What the printed layer says beside its maps."""
        names = ("d_model", "n_heads", "n_kv_heads", "causal", "dropout", "window")
        return ", ".join(f"{name}={getattr(self, name)}" for name in names)

    @checked
    def forward(
        self,
        X: Float[Tensor, "*b m {self.d_model}"],
        source: Float[Tensor, "*b n {self.d_source}"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
        bias: Float[Tensor, "..."] | None = None,
        rotate: Rotate | None = None,
        kv_cache: Cache | None = None,
        key_mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "*b m d_model"]:
        """The output for X: the outputs of all heads, joined and projected.

        mask         True = may look; (*b, m, n) for all heads or (*b, h, m, n) for each. Where its shape also fits
                     another reading, it is refused: with all four axes, of size one where nothing differs, it has one
        bias         added to the scores, (h, m, n) or what broadcasts to it: relative positions, for example
        rotate       rotates queries and keys, `rotate(Q, first)`, where `first` is the position of the first
        kv_cache     keys and values of earlier positions, `KVCache` or, in a window, `RingCache`; or of the source,
                     `SourceCache`
        key_mask     True = may be looked at, by every query: (*b, n), False for padding
        """
        Z = self._head_outputs(Inputs(X, source, mask, bias, rotate, kv_cache, key_mask))
        Y = self.W_O(merge_heads(Z))  # eq-multi-head
        if kv_cache is not None:
            kv_cache.keep()  # only now, so that a call that fails leaves the cache as it was
        return Y

    def new_cache(self, capacity: int | None = None) -> KVCache | RingCache:
        """An empty cache for the keys and values of earlier positions: of all, or with a window of the last ones."""
        return KVCache(capacity) if self.window is None else RingCache(self.window + 1)

    @checked
    def attention_weights(
        self,
        X: Float[Tensor, "*b m {self.d_model}"],
        source: Float[Tensor, "*b n {self.d_source}"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
        bias: Float[Tensor, "..."] | None = None,
        rotate: Rotate | None = None,
        kv_cache: Cache | None = None,
        key_mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "*b h m n"]:
        """The attention weights of each head. The cache is read, but not changed."""
        given = Inputs(X, source, mask, bias, rotate, kv_cache, key_mask)
        Q, K, _ = self._project(given)
        S = scaled_dot_scores(Q, repeat_heads(K, self.n_heads // self.n_kv_heads))
        seen, bias = self._of_keys(given, Q, K)
        S = S if bias is None else S + bias
        return masked_softmax(S, visible(Q, K, seen, self.causal))  # eq-weights

    @checked
    def contributions(
        self,
        X: Float[Tensor, "*b m {self.d_model}"],
        source: Float[Tensor, "*b n {self.d_source}"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
        bias: Float[Tensor, "..."] | None = None,
        rotate: Rotate | None = None,
        kv_cache: Cache | None = None,
        key_mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "*b h m d_model"]:
        """What each head adds to the output; together with the bias of W_O they sum to it (eq-multi-head-sum)."""
        Z = self._head_outputs(Inputs(X, source, mask, bias, rotate, kv_cache, key_mask))
        heads = torch.eye(Z.shape[-3], dtype=Z.dtype, device=Z.device)
        alone = merge_heads(Z[..., None, :, :, :] * heads[..., None, None])  # one head, the others zero
        nothing = self.W_O(torch.zeros_like(merge_heads(Z)))
        return self.W_O(alone) - nothing[..., None, :, :]  # eq-multi-head-sum

    def _head_outputs(self, given: Inputs) -> Float[Tensor, "*b h m d_v"]:
        Q, K, V = self._project(given)
        dropout = self.dropout if self.training else 0.0
        mask, bias = self._of_keys(given, Q, K)
        Z = fused_attention(Q, K, V, mask, bias, self.causal, dropout)  # eq-head
        return self.heads(Z)

    def _of_keys(self, given: Inputs, Q: Tensor, K: Tensor) -> tuple[Tensor | None, Tensor | None]:
        """The mask, with that of the window, and the bias; a cache may hold the keys of some positions only."""
        mask, bias = None if given.mask is given.key_mask is None else _seen(given), given.bias
        if given.kv_cache is not None:
            mask, bias = given.kv_cache.of_keys(mask), given.kv_cache.of_keys(bias)
        return self._near(Q, K, mask), bias

    def _project(self, given: Inputs) -> tuple[Tensor, Tensor, Tensor]:
        """Q (*b, h, m, d_k), K and V (*b, g, n, d_k) and (*b, g, n, d_v), those in the cache included."""
        self._check(given)
        X, source, rotate, kv_cache = given.X, given.source, given.rotate, given.kv_cache
        if isinstance(kv_cache, SourceCache):
            Q = self.norm_Q(_split_by_width(self.W_Q(X), self.d_k))  # eq-layer
            return Q, *kv_cache.once(lambda: self._keys_and_values(source))  # pyright: ignore
        Q, K, V = self._queries_keys_values(X, X if source is None else source)
        first = 0 if kv_cache is None else kv_cache.length
        if rotate is not None:
            Q, K = rotate(Q, first), rotate(K, first)
        return (Q, K, V) if kv_cache is None else (Q, *kv_cache.extended(K, V))

    def _queries_keys_values(self, X: Tensor, source: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The three maps: as one product of X where no hook or adapter needs its own call, else one by one."""
        maps = self._modules
        may_be_one = source is X and self.d_k == self.d_v and not torch.is_grad_enabled()
        together = self._one_product.of((maps["W_Q"], maps["W_K"], maps["W_V"])) if may_be_one else None
        if together is None:
            Q = self.norm_Q(_split_by_width(self.W_Q(X), self.d_k))  # eq-layer
            return Q, *self._keys_and_values(source)
        heads = _split_by_width(F.linear(X, *together), self.d_k)
        Q, K, V = heads.split([self.n_heads, self.n_kv_heads, self.n_kv_heads], dim=-3)  # eq-layer
        Q = Q if _does_nothing(maps["norm_Q"]) else self.norm_Q(Q)
        return Q, K if _does_nothing(maps["norm_K"]) else self.norm_K(K), V

    def _keys_and_values(self, source: Tensor) -> tuple[Tensor, Tensor]:
        K, V = self.W_K(source), self.W_V(source)
        return self.norm_K(_split_by_width(K, self.d_k)), _split_by_width(V, self.d_v)

    def _check(self, given: Inputs) -> None:
        """The rules that annotations cannot express; a call like one that has passed is not checked again."""
        if torch.compiler.is_compiling():
            return
        X, source, mask, bias, rotate, kv_cache, key_mask = given
        rules.dtype_of_the_layer(WHO, X, self.W_Q)
        if type(kv_cache) is RingCache:
            _check_ring(self.window, kv_cache.width)
        alone = source is mask is bias is key_mask is None and (rotate is None or callable(rotate))
        plain = kv_cache is None or type(kv_cache) in (KVCache, RingCache)
        if alone and plain and self.d_source == self.d_model:
            return  # X alone, with its positions and its cache, may be combined and is not masked
        held = 0 if given.kv_cache is None else len(given.kv_cache)
        like = held, *map(_kind_and_shape, given)
        if like in self._passed:
            return
        for holds, sentence in _combinations(self, given, held):
            rules.must(holds, WHO, sentence)
        _check_masks(self, given, held)
        self._passed.clear() if len(self._passed) > 1000 else self._passed.add(like)


def _everywhere(Q: Tensor, K: Tensor, mask: Tensor | None) -> Tensor | None:
    """The mask as it was given."""
    return mask


def _within(window: int, causal: bool, Q: Tensor, K: Tensor, mask: Tensor | None) -> Tensor | None:
    """Of the keys that the mask allows, those near each query; the last query is at the position of the last key."""
    m, n = Q.shape[-2], K.shape[-2]
    if m == 1 and n <= window + 1:
        return mask  # one query, and a ring holds no more than its window
    near = dense_mask(window_of(window + 1, causal=causal), m, n, Q.device)
    return near if mask is None else near & mask


def _seen(given: Inputs) -> Bool[Tensor, "..."] | None:
    """Both masks as one, with an axis for the heads."""
    keys = None if given.key_mask is None else given.key_mask[..., None, None, :]
    mask = mask_for_heads(given.mask, given.X.dim())
    return mask if keys is None else keys if mask is None else mask & keys
