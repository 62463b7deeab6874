"""The twin of `attnlib.reference.tiles`: a mask in tiles, for `attnlib.nn.flash`.

Used in *Who attends to whom?* (Chapter 6). The numbers of the tiles stay on the CPU, where the loop over tiles
reads them; their masks are on the device of the scores.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from attnlib.nn.masks import Device
from attnlib.nn.patterns import _pairs
from attnlib.reference.patterns import Pattern, _cut, _positions
from attnlib.reference.tiles import EMPTY, FULL
from attnlib.shapes import Bool, Int, Number, checked


class Tiles(NamedTuple):
    """A mask in tiles: `masks[number[a, b]]` is that of the queries of block a and the keys of block b.

    The first two masks are all False (EMPTY) and all True (FULL). Equal tiles have the same number.
    """

    number: Int[Tensor, "rows columns"]  # on the CPU
    masks: Bool[Tensor, "kinds side side"]

    @property
    def empty(self) -> Tensor:
        return self.number == EMPTY

    @property
    def full(self) -> Tensor:
        return self.number == FULL

    @property
    def partial(self) -> Tensor:
        return self.number > FULL


@checked
def block_mask(
    pattern: Pattern,
    n: Number[int, "1.."],
    block: Number[int, "1.."],
    n_keys: Number[int, "1.."] | None = None,
    device: Device = None,
) -> Tiles:
    """Which tiles of n queries and their keys are empty, full or partly visible; the n x n mask is never made.

    It reads what the pattern returns, so a GPU is waited for: make the tiles once for all layers.

    >>> from attnlib.nn.patterns import window
    >>> block_mask(window(3), n=6, block=2).number
    tensor([[2, 0, 0],
            [3, 2, 0],
            [0, 3, 2]])
    """
    queries, keys = _positions("block_mask", n, n_keys)
    masks = [torch.zeros(block, block, dtype=torch.bool), torch.ones(block, block, dtype=torch.bool)]
    known: dict[bytes, int] = {}
    number = torch.zeros(-(-len(queries) // block), -(-len(keys) // block), dtype=torch.int64)
    for a, rows in enumerate(_cut(queries, block)):
        for b, columns in enumerate(_cut(keys, block)):
            seen = _pairs(pattern, rows, columns, device).cpu()
            if seen.all():
                number[a, b] = FULL
            elif seen.any():
                mask = torch.zeros(block, block, dtype=torch.bool)
                mask[: len(rows), : len(columns)] = seen
                number[a, b] = known.setdefault(mask.numpy().tobytes(), len(masks))
                masks += [mask] if number[a, b] == len(masks) else []
    return Tiles(number, torch.stack(masks).to(device))
