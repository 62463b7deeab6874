"""A language in which the next symbol depends on the last one and on one further back, so that its entropy is known.

Chapter 5 compares the loss of a training with it. `entropy_rate` is the lowest cross-entropy that any model can reach;
`floor` is the lowest for a model that sees only the last few symbols.
"""

from typing import NamedTuple

import numpy as np

from attnlib.shapes import Array, Float, Int, Number, checked


class DistantLanguage(NamedTuple):
    """`next[a, b, c]`: the probability of c after b, where a is `back` positions before c."""

    next: Float[Array, "v v v"]
    windows: Array  # probability of each sequence of `back` symbols in a long text; one axis each

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
    """A language drawn at random: for each pair a, b a softmax of normal scores with standard deviation `spread`.

    >>> distant_language(n_symbols=3).windows.shape
    (3, 3, 3, 3)
    """
    scores = np.random.default_rng(seed).normal(scale=spread, size=(n_symbols,) * 3)
    after = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    windows = np.full((n_symbols, n_symbols ** (back - 2), n_symbols), float(n_symbols) ** -back)
    for _ in range(200 * back):  # shift the window by one symbol until its distribution is stationary
        windows = np.einsum("amb,abc->mbc", windows, after).reshape(windows.shape)
    return DistantLanguage(after, windows.reshape((n_symbols,) * back))


@checked
def text(
    language: DistantLanguage,
    size: Number[int, "1.."],
    length: Number[int, "2.."],
    seed: int | np.random.Generator,
) -> Int[Array, "size length"]:
    """`size` samples from a long text, each of `length` symbols."""
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
    """The probability of each sequence of `back` + 1 symbols in a long text; one axis for each symbol."""
    v, back = len(language.next), language.back
    windows = language.windows.reshape(v, v ** (back - 2), v)
    return np.einsum("amb,abc->ambc", windows, language.next).reshape((v,) * (back + 1))


@checked
def floor(language: DistantLanguage, seen: Number[int, "0.."]) -> float:
    """Nats a symbol: the conditional entropy given the last `seen` symbols, which a (`seen` + 1)-gram reaches.

    >>> language = distant_language(n_symbols=3)
    >>> all(floor(language, n) > floor(language, n + 1) for n in range(4))
    True
    """
    unseen = tuple(range(max(0, language.back - seen)))
    joint = joint_distribution(language).sum(axis=unseen)
    guess = joint / joint.sum(axis=-1, keepdims=True)
    return float(-(joint * np.log(guess)).sum())


def entropy_rate(language: DistantLanguage) -> float:
    """Nats a symbol: the entropy given all earlier symbols, the lowest loss of any model.

    >>> language = distant_language(n_symbols=3)
    >>> abs(entropy_rate(language) - floor(language, language.back)) < 1e-12
    True
    """
    v = len(language.next)
    pairs = language.windows.reshape(v, -1, v).sum(axis=1)
    return float(-(pairs[:, :, None] * language.next * np.log(language.next)).sum())
