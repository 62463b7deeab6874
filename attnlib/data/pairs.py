"""A second-order Markov chain: the next symbol depends on the last two together, so the lowest losses are known.

Book: the-block. `floors` has the lowest loss, in bits a symbol, of models that use nothing, the last symbol, the last
two symbols additively, or both together; no model can be below the last of these.
"""

from typing import NamedTuple

import numpy as np

from attnlib.shapes import Array, Float, Int, Number, checked


class PairLanguage(NamedTuple):
    """`next[a, b, c]`: the probability of c after a, b; `pairs[a, b]`: the share of the pair a, b in a long text."""

    next: Float[Array, "v v v"]
    pairs: Float[Array, "v v"]


@checked
def pair_language(
    n_symbols: Number[int, "2.."] = 12, spread: Number[float, "0<.."] = 2.0, seed: int = 0
) -> PairLanguage:
    """A language drawn at random: for each pair a, b a softmax of normal scores with standard deviation `spread`.

    >>> language = pair_language(n_symbols=3)
    >>> language.next.sum(axis=-1).round(6).tolist()
    [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
    """
    scores = np.random.default_rng(seed).normal(scale=spread, size=(n_symbols,) * 3)
    after = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    pairs = np.full((n_symbols, n_symbols), n_symbols**-2.0)
    for _ in range(1000):  # from the pair a, b to b, c, until the distribution is stationary
        pairs = np.einsum("ab,abc->bc", pairs, after)
    return PairLanguage(after, pairs)


@checked
def text(
    language: PairLanguage,
    size: Number[int, "1.."],
    length: Number[int, "2.."],
    seed: int | np.random.Generator,
) -> Int[Array, "size length"]:
    """`size` samples from a long text, each of `length` symbols."""
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
    """Bits a symbol: the lowest loss of a model that may use only this.

    "both, added" is the softmax of the sum of one score for each of the last two symbols: it has no score for a pair.

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
    """The cross-entropy of `guess`, in bits, where `true` is the distribution of the symbols."""
    return float(-(true * np.log2(guess)).sum())


def best_sum(joint: Float[Array, "v v v"], rounds: int = 500) -> Float[Array, "v v v"]:
    """softmax(f(b) + g(a)) with the best f and g: it matches the joint distributions of a, c and of b, c.

    Each round scales the guess to one of these distributions, and changes the others less and less (iterative
    proportional fitting).
    """
    guess = np.ones_like(joint)
    for _ in range(rounds):
        for axis in (0, 1, 2):  # match the joint distribution of the other two
            guess = guess * (joint.sum(axis=axis, keepdims=True) / guess.sum(axis=axis, keepdims=True))
    return guess / guess.sum(axis=-1, keepdims=True)
