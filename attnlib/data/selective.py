"""Selective copying: a few tokens among noise, which are to be repeated in order (Gu and Dao, 2023).

Book: state-spaces. How much noise stands before each of them differs from text to text, so no fixed distance leads from
an output to the token that it repeats.
"""

import math

import numpy as np

from attnlib.data.tasks import SequenceTask, blind_accuracy


def selective_copy(size: int, length: int, n_data: int, n_symbols: int, *, seed: int = 0) -> SequenceTask:
    """`length` tokens, of which n_data are symbols and the others noise, then n_data calls; call i repeats symbol i.

    Symbols are the numbers 0 ... n_symbols - 1, noise is n_symbols, and a call is n_symbols + 1. Only calls count.

    >>> task = selective_copy(1, 6, 2, n_symbols=5, seed=7)
    >>> task.source[0].tolist(), task.target[0, -2:].tolist()
    ([5, 5, 3, 5, 5, 4, 6, 6], [3, 4])
    """
    if not 1 <= n_data <= length:
        raise ValueError(
            f"selective_copy: n_data must be at least 1 and at most length; got {n_data=}, {length=}."
        )
    rng = np.random.default_rng(seed)
    where = np.sort(rng.permuted(np.tile(np.arange(length), (size, 1)), axis=1)[:, :n_data], axis=1)
    symbols = rng.integers(n_symbols, size=(size, n_data))
    source = np.full((size, length + n_data), n_symbols)
    np.put_along_axis(source, where, symbols, axis=1)
    source[:, length:] = n_symbols + 1
    target, mask = np.zeros_like(source), np.zeros(source.shape, dtype=bool)
    target[:, length:], mask[:, length:] = symbols, True
    weights = np.zeros((size, length + n_data, length + n_data))
    weights[:, length:] = where[:, :, None] == np.arange(length + n_data)
    n_inputs = math.comb(length, n_data) * n_symbols**n_data
    return SequenceTask(source, target, weights, mask, blind_accuracy(n_data, n_symbols), n_inputs)
