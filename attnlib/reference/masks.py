"""Masks: which query may attend to which key. Boolean; **True means "may look"**, here and everywhere in attnlib.

The book derives them in eq-causal-mask, eq-padding-mask, eq-window-mask, eq-prefix-mask, eq-combined-mask and
eq-additive-mask (Chapter 2). The twin is `attnlib.nn.masks`. There are other conventions: an additive mask is 0 where a
query may look, and both masks of `torch.nn.MultiheadAttention` are True where it may *not*; three functions convert
them.
"""

import math

import numpy as np

from attnlib import rules
from attnlib.shapes import Array, Bool, Float, Int, Number, checked


@checked
def causal_mask(n: Number[int, "1.."], m: Number[int, "1..n"] | None = None) -> Bool[Array, "m {n}"]:
    """Each position sees itself and what came before (eq-causal-mask).

    n    keys
    m    queries: the last m of the n positions, as in a decoder that keeps earlier keys; by default all of them

    >>> causal_mask(4).astype(int)
    array([[1, 0, 0, 0],
           [1, 1, 0, 0],
           [1, 1, 1, 0],
           [1, 1, 1, 1]])
    >>> causal_mask(4, m=2).astype(int)
    array([[1, 1, 1, 0],
           [1, 1, 1, 1]])
    """
    m = n if m is None else m
    i, j = np.arange(n - m, n)[:, None], np.arange(n)
    return j <= i  # eq-causal-mask  (m, n)


@checked
def padding_mask(lengths: Int[Array, "*a b"], n: Number[int, "1.."]) -> Bool[Array, "*a b 1 {n}"]:
    """The first `lengths` keys of each sequence are real, the rest fills up to n (eq-padding-mask).

    It hides keys, not queries, so its axis of queries has size one and broadcasts.

    >>> padding_mask(np.array([1, 3]), n=3).astype(int)
    array([[[1, 0, 0]],
    <BLANKLINE>
           [[1, 1, 1]]])
    """
    rules.between("padding_mask", "lengths", lengths, "n", n)
    return np.arange(n) < lengths[..., None, None]  # eq-padding-mask  (*b, 1, n)


@checked
def window_mask(
    n: Number[int, "1.."], before: Number[int, "0.."], after: Number[int, "0.."]
) -> Bool[Array, "{n} {n}"]:
    """Each position sees `before` neighbours on its left, itself, and `after` on its right (eq-window-mask).

    >>> window_mask(4, before=1, after=0).astype(int)
    array([[1, 0, 0, 0],
           [1, 1, 0, 0],
           [0, 1, 1, 0],
           [0, 0, 1, 1]])
    """
    i, j = np.arange(n)[:, None], np.arange(n)
    return (i - before <= j) & (j <= i + after)  # eq-window-mask  (n, n)


@checked
def prefix_mask(n: Number[int, "1.."], prefix: Number[int, "0..n"]) -> Bool[Array, "{n} {n}"]:
    """Every position sees the first `prefix` positions, and otherwise itself and earlier ones (eq-prefix-mask).

    >>> prefix_mask(4, prefix=2).astype(int)
    array([[1, 1, 0, 0],
           [1, 1, 0, 0],
           [1, 1, 1, 0],
           [1, 1, 1, 1]])
    """
    return causal_mask(n) | (np.arange(n) < prefix)  # eq-prefix-mask  (n, n)


@checked
def combine_masks(*masks: Bool[Array, "..."]) -> Bool[Array, "..."]:
    """True where all masks are True (eq-combined-mask).

    Shapes broadcast from the last axis on: causal (n, n) and padding (b, 1, n) give (b, n, n).

    >>> combine_masks(causal_mask(3), padding_mask(np.array([2]), n=3)).astype(int)
    array([[[1, 0, 0],
            [1, 1, 0],
            [1, 1, 0]]])
    """
    rules.broadcastable("combine_masks", masks)
    both = masks[0]
    for mask in masks[1:]:
        both = both & mask  # eq-combined-mask
    return both


@checked
def rows_without_a_key(mask: Bool[Array, "*b n"]) -> Bool[Array, "*b"] | np.bool:
    """True for each query that may look nowhere; attention gives it zeros.

    >>> rows_without_a_key(combine_masks(window_mask(3, 0, 0), np.array([True, False, True])))
    array([False,  True, False])
    """
    return ~mask.any(axis=-1)


@checked
def additive_from_mask(
    mask: Bool[Array, "*s"], fill: float = -math.inf, dtype: type | np.dtype = np.float64
) -> Float[Array, "*s"]:
    """The mask as numbers to add to the scores: 0 where a query may look, `fill` where not (eq-additive-mask).

    A fill outside the dtype's range becomes -inf, such as -1e9 in float16.

    >>> additive_from_mask(causal_mask(2))
    array([[  0., -inf],
           [  0.,   0.]])
    """
    with np.errstate(over="ignore"):
        return np.where(mask, 0.0, fill).astype(dtype)  # eq-additive-mask


@checked
def mask_from_additive(M: Float[Array, "*s"]) -> Bool[Array, "*s"]:
    """The boolean mask for an additive one: 0 is "may look", -inf or a number up to -10,000 is "may not".

    >>> mask_from_additive(np.array([[0.0, -1e9], [0.0, 0.0]]))
    array([[ True, False],
           [ True,  True]])
    """
    rules.additive("mask_from_additive", M)
    return M == 0


@checked
def mask_from_torch_padding(key_padding_mask: Bool[Array, "*b n"]) -> Bool[Array, "*b 1 n"]:
    """From the `key_padding_mask` of `torch.nn.MultiheadAttention`, where True means "ignore this key".

    >>> mask_from_torch_padding(np.array([[False, False, True]]))
    array([[[ True,  True, False]]])
    """
    return ~key_padding_mask[..., None, :]


@checked
def mask_from_torch_attention(attn_mask: Bool[Array, "*b m n"]) -> Bool[Array, "*b m n"]:
    """From a boolean `attn_mask` of `torch.nn.MultiheadAttention`, where True means "may not look".

    The `attn_mask` of `torch.nn.functional.scaled_dot_product_attention` needs no translation: True means "may look".
    A mask of the module for each head, (b h, m, n), still needs an axis for its heads: `mask.reshape(b, h, m, n)`.

    >>> mask_from_torch_attention(np.array([[False, True], [False, False]])).astype(int)
    array([[1, 0],
           [1, 1]])
    """
    return ~attn_mask
