"""Heads as an axis: split a width into heads, and merge heads into a width. No number changes.

The book derives it in eq-head-dimension, eq-split-heads and eq-merge-heads (Chapter 3). The twin is
`attnlib.nn.heads`. Each of the two is the other's backward, because each is the other's inverse.
"""

from attnlib import rules
from attnlib.shapes import Array, Bool, Float, Number, checked


@checked
def split_heads(
    X: Float[Array, "*b n d"], n_heads: Number[int, "1.."]
) -> Float[Array, "*b {n_heads} n d_head"]:
    """Split the width into n_heads equal parts, and move the heads before the positions (eq-split-heads).

    Head i holds the columns i d_head to (i + 1) d_head. Its backward is `merge_heads`.

    >>> import numpy as np
    >>> split_heads(np.array([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]), n_heads=2)
    array([[[1., 2.],
            [5., 6.]],
    <BLANKLINE>
           [[3., 4.],
            [7., 8.]]])
    """
    d = X.shape[-1]
    rules.splits_evenly("split_heads", "the width d", d, "n_heads", n_heads)
    d_head = d // n_heads  # eq-head-dimension
    return X.reshape(*X.shape[:-1], n_heads, d_head).swapaxes(-2, -3)  # eq-split-heads  (*b, h, n, d_head)


@checked
def merge_heads(Z: Float[Array, "*b h n d_head"]) -> Float[Array, "*b n d"]:
    """Put the heads side by side again, in order (eq-merge-heads). Its backward is `split_heads`.

    >>> import numpy as np
    >>> merge_heads(np.array([[[1.0, 2.0]], [[3.0, 4.0]]]))
    array([[1., 2., 3., 4.]])
    """
    h, n, d_head = Z.shape[-3:]
    return Z.swapaxes(-2, -3).reshape(*Z.shape[:-3], n, h * d_head)  # eq-merge-heads  (*b, n, h d_head)


@checked
def mask_for_heads(mask: Bool[Array, "..."] | None, axes: Number[int, "1.."]) -> Bool[Array, "..."] | None:
    """The mask with an axis for the heads; a mask that all heads share gets one of size one.

    axes    how many axes the scores of one head have, batch axes included: a mask with more already has its heads

    >>> import numpy as np
    >>> mask_for_heads(np.ones((2, 1, 5), dtype=bool), axes=3).shape
    (2, 1, 1, 5)
    """
    if mask is None:
        return None
    return mask if mask.ndim > axes or mask.ndim < 2 else mask[..., None, :, :]
