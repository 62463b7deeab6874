"""The example of Chapter 1: three tokens, small enough to compute every number by hand."""

import numpy as np

from attnlib.shapes import Array, Float

TOKENS = ("the", "black", "cat")


def three_tokens() -> tuple[tuple[str, ...], Float[Array, "3 2"], Float[Array, "3 2"]]:
    """The three tokens, their keys K and their values V, each (3, 2).

    >>> tokens, K, V = three_tokens()
    >>> tokens[2], K[2].tolist(), V[2].tolist()
    ('cat', [1.0, 1.0], [4.0, 4.0])
    """
    K = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    V = np.array([[1.0, 0.0], [0.0, 2.0], [4.0, 4.0]])
    return TOKENS, K, V
