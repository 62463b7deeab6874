"""Small tasks whose optimal attention weights are known: lookup, copy, reverse, first, look back, marked, latest.

Book: the-bottleneck, the-attention-function, hard-sparse-local-monotonic. Each task returns its data as arrays, the
weights that solve it exactly (`weights`, one row per output), the accuracy of copying a position picked at random
(`chance`), and the number of different inputs (`n_inputs`). Symbols are the numbers 0 ... n_symbols - 1.
"""

import math
from typing import NamedTuple

import numpy as np

from attnlib.shapes import Array, Bool, Float, Int


class SequenceTask(NamedTuple):
    """A sequence as input and one as output. `mask` is True where an output counts."""

    source: Int[Array, "b n"]
    target: Int[Array, "b n"]
    weights: Float[Array, "b n n"]
    mask: Bool[Array, "b n"]
    chance: float
    n_inputs: int


class LookupTask(NamedTuple):
    """Pairs of key and value, and one key as the query; the target is the value of that key."""

    keys: Int[Array, "b n"]
    values: Int[Array, "b n"]
    query: Int[Array, "b"]
    target: Int[Array, "b"]
    weights: Float[Array, "b 1 n"]
    chance: float
    n_inputs: int


class MarkedTask(NamedTuple):
    """Symbols of which exactly one is marked; the target is that symbol."""

    symbols: Int[Array, "b n"]
    marks: Bool[Array, "b n"]
    target: Int[Array, "b"]
    weights: Float[Array, "b 1 n"]
    chance: float
    n_inputs: int


def blind_accuracy(length: int, n_symbols: int) -> float:
    """The probability that a random position holds the right symbol: it is the right position, or has an equal symbol.

    >>> blind_accuracy(2, 4)
    0.625
    """
    return 1 / length + (1 - 1 / length) / n_symbols


def copy(size: int, length: int, n_symbols: int, *, seed: int = 0) -> SequenceTask:
    """Repeat the sequence: output i attends to position i.

    >>> task = copy(1, 3, 10)
    >>> bool((task.source == task.target).all()), task.weights[0].tolist()
    (True, [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    """
    return _from_positions(size, np.arange(length), n_symbols, seed)


def repeat_first(size: int, length: int, n_symbols: int, *, seed: int = 0) -> SequenceTask:
    """Repeat the first symbol everywhere: all outputs attend to position 0.

    >>> repeat_first(1, 3, 10).weights[0].tolist()
    [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    """
    return _from_positions(size, np.zeros(length, dtype=int), n_symbols, seed)


def reverse(size: int, length: int, n_symbols: int, *, seed: int = 0) -> SequenceTask:
    """Reverse the sequence: output i attends to position n - 1 - i."""
    return _from_positions(size, np.arange(length)[::-1], n_symbols, seed)


def look_back(size: int, length: int, n_symbols: int, offset: int, *, seed: int = 0) -> SequenceTask:
    """The symbol `offset` positions before; the first `offset` outputs do not count, and have zeros as `weights`.

    >>> task = look_back(1, 4, 10, 2)
    >>> bool((task.target[0, 2:] == task.source[0, :2]).all()), task.mask[0].tolist()
    (True, [False, False, True, True])
    """
    if not 0 <= offset < length:
        raise ValueError(f"look_back: offset must be at least 0 and below length; got {offset=}, {length=}.")
    return _from_positions(size, np.arange(length) - offset, n_symbols, seed)


def latest_mark(size: int, length: int, n_symbols: int, share: float, *, seed: int = 0) -> SequenceTask:
    """The latest marked symbol up to each position; a marked symbol s is the number s + n_symbols.

    About the given share of the symbols is marked. Outputs before the first mark do not count.

    >>> task = latest_mark(1, 6, 10, 0.4, seed=1)
    >>> task.source[0].tolist(), task.target[0].tolist(), task.mask[0].tolist()[:2]
    ([4, 15, 7, 9, 0, 1], [0, 5, 5, 5, 5, 5], [False, True])
    """
    if not 0 < share <= 1:
        raise ValueError(f"latest_mark: share must be above 0 and at most 1; got {share=}.")
    rng = np.random.default_rng(seed)
    symbols = rng.integers(n_symbols, size=(size, length))
    marks = rng.random((size, length)) < share
    position = np.maximum.accumulate(np.where(marks, np.arange(length), -1), axis=1)
    mask = position >= 0
    target = np.where(mask, np.take_along_axis(symbols, np.maximum(position, 0), 1), 0)
    source, n_inputs = symbols + n_symbols * marks, (2 * n_symbols) ** length
    return SequenceTask(source, target, _one_hot(position, length), mask, 1 / n_symbols, n_inputs)


def lookup(size: int, n_pairs: int, n_keys: int, n_values: int, *, seed: int = 0) -> LookupTask:
    """Find a value by its key: the keys of one example are all different, its values need not be.

    >>> task = lookup(1, 2, 5, 9)
    >>> bool(task.keys[0] @ task.weights[0, 0] == task.query[0]), task.n_inputs
    (True, 3240)
    """
    if n_keys < n_pairs:
        raise ValueError(
            f"lookup: {n_pairs} different keys must come from n_keys >= {n_pairs}; got {n_keys=}."
        )
    rng = np.random.default_rng(seed)
    keys = rng.permuted(np.tile(np.arange(n_keys), (size, 1)), axis=1)[:, :n_pairs]
    values = rng.integers(n_values, size=(size, n_pairs))
    position = rng.integers(n_pairs, size=(size, 1))
    query, target = (np.take_along_axis(A, position, 1)[:, 0] for A in (keys, values))
    n_inputs = math.perm(n_keys, n_pairs) * n_values**n_pairs * n_pairs
    return LookupTask(
        keys, values, query, target, _one_hot(position, n_pairs), blind_accuracy(n_pairs, n_values), n_inputs
    )


def marked(size: int, length: int, n_symbols: int, *, seed: int = 0) -> MarkedTask:
    """Find the marked symbol."""
    rng = np.random.default_rng(seed)
    symbols = rng.integers(n_symbols, size=(size, length))
    position = rng.integers(length, size=(size, 1))
    weights = _one_hot(position, length)
    target = np.take_along_axis(symbols, position, 1)[:, 0]
    chance, n_inputs = blind_accuracy(length, n_symbols), length * n_symbols**length
    return MarkedTask(symbols, weights[:, 0] == 1, target, weights, chance, n_inputs)


def _one_hot(position: Int[Array, "b 1"], length: int) -> Float[Array, "b 1 n"]:
    return (position[:, :, None] == np.arange(length)).astype(float)


def _from_positions(size: int, position: Int[Array, "n"], n_symbols: int, seed: int) -> SequenceTask:
    """Output i is the symbol at `position[i]`; a position before the beginning makes an output that does not count."""
    length = len(position)
    source = np.random.default_rng(seed).integers(n_symbols, size=(size, length))
    counts = position >= 0
    weights = (position[:, None] == np.arange(length)).astype(float)
    target = np.where(counts, source[:, position], 0)
    chance = blind_accuracy(length, n_symbols)
    mask = np.tile(counts, (size, 1))
    return SequenceTask(source, target, np.tile(weights, (size, 1, 1)), mask, chance, n_symbols**length)
