"""The twin of `attnlib.reference.masks`: which query may attend to which key. Boolean, and **True means "may look"**.

The book derives them in eq-causal-mask, eq-padding-mask, eq-window-mask, eq-prefix-mask, eq-combined-mask and
eq-additive-mask (Chapter 2). Masks are made on the CPU; `device` should be that of the scores.
"""

import math

import torch
from torch import Tensor

from attnlib import rules
from attnlib.shapes import Bool, Float, Int, Number, checked

Device = torch.device | str | None


@checked
def causal_mask(
    n: Number[int, "1.."], m: Number[int, "1..n"] | None = None, device: Device = None
) -> Bool[Tensor, "m {n}"]:
    """Each of the last m of n positions sees itself and what came before; by default m = n (eq-causal-mask).

    >>> causal_mask(4, m=2).int()
    tensor([[1, 1, 1, 0],
            [1, 1, 1, 1]], dtype=torch.int32)
    """
    m = n if m is None else m
    i, j = torch.arange(n - m, n, device=device)[:, None], torch.arange(n, device=device)
    return j <= i  # eq-causal-mask  (m, n)


@checked
def padding_mask(lengths: Int[Tensor, "*a b"], n: Number[int, "1.."]) -> Bool[Tensor, "*a b 1 {n}"]:
    """The first `lengths` keys of each sequence are real, the rest fills up to n (eq-padding-mask)."""
    return torch.arange(n, device=lengths.device) < lengths[..., None, None]  # eq-padding-mask  (*b, 1, n)


@checked
def window_mask(
    n: Number[int, "1.."], before: Number[int, "0.."], after: Number[int, "0.."], device: Device = None
) -> Bool[Tensor, "{n} {n}"]:
    """Each position sees `before` neighbours on its left, itself, and `after` on its right (eq-window-mask)."""
    i, j = torch.arange(n, device=device)[:, None], torch.arange(n, device=device)
    return (i - before <= j) & (j <= i + after)  # eq-window-mask  (n, n)


@checked
def prefix_mask(
    n: Number[int, "1.."], prefix: Number[int, "0..n"], device: Device = None
) -> Bool[Tensor, "{n} {n}"]:
    """Every position sees the first `prefix` positions, and otherwise itself and earlier ones (eq-prefix-mask)."""
    return causal_mask(n, device=device) | (torch.arange(n, device=device) < prefix)  # eq-prefix-mask  (n, n)


@checked
def combine_masks(*masks: Bool[Tensor, "..."]) -> Bool[Tensor, "..."]:
    """True where all masks are True; shapes broadcast from the last axis on (eq-combined-mask)."""
    rules.broadcastable("combine_masks", masks)
    both = masks[0]
    for mask in masks[1:]:
        both = both & mask  # eq-combined-mask
    return both


@checked
def rows_without_a_key(mask: Bool[Tensor, "*b n"]) -> Bool[Tensor, "*b"]:
    """True for each query that may look nowhere; attention gives it zeros."""
    return ~mask.any(dim=-1)


@checked
def additive_from_mask(
    mask: Bool[Tensor, "*s"], fill: float = -math.inf, dtype: torch.dtype = torch.float64
) -> Float[Tensor, "*s"]:
    """The mask as numbers to add to the scores: 0 where a query may look, `fill` where not (eq-additive-mask)."""
    wide = torch.zeros(mask.shape, dtype=torch.float64, device=mask.device)
    M = wide.masked_fill(~mask, fill)  # eq-additive-mask
    return M.to(dtype)  # a fill beyond the dtype's range is -inf


@checked
def mask_from_additive(M: Float[Tensor, "*s"]) -> Bool[Tensor, "*s"]:
    """The boolean mask for an additive one: 0 is "may look", -inf or a number up to -10,000 is "may not"."""
    return M == 0


@checked
def mask_from_torch_padding(key_padding_mask: Bool[Tensor, "*b n"]) -> Bool[Tensor, "*b 1 n"]:
    """From the `key_padding_mask` of `torch.nn.MultiheadAttention`, where True means "ignore this key"."""
    return ~key_padding_mask[..., None, :]


@checked
def mask_from_torch_attention(attn_mask: Bool[Tensor, "*b m n"]) -> Bool[Tensor, "*b m n"]:
    """From a boolean `attn_mask` of `torch.nn.MultiheadAttention`, where True means "may not look".

    The `attn_mask` of `torch.nn.functional.scaled_dot_product_attention` needs no translation: True means "may look".
    A mask of the module for each head, (b h, m, n), still needs an axis for its heads: `mask.reshape(b, h, m, n)`.
    """
    return ~attn_mask
