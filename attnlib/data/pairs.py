"""A language in which the next symbol depends on the last two joint, so that what can be known is known.

Book: the-block. `floors` says how many bits a symbol costs whoever knows nothing, the last symbol, both of them apart,
or both joint; no model can do better than the last.
"""

from typing import NamedTuple

import numpy as np

from attnlib.shapes import Array, Float, Int, Number, checked


class PairLanguage(NamedTuple):
    """`next[a, b, c]`: how probable c is after a, b; `pairs[a, b]`: how often a, b stands in a long text."""

    next: Float[Array, "v v v"]
    pairs: Float[Array, "v v"]


@checked
def pair_language(
    n_symbols: Number[int, "2.."] = 12, spread: Number[float, "0<.."] = 2.0, seed: int = 0
) -> PairLanguage:
    """A language drawn at random: for each pair of symbols a softmax over normal scores, `spread` wide.

    >>> language = pair_language(n_symbols=3)
    >>> language.next.sum(axis=-1).round(6).tolist()
    [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
    """
    scores = np.random.default_rng(seed).normal(scale=spread, size=(n_symbols,) * 3)
    after = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    pairs = np.full((n_symbols, n_symbols), n_symbols**-2.0)
    for _ in range(1000):  # a, b is followed by b, c: in the long run this moves nothing
        pairs = np.einsum("ab,abc->bc", pairs, after)
    return PairLanguage(after, pairs)


@checked
def text(
    language: PairLanguage,
    size: Number[int, "1.."],
    length: Number[int, "2.."],
    seed: int | np.random.Generator,
) -> Int[Array, "size length"]:
    """`size` pieces of a long text, each `length` symbols."""
    rng = np.random.default_rng(seed)
    v = len(language.pairs)
    up_to = language.next.cumsum(axis=-1)
    symbols = np.empty((size, length), dtype=np.int64)
    first = rng.choice(v * v, size=size, p=language.pairs.ravel() / language.pairs.sum())
    symbols[:, 0], symbols[:, 1] = first // v, first % v
    for t in range(2, length):
        below = up_to[symbols[:, t - 2], symbols[:, t - 1]] < rng.random((size, 1))
        symbols[:, t] = np.minimum(below.sum(axis=-1), v - 1)
    return symbols


@checked
def floors(language: PairLanguage) -> dict[str, float]:
    """Bits a symbol: what the best guess costs that may look at this, and at nothing else.

    "both, added" adds a score for each of the last two symbols before the softmax, and can give a pair nothing of
    its own.

    >>> list(floors(pair_language(n_symbols=3)))
    ['nothing', 'frequencies', 'last symbol', 'both, added', 'both']
    """
    joint = language.pairs[:, :, None] * language.next  # a, b, c
    last = joint.sum(axis=0)  # b, c
    often = last.sum(axis=0)
    return {
        "nothing": float(np.log2(len(often))),
        "frequencies": cross_entropy_bits(often, often),
        "last symbol": cross_entropy_bits(last, last / last.sum(axis=-1, keepdims=True)),
        "both, added": cross_entropy_bits(joint, best_sum(joint)),
        "both": cross_entropy_bits(joint, language.next),
    }


def cross_entropy_bits(true: Array, guess: Array) -> float:
    """The mean number of bits of a symbol, if `guess` is what one says and `true` how often it comes."""
    return float(-(true * np.log2(guess)).sum())


def best_sum(joint: Float[Array, "v v v"], rounds: int = 500) -> Float[Array, "v v v"]:
    """softmax(f(b) + g(a)) with the best f and g: what has the right tables for a, c and for b, c, and no more.

    Each round scales a table until it is right, and disturbs the others less and less (iterative proportional fitting).
    """
    guess = np.ones_like(joint)
    for _ in range(rounds):
        for axis in (0, 1, 2):  # the table of the other two
            guess = guess * (joint.sum(axis=axis, keepdims=True) / guess.sum(axis=axis, keepdims=True))
    return guess / guess.sum(axis=-1, keepdims=True)
