"""A mask in tiles: which of them are empty, full or partly visible, so that attention can leave the empty ones out.

The book uses it in *Who attends to whom?* (Chapter 6). The twin is `attnlib.nn.tiles`. `attnlib.reference.flash` takes
tiles, and computes those that are not empty.
"""

from typing import NamedTuple

import numpy as np

from attnlib.reference.patterns import Pattern, _cut, _pairs, _positions
from attnlib.shapes import Array, Bool, Int, Number, checked

EMPTY, FULL = 0, 1


class Tiles(NamedTuple):
    """A mask in tiles: `masks[number[a, b]]` is that of the queries of block a and the keys of block b.

    The first two masks are all False (EMPTY) and all True (FULL). Equal tiles have the same number.
    """

    number: Int[Array, "rows columns"]
    masks: Bool[Array, "kinds side side"]

    @property
    def empty(self) -> np.ndarray:
        return self.number == EMPTY

    @property
    def full(self) -> np.ndarray:
        return self.number == FULL

    @property
    def partial(self) -> np.ndarray:
        return self.number > FULL


@checked
def block_mask(
    pattern: Pattern,
    n: Number[int, "1.."],
    block: Number[int, "1.."],
    n_keys: Number[int, "1.."] | None = None,
) -> Tiles:
    """Which tiles of n queries and their keys are empty, full or partly visible; the n x n mask is never made.

    n_keys    as for `dense_mask`

    >>> from attnlib.reference.patterns import window
    >>> tiles = block_mask(window(3), n=6, block=2)
    >>> tiles.number
    array([[2, 0, 0],
           [3, 2, 0],
           [0, 3, 2]])
    >>> tiles.masks[3].astype(int)
    array([[1, 1],
           [0, 1]])
    """
    queries, keys = _positions("block_mask", n, n_keys)
    masks = [np.zeros((block, block), dtype=bool), np.ones((block, block), dtype=bool)]
    known: dict[bytes, int] = {}
    number = np.zeros((-(-len(queries) // block), -(-len(keys) // block)), dtype=np.int64)
    for a, rows in enumerate(_cut(queries, block)):
        for b, columns in enumerate(_cut(keys, block)):
            seen = _pairs(pattern, rows, columns)
            if seen.all():
                number[a, b] = FULL
            elif seen.any():
                mask = np.zeros((block, block), dtype=bool)
                mask[: len(rows), : len(columns)] = seen
                number[a, b] = known.setdefault(mask.tobytes(), len(masks))
                masks += [mask] if number[a, b] == len(masks) else []
    return Tiles(number, np.stack(masks))
