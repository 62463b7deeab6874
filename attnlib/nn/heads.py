"""The twin of `attnlib.reference.heads`: split a width into heads, and merge heads into a width.

The book derives it in eq-head-dimension, eq-split-heads and eq-merge-heads (Chapter 3).
"""

from torch import Tensor

from attnlib import rules
from attnlib.shapes import Bool, Float, Number, checked


@checked
def split_heads(
    X: Float[Tensor, "*b n d"], n_heads: Number[int, "1.."]
) -> Float[Tensor, "*b {n_heads} n d_head"]:
    """Split the width into n_heads equal parts, and move the heads before the positions (eq-split-heads).

    The result is a view; nothing is copied.
    """
    rules.splits_evenly("split_heads", "the width d", X.shape[-1], "n_heads", n_heads)
    return X.unflatten(-1, (n_heads, -1)).transpose(-2, -3)  # eq-split-heads  (*b, h, n, d_head)


@checked
def merge_heads(Z: Float[Tensor, "*b h n d_head"]) -> Float[Tensor, "*b n d"]:
    """Put the heads side by side again, in order (eq-merge-heads).

    This copies if each head is contiguous in memory; the output of PyTorch's fused attention needs no copy.
    """
    return Z.transpose(-2, -3).flatten(-2)  # eq-merge-heads  (*b, n, h d_head)


@checked
def mask_for_heads(mask: Bool[Tensor, "..."] | None, axes: Number[int, "1.."]) -> Bool[Tensor, "..."] | None:
    """The mask with an axis for the heads; a mask with at most `axes` axes is shared by all heads."""
    if mask is None:
        return None
    return mask if mask.dim() > axes or mask.dim() < 2 else mask[..., None, :, :]
