"""An endless language of known entropy rate, in which most prefixes of words are rare (book: compute-data-size).

A text is words and spaces. After each prefix of a word the same four things may follow, with the same probabilities:
one of three letters, or a space, which ends the word. *Which* three letters these are differs from prefix to
prefix, so each prefix has to be learned for itself, and there is always another one, longer and rarer. The
frequencies of the prefixes follow a power law, as those of real words do.

The arithmetic is that of whole numbers, so NumPy arrays and PyTorch tensors, on any device, give the same letters.
"""

import math
from typing import Any

import numpy as np

from attnlib.shapes import Array

P = (0.5, 0.15, 0.05, 0.3)  # of the first, the second and the third letter, and of a space
GROUP = 21  # each of the three letters is one of as many
VOCAB = 3 * GROUP + 1  # 63 letters and the space
SPACE = VOCAB - 1
ENTROPY = -sum(p * math.log(p) for p in P)  # nats a token, after every prefix and so on average
START = 88_172_645  # the number of the empty prefix

_PRIME = 2**31 - 1
_TURNS = (48_271, 69_621, 39_373)
_GROWS = 1_132_489_760

Whole = Any  # a whole number, or an array or a tensor of them


def letter(prefix: Whole, j: int) -> Whole:
    """The j-th of the three letters that may follow a prefix, which is given by its number.

    >>> [letter(START, j) for j in range(3)]
    [15, 24, 55]
    """
    mixed = prefix * _TURNS[j] % _PRIME
    return j * GROUP + (mixed // 512) % GROUP


def longer(prefix: Whole, token: Whole) -> Whole:
    """The number of a prefix with one more letter; `START` after a space."""
    grown = (prefix + 7919 * (token + 1)) * _GROWS % _PRIME
    ends = token // SPACE  # 1 for a space, 0 for a letter
    return grown * (1 - ends) + START * ends


def text(draws: Array) -> tuple[Array, Array]:
    """Texts that begin with a space, and the numbers of the prefixes after each of their tokens.

    draws    whole numbers 0 to 3, (texts, n): which of the four follows, independent, with probabilities `P`
    """
    b, n = draws.shape
    tokens, prefixes = np.full((b, n + 1), SPACE), np.full((b, n + 1), START)
    for t in range(n):
        follows = followers(prefixes[:, t])
        tokens[:, t + 1] = np.take_along_axis(follows, draws[:, t : t + 1], axis=1)[:, 0]
        prefixes[:, t + 1] = longer(prefixes[:, t], tokens[:, t + 1])
    return tokens, prefixes


def followers(prefixes: Array) -> Array:
    """The four tokens that may follow, in the order of `P`: (..., 4)."""
    letters = [letter(prefixes, j) for j in range(3)]
    return np.stack([*letters, np.full_like(prefixes, SPACE)], axis=-1)
