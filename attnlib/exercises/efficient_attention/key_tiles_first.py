"""The other order of the loops

write · ★★ · 12 min · 06-efficient-attention/9-tiles-become-a-kernel

Attention in tiles can take one block of keys after the other and go through the blocks of queries, as the first
FlashAttention did. `needed` is a boolean array with one row for each block of B queries and one column for each block
of B keys, True where the tile is computed; queries, keys, values and outputs are d wide. For each column with at least
one tile, its keys and values are loaded once. For each tile its queries are loaded; the outputs so far and two numbers
for each query, its maximum and its sum, are loaded and stored again. Return how many numbers are moved in all.

1. What is moved once for each column that has a tile, and what for each tile?
2. A column: 2 B d numbers. A tile: the queries once, the outputs twice, the two numbers for each query twice.
3. So each tile moves 3 B d + 4 B numbers.

A tile in this order moves a half more than in the other one, where only its keys and values are loaded.
FlashAttention-2 (2023) exchanged the loops; then each output is also written by one program only.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def numbers_moved(needed, B, d):
    """How many numbers are loaded and stored if the outer loop goes through the blocks of keys."""
    columns, tiles = needed.any(axis=0).sum(), needed.sum()
    return columns * 2 * B * d + tiles * (3 * B * d + 4 * B)


def counted_one_by_one(needed, B, d):
    moved = 0
    for column in needed.T:
        if column.any():
            moved += 2 * B * d
        for one in column:
            if one:
                moved += B * d + 2 * (B * d + 2 * B)
    return moved


def with_a_sum_for_each_column(needed, B, d):
    each = np.count_nonzero(needed, axis=0)
    return int(np.sum((each > 0) * 2 * B * d + each * B * (3 * d + 4)))


def cases(rng):
    window = np.tril(np.ones((5, 5), bool)) & ~np.tril(np.ones((5, 5), bool), -2)
    empty = window.copy()
    empty[:, 1] = False
    return {
        "a window": (window, 2, 3),
        "more queries than keys": (rng.random((7, 3)) < 0.6, 4, 5),
        "a column without a tile": (empty, 2, 3),
        "all tiles": (np.ones((3, 4), bool), 8, 2),
        "a row without a tile": (np.array([[True, True], [False, False], [True, False]]), 3, 2),
        "two columns without a tile": (
            np.array([[False, True, False, False], [False, True, True, False]]),
            2,
            5,
        ),
    }


VARIANTS = (counted_one_by_one, with_a_sum_for_each_column)
MISTAKES = (
    Mistake("the outputs move only one way, or the queries are forgotten", "Each tile loads its queries. It also loads "
        "the outputs so far, because it adds to them, and stores them again.",
        {"(3 * B * d + 4 * B)": "(2 * B * d + 4 * B)"}),
    Mistake("the two numbers of each query are forgotten", "Without the maximum and the sum so far, the outputs of two "
        "tiles cannot be joined.", {"(3 * B * d + 4 * B)": "3 * B * d"}),
    Mistake("two of four numbers for each query", "A maximum and a sum are loaded, and both are stored again.",
        {"4 * B)": "2 * B)"}),
    Mistake("empty columns are loaded", "A block of keys without any tile is not loaded.",
        {"needed.any(axis=0).sum()": "needed.shape[1]"}),
    Mistake("rows in place of columns", "The outer loop goes through the blocks of keys, the columns.",
        {"needed.any(axis=0)": "needed.any(axis=1)"}),
    Mistake("keys and values are loaded for each tile", "They stay while the loop goes through their column: once for "
        "each column is enough.", {"columns * 2 * B * d + tiles * (3": "tiles * (5"}),
    Mistake("a column loads its keys or its values", "It loads both, and each of them has B rows of d numbers.",
        {"columns * 2": "columns"}),
    Mistake("something is moved once for each row", "The loops go through the columns, so a block of queries comes "
        "back for each of its tiles, and so do its outputs.", {"tiles * (3": "needed.any(axis=1).sum() * (3"},
        {"tiles * (3 * B * d": "needed.any(axis=1).sum() * B * d + tiles * (2 * B * d"}),
    Mistake("the first load is left out", "Here outputs and numbers are loaded for each tile, also for the first one "
        "of a row.", lambda needed, B, d: numbers_moved(needed, B, d) - needed.any(axis=1).sum() * (B * d + 2 * B)),
    Mistake("the queries are loaded once for each column", "Each tile of a column belongs to another block of queries.",
        {"columns * 2": "columns * 3", "tiles * (3": "tiles * (2"}),
    Mistake("all tiles are computed", "Only the tiles that are needed move anything.",
        {"needed.any(axis=0).sum(), needed.sum()": "needed.shape[1], needed.size"}),
)  # fmt: skip
