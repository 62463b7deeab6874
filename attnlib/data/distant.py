"""A language in which the next symbol depends on the last one and on one further back, so that its entropy is known.

Chapter 5 measures a training by it. `entropy_rate` is the least that a symbol can cost, whoever guesses it; `floor` is
the least for somebody who sees the last few symbols alone.
"""

from typing import NamedTuple

import numpy as np

from attnlib.shapes import Array, Float, Int, Number, checked


class DistantLanguage(NamedTuple):
    """`next[a, b, c]`: how probable c is, if b stands before it and a stands `back` places before it."""

    next: Float[Array, "v v v"]
    windows: Array  # how often each `back` symbols in a row stand in a long text; one axis a symbol

    @property
    def back(self) -> int:
        return self.windows.ndim


@checked
def distant_language(
    n_symbols: Number[int, "2.."] = 12,
    back: Number[int, "2.."] = 4,
    spread: Number[float, "0<.."] = 2.0,
    seed: int = 0,
) -> DistantLanguage:
    """A language drawn at random: for each pair of symbols a softmax over normal scores, `spread` wide.

    >>> distant_language(n_symbols=3).windows.shape
    (3, 3, 3, 3)
    """
    scores = np.random.default_rng(seed).normal(scale=spread, size=(n_symbols,) * 3)
    after = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    windows = np.full((n_symbols, n_symbols ** (back - 2), n_symbols), float(n_symbols) ** -back)
    for _ in range(200 * back):  # a window moves on by a symbol: in the long run this changes nothing
        windows = np.einsum("amb,abc->mbc", windows, after).reshape(windows.shape)
    return DistantLanguage(after, windows.reshape((n_symbols,) * back))


@checked
def text(
    language: DistantLanguage,
    size: Number[int, "1.."],
    length: Number[int, "2.."],
    seed: int | np.random.Generator,
) -> Int[Array, "size length"]:
    """`size` pieces of a long text, each `length` symbols."""
    rng = np.random.default_rng(seed)
    v, back = len(language.next), language.back
    up_to = language.next.cumsum(axis=-1)
    often = language.windows.ravel()
    first = rng.choice(often.size, size=size, p=often / often.sum())
    symbols = np.empty((size, max(length, back)), dtype=np.int64)
    symbols[:, :back] = np.stack(np.unravel_index(first, language.windows.shape), axis=1)
    for t in range(back, length):
        below = up_to[symbols[:, t - back], symbols[:, t - 1]] < rng.random((size, 1))
        symbols[:, t] = np.minimum(below.sum(axis=-1), v - 1)
    return symbols[:, :length]


def joint_distribution(language: DistantLanguage) -> Array:
    """How often each `back` symbols and the one behind them stand in a long text; one axis a symbol."""
    v, back = len(language.next), language.back
    windows = language.windows.reshape(v, v ** (back - 2), v)
    return np.einsum("amb,abc->ambc", windows, language.next).reshape((v,) * (back + 1))


@checked
def floor(language: DistantLanguage, seen: Number[int, "0.."]) -> float:
    """Nats a symbol, at best, for whoever sees the last `seen` symbols: what an n-gram of order `seen` + 1 can reach.

    >>> language = distant_language(n_symbols=3)
    >>> all(floor(language, n) > floor(language, n + 1) for n in range(4))
    True
    """
    unseen = tuple(range(max(0, language.back - seen)))
    joint = joint_distribution(language).sum(axis=unseen)
    guess = joint / joint.sum(axis=-1, keepdims=True)
    return float(-(joint * np.log(guess)).sum())


def entropy_rate(language: DistantLanguage) -> float:
    """Nats a symbol that nobody can save: the floor of whoever sees far enough.

    >>> language = distant_language(n_symbols=3)
    >>> abs(entropy_rate(language) - floor(language, language.back)) < 1e-12
    True
    """
    v = len(language.next)
    pairs = language.windows.reshape(v, -1, v).sum(axis=1)
    return float(-(pairs[:, :, None] * language.next * np.log(language.next)).sum())
