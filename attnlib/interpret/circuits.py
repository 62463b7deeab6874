"""Previous-token heads and induction heads: one score for each head of a causal model, for either kind.

Book: a-circuit (eq-previous-token, eq-prefix-matching). P holds the weights of some heads, (inputs, heads, n, n), where
position i attends to the positions j <= i; the result is one number from 0 to 1 for each head.
"""

import numpy as np

from attnlib.shapes import Array, Float, Int, checked


@checked
def previous_token(P: Float[Array, "b h n n"]) -> Float[Array, "h"]:
    """The mean weight that a position gives the position before it (eq-previous-token).

    >>> previous_token(np.eye(4, k=-1)[None, None])
    array([1.])
    """
    return np.diagonal(P, offset=-1, axis1=-2, axis2=-1).mean(axis=(0, 2))  # eq-previous-token


@checked
def prefix_matching(P: Float[Array, "b h n n"], tokens: Int[Array, "b n"]) -> Float[Array, "h"]:
    """The mean weight on tokens that followed earlier occurrences of the query's token (eq-prefix-matching).

    Only positions whose token has occurred before count.

    >>> P = np.zeros((1, 1, 3, 3))
    >>> P[0, 0, 2] = [0.1, 0.7, 0.2]
    >>> prefix_matching(P, np.array([[5, 8, 5]]))  # the second 5 attends to the 8 with 0.7
    array([0.7])
    """
    earlier = np.tril(
        tokens[:, :, None] == tokens[:, None, :], k=-1
    )  # positions i and j < i have the same token
    after = np.pad(earlier, ((0, 0), (0, 0), (1, 0)))[:, :, :-1]  # the position after such a j
    asks = earlier.any(axis=-1)
    if not asks.any():
        raise ValueError("prefix_matching: some token must occur twice in its text; got none that does.")
    found = (P * after[:, None]).sum(axis=-1)  # eq-prefix-matching  (b, h, n)
    return np.moveaxis(found, 1, 0)[:, asks].mean(axis=1)
