"""The twin of `attnlib.reference.masks`: who may look where. Boolean, and **True means "may look"**, as everywhere.

The book derives them in eq-causal-mask, eq-padding-mask, eq-window-mask, eq-prefix-mask, eq-combined-mask and
eq-additive-mask (Chapter 2). Masks are made on the CPU; `device` makes them where the scores are.
"""

import math
from functools import partial

import torch
from torch import Tensor

from attnlib.nn import _check
from attnlib.reference import _check_masks
from attnlib.shapes import Bool, Float, Int

Device = torch.device | str | None
_boolean = partial(_check_masks.boolean, kind=_check.TENSOR)


def causal_mask(n: int, m: int | None = None, device: Device = None) -> Bool[Tensor, "m {n}"]:
    """Each of the last m of n positions sees itself and what came before; by default m = n (eq-causal-mask).

    >>> causal_mask(4, m=2).int()
    tensor([[1, 1, 1, 0],
            [1, 1, 1, 1]], dtype=torch.int32)
    """
    _check_masks.count("causal_mask", "n", n, 1)
    m = n if m is None else m
    _check_masks.count("causal_mask", "m", m, 1, n)
    i, j = torch.arange(n - m, n, device=device)[:, None], torch.arange(n, device=device)
    return j <= i  # eq-causal-mask  (m, n)


def padding_mask(lengths: Int[Tensor, "*b"], n: int) -> Bool[Tensor, "*b 1 {n}"]:
    """The first `lengths` keys of each sequence are real, the rest fills up to n (eq-padding-mask)."""
    _check_masks.count("padding_mask", "n", n, 1)
    _check_masks.lengths("padding_mask", lengths, n, kind=_check.TENSOR)
    return torch.arange(n, device=lengths.device) < lengths[..., None, None]  # eq-padding-mask  (*b, 1, n)


def window_mask(n: int, before: int, after: int, device: Device = None) -> Bool[Tensor, "{n} {n}"]:
    """Each position sees `before` neighbours on its left, itself, and `after` on its right (eq-window-mask)."""
    _check_masks.count("window_mask", "n", n, 1)
    _check_masks.count("window_mask", "before", before, 0)
    _check_masks.count("window_mask", "after", after, 0)
    i, j = torch.arange(n, device=device)[:, None], torch.arange(n, device=device)
    return (i - before <= j) & (j <= i + after)  # eq-window-mask  (n, n)


def prefix_mask(n: int, prefix: int, device: Device = None) -> Bool[Tensor, "{n} {n}"]:
    """All see the first `prefix` positions; beyond them each sees the past and itself (eq-prefix-mask)."""
    _check_masks.count("prefix_mask", "n", n, 1)
    _check_masks.count("prefix_mask", "prefix", prefix, 0, n)
    return causal_mask(n, device=device) | (torch.arange(n, device=device) < prefix)  # eq-prefix-mask  (n, n)


def combine_masks(*masks: Bool[Tensor, "..."]) -> Bool[Tensor, "..."]:
    """One may look where every mask allows it; shapes broadcast from the last axis on (eq-combined-mask)."""
    if not masks:
        raise ValueError("combine_masks: there must be one mask or more; got none.")
    _check_masks.boolean(
        "combine_masks", kind=_check.TENSOR, **{f"mask {i}": mask for i, mask in enumerate(masks)}
    )
    _check_masks.broadcastable("combine_masks", masks)
    both = masks[0]
    for mask in masks[1:]:
        both = both & mask  # eq-combined-mask
    return both


def rows_without_a_key(mask: Bool[Tensor, "*b n"]) -> Bool[Tensor, "*b"]:
    """True for each query that may look nowhere; attention gives it zeros."""
    _boolean("rows_without_a_key", mask=mask)
    return ~mask.any(dim=-1)


def additive_from_mask(
    mask: Bool[Tensor, "*s"], fill: float = -math.inf, dtype: torch.dtype = torch.float64
) -> Float[Tensor, "*s"]:
    """What one would add to the scores instead: 0 where one may look, `fill` where not (eq-additive-mask)."""
    _boolean("additive_from_mask", mask=mask)
    _check.real("additive_from_mask", "fill", fill)
    wide = torch.zeros(mask.shape, dtype=torch.float64, device=mask.device)
    M = wide.masked_fill(~mask, fill)  # eq-additive-mask
    return M.to(dtype)  # a fill beyond the dtype's range is -inf


def mask_from_additive(M: Float[Tensor, "*s"]) -> Bool[Tensor, "*s"]:
    """The boolean mask that an additive one stands for: 0 is "may look", -inf or -10,000 and below is not."""
    _check.floats("mask_from_additive", M=M)
    _check_masks.additive("mask_from_additive", M)
    return M == 0


def mask_from_torch_padding(key_padding_mask: Bool[Tensor, "*b n"]) -> Bool[Tensor, "*b 1 n"]:
    """From the `key_padding_mask` of `torch.nn.MultiheadAttention`, where True means "ignore this key"."""
    _boolean("mask_from_torch_padding", key_padding_mask=key_padding_mask)
    _check_masks.over_keys("mask_from_torch_padding", "key_padding_mask", key_padding_mask)
    return ~key_padding_mask[..., None, :]


def mask_from_torch_attention(attn_mask: Bool[Tensor, "*b m n"]) -> Bool[Tensor, "*b m n"]:
    """From a boolean `attn_mask` of `torch.nn.MultiheadAttention`, where True means "may not look".

    The `attn_mask` of `torch.nn.functional.scaled_dot_product_attention` needs no translation: True means "may look".
    A mask of the module for each head, (b h, m, n), still needs its heads apart: `mask.reshape(b, h, m, n)`.
    """
    _boolean("mask_from_torch_attention", attn_mask=attn_mask)
    return ~attn_mask
