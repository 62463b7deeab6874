"""Tasks that are solved by finding a token, not a position: associative recall and induction.

Book: patterns-and-entropy, a-circuit. In one sequence of tokens the answer is the token *after* the one that is
searched for. So a first layer of attention writes to each token which token came before it, and a second layer searches
for that. (In `attnlib.data.tasks.lookup` keys and values are separate inputs, and one layer is enough.)
"""

import math

import numpy as np

from attnlib.data.tasks import SequenceTask, blind_accuracy
from attnlib.shapes import Array, Int


def associative_recall(
    size: int, n_pairs: int, n_keys: int, n_values: int, *, n_queries: int = 1, seed: int = 0
) -> SequenceTask:
    """k1 v1 k2 v2 ... then `n_queries` of the keys: the output at a query is the value after that key.

    Keys are the numbers 0 ... n_keys - 1, values the n_values numbers after them. Only the queries count.

    >>> task = associative_recall(1, 2, n_keys=5, n_values=5)
    >>> key, value = task.source[0, 4], task.target[0, 4]
    >>> pairs = task.source[0, :4].reshape(2, 2).tolist()
    >>> [int(key), int(value)] in pairs, task.mask[0].tolist()
    (True, [False, False, False, False, True])
    """
    if not 1 <= n_queries <= n_pairs <= n_keys:
        raise ValueError(
            "associative_recall: n_queries <= n_pairs <= n_keys must hold, because keys and queries must be different; "
            f"got {n_queries=}, {n_pairs=}, {n_keys=}."
        )
    rng = np.random.default_rng(seed)
    keys = _different(rng, size, n_pairs, n_keys)
    values = n_keys + rng.integers(n_values, size=(size, n_pairs))
    asked = _different(rng, size, n_queries, n_pairs)
    pairs = np.stack([keys, values], axis=-1).reshape(size, 2 * n_pairs)
    source = np.concatenate([pairs, np.take_along_axis(keys, asked, 1)], axis=1)
    position = np.full_like(source, -1)
    position[:, 2 * n_pairs :] = 2 * asked + 1
    n_inputs = math.perm(n_keys, n_pairs) * n_values**n_pairs * math.perm(n_pairs, n_queries)
    return _answers_at(source, position, blind_accuracy(n_pairs, n_values), n_inputs)


def induction(size: int, length: int, n_symbols: int, *, seed: int = 0) -> SequenceTask:
    """A B ... A -> B: different symbols, and then the same again; the output at a repeated A is what followed A.

    Where the repetition starts is drawn for each sequence, so that no fixed distance solves the task. Only repeated
    symbols count; each stands in the sequence exactly twice.

    >>> task = induction(1, 6, n_symbols=9)
    >>> found = task.weights[0, -1].argmax()
    >>> bool(task.source[0, found - 1] == task.source[0, -1]), bool(task.source[0, found] == task.target[0, -1])
    (True, True)
    """
    if length < 4 or n_symbols < length - 1:
        raise ValueError(
            "induction: at least 4 positions and length - 1 different symbols are needed; "
            f"got {length=}, {n_symbols=}."
        )
    rng = np.random.default_rng(seed)
    shortest = (length + 1) // 2
    period = rng.integers(shortest, length, size=(size, 1))
    block = _different(rng, size, length - 1, n_symbols)
    position = np.arange(length)
    source = np.take_along_axis(block, position % period, 1)
    position = np.where(position >= period, position - period + 1, -1)
    chance = blind_accuracy(length, n_symbols)
    n_inputs = sum(math.perm(n_symbols, p) for p in range(shortest, length))
    return _answers_at(source, position, chance, n_inputs)


def returning_piece(
    size: int, length: int, n_symbols: int, *, shortest: int, longest: int, seed: int = 0
) -> SequenceTask:
    """Noise, a piece, noise, the same piece again, noise: inside the repetition each next symbol is known.

    The symbols of a piece differ from each other and do not occur in the noise. Its length, shortest ... longest, and
    both its positions are drawn for each sequence, so that neither a fixed distance nor "the symbol that has not been
    repeated yet" solves the task. Outputs count at all repeated symbols but the last. `n_inputs` counts all inputs.

    >>> task = returning_piece(1, 9, n_symbols=12, shortest=3, longest=4)
    >>> found = task.weights[0].argmax(axis=1)[task.mask[0]]
    >>> bool((task.source[0, found - 1] == task.source[0][task.mask[0]]).all()), int(task.mask.sum()) in (2, 3)
    (True, True)
    """
    if not (2 <= shortest <= longest <= length // 2 and longest < n_symbols):
        raise ValueError(
            "returning_piece: 2 <= shortest <= longest, 2 longest <= length and a symbol for the noise are needed; "
            f"got {shortest=}, {longest=}, {length=}, {n_symbols=}."
        )
    rng = np.random.default_rng(seed)
    symbols = _different(rng, size, n_symbols, n_symbols)
    m = rng.integers(shortest, longest + 1, size=(size, 1))
    first, second = np.sort(rng.integers(length - 2 * m + 1, size=(size, 2)), axis=1).T[..., None]
    second = second + m
    position = np.arange(length)
    noise = m + (rng.random((size, length)) * (n_symbols - m)).astype(int)
    again = (position >= second) & (position < second + m)
    once = (position >= first) & (position < first + m)
    which = np.where(once, position - first, np.where(again, position - second, noise))
    position = np.where(again & (position < second + m - 1), position - second + first + 1, -1)
    lengths = range(shortest, longest + 1)
    n_inputs = sum(
        math.comb(length - 2 * k + 2, 2) * math.perm(n_symbols, k) * (n_symbols - k) ** (length - 2 * k)
        for k in lengths
    )
    return _answers_at(np.take_along_axis(symbols, which, 1), position, 2 / length, n_inputs)


def _different(rng: np.random.Generator, size: int, count: int, among: int) -> Int[Array, "b count"]:
    """Each row has `count` different numbers, all below `among`."""
    return rng.permuted(np.tile(np.arange(among), (size, 1)), axis=1)[:, :count]


def _answers_at(
    source: Int[Array, "b n"], position: Int[Array, "b n"], chance: float, n_inputs: int
) -> SequenceTask:
    """Output i is the token at `position[i]`; where that is -1 the output does not count."""
    counts = position >= 0
    weights = (position[:, :, None] == np.arange(source.shape[1])).astype(float)
    target = np.where(counts, np.take_along_axis(source, position.clip(0), 1), 0)
    return SequenceTask(source, target, weights, counts, chance, n_inputs)
