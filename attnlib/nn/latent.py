"""The twin of `attnlib.reference.latent`: multi-head latent attention, a module with its parameters.

The book derives it in eq-latent, eq-latent-scores and eq-absorbed (Chapter 4). A `KVCache` holds the latents where
another layer has its keys, and the one rotated key of all heads where it has its values.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from attnlib import rules
from attnlib.nn.attention import fused_attention, visible
from attnlib.nn.cache import KVCache
from attnlib.nn.heads import mask_for_heads, merge_heads, split_heads
from attnlib.nn.multihead import Rotate
from attnlib.nn.ops import masked_softmax
from attnlib.shapes import Bool, Float, Number, checked

WHO = "LatentAttention"


class LatentAttention(nn.Module):
    """Attention of X to itself, with keys and values of n_heads heads made from one latent of each token (eq-latent).

    d_latent     width of the latent, which is kept of each token
    d_rotated    width of the part of queries and keys that is rotated; its key is shared by all heads and kept, too
    d_k, d_v     widths of each head's plain keys, and of its values; by default d_model / n_heads, and d_k
    d_query      width of a latent of the queries; None: queries are made from X by one map
    causal       each position attends to itself and earlier positions, also those in a cache
    norm         of the latents, a class of norm such as `torch.nn.RMSNorm`

    >>> layer, X = LatentAttention(d_model=8, n_heads=2, d_latent=3, d_rotated=2, causal=True), torch.randn(5, 8)
    >>> cache = KVCache()
    >>> layer(X, kv_cache=cache).shape, cache.nbytes  # 5 tokens of 3 + 2 numbers of 4 bytes
    (torch.Size([5, 8]), 100)
    """

    @checked
    def __init__(
        self,
        *,
        d_model: Number[int, "1.."],
        n_heads: Number[int, "1.."],
        d_latent: Number[int, "1.."],
        d_rotated: Number[int, "1.."],
        d_k: Number[int, "1.."] | None = None,
        d_v: Number[int, "1.."] | None = None,
        d_query: Number[int, "1.."] | None = None,
        bias: bool = False,
        causal: bool = False,
        norm: Callable[[int], nn.Module] = nn.RMSNorm,
    ) -> None:
        super().__init__()
        if d_k is None:
            rules.splits_evenly(WHO, "d_model", d_model, "n_heads", n_heads)
            d_k = d_model // n_heads
        d_v = d_k if d_v is None else d_v
        self.d_model, self.n_heads, self.d_k, self.d_v = d_model, n_heads, d_k, d_v
        self.d_latent, self.d_rotated, self.causal = d_latent, d_rotated, causal
        self.query = (
            nn.Sequential(nn.Linear(d_model, d_query, bias), norm(d_query)) if d_query else nn.Identity()
        )
        from_query = d_query or d_model
        self.W_Q = nn.Linear(from_query, n_heads * d_k, bias and not d_query)
        self.W_QR = nn.Linear(from_query, n_heads * d_rotated, bias and not d_query)
        self.W_C = nn.Linear(d_model, d_latent, bias)
        self.W_R = nn.Linear(d_model, d_rotated, bias)
        self.norm_C = norm(d_latent)
        self.W_K = nn.Linear(d_latent, n_heads * d_k, bias=False)
        self.W_V = nn.Linear(d_latent, n_heads * d_v, bias=False)
        self.W_O = nn.Linear(n_heads * d_v, d_model, bias)

    def extra_repr(self) -> str:
        """What the printed layer says beside its maps."""
        names = ("d_model", "n_heads", "d_latent", "d_rotated", "causal")
        return ", ".join(f"{name}={getattr(self, name)}" for name in names)

    @checked
    def forward(
        self,
        X: Float[Tensor, "*b m {self.d_model}"],
        mask: Bool[Tensor, "..."] | None = None,
        bias: Float[Tensor, "..."] | None = None,
        rotate: Rotate | None = None,
        kv_cache: KVCache | None = None,
    ) -> Float[Tensor, "*b m d_model"]:
        """The output for X; keys and values of all positions are made from their latents: the expanded form.

        mask, bias, rotate are those of `MultiHeadAttention`; `rotate` acts on d_rotated numbers of queries and keys
        """
        Q_C, Q_R, C, R = self._project(X, rotate, kv_cache)
        K_C, V = split_heads(self.W_K(C), self.n_heads), split_heads(self.W_V(C), self.n_heads)
        K = torch.cat([K_C, R[..., None, :, :].expand(*K_C.shape[:-1], self.d_rotated)], dim=-1)
        Q = torch.cat([Q_C, Q_R], dim=-1)
        Z = fused_attention(Q, K, V, mask_for_heads(mask, X.dim()), bias, self.causal)  # eq-latent-scores
        return self._combined(Z, kv_cache)

    def new_cache(self, capacity: int | None = None) -> KVCache:
        """An empty cache for the latents of earlier positions."""
        return KVCache(capacity)

    @checked
    def absorbed(
        self,
        X: Float[Tensor, "*b m {self.d_model}"],
        mask: Bool[Tensor, "..."] | None = None,
        bias: Float[Tensor, "..."] | None = None,
        rotate: Rotate | None = None,
        kv_cache: KVCache | None = None,
    ) -> Float[Tensor, "*b m d_model"]:
        """The same output without keys and values: queries go down to the latents (eq-absorbed). For generation."""
        Q_C, Q_R, C, R = self._project(X, rotate, kv_cache)
        W_K, W_V = (
            W.weight.unflatten(0, (self.n_heads, -1)) for W in (self.W_K, self.W_V)
        )  # (h, d, d_latent)
        C, R = C[..., None, :, :], R[..., None, :, :]
        Q_L = Q_C @ W_K  # eq-absorbed
        S = (Q_L @ C.mT + Q_R @ R.mT) / math.sqrt(self.d_k + self.d_rotated)
        S = S if bias is None else S + bias
        P = masked_softmax(S, visible(Q_L, C, mask_for_heads(mask, X.dim()), self.causal))
        return self._combined((P @ C) @ W_V.mT, kv_cache)  # eq-absorbed

    def _project(
        self, X: Tensor, rotate: Rotate | None, kv_cache: KVCache | None
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Both parts of the queries, (*b, h, m, d_k) and (*b, h, m, d_rotated), and of all tokens what is kept."""
        if not torch.compiler.is_compiling():
            rules.dtype_of_the_layer(WHO, X, self.W_C)
        first = 0 if kv_cache is None else kv_cache.length
        X_Q = self.query(X)
        Q_C, Q_R = split_heads(self.W_Q(X_Q), self.n_heads), split_heads(self.W_QR(X_Q), self.n_heads)
        C, R = self.norm_C(self.W_C(X)), self.W_R(X)  # eq-latent
        if rotate is not None:
            Q_R, R = rotate(Q_R, first), rotate(R, first)
        if kv_cache is None:
            return Q_C, Q_R, C, R
        C, R = kv_cache.extended(
            C[..., None, :, :], R[..., None, :, :]
        )  # as one head, which all queries share
        return Q_C, Q_R, C[..., 0, :, :], R[..., 0, :, :]

    def _combined(self, Z: Tensor, kv_cache: KVCache | None) -> Tensor:
        """The heads joined and projected; what is new in the cache stays."""
        Y = self.W_O(merge_heads(Z))
        if kv_cache is not None:
            kv_cache.keep()
        return Y
