"""Return the symbols at several fixed offsets at once, for which one row of weights is not enough.

Book: why-several-heads. The task with a single offset is `attnlib.data.tasks.look_back`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from attnlib.data.tasks import blind_accuracy
from attnlib.shapes import Array, Bool, Float, Int


class OffsetsTask(NamedTuple):
    """At every position k symbols to predict. `weights[o]` solves the o-th; `mask` is True where predictions count."""

    source: Int[Array, "b n"]
    target: Int[Array, "b n k"]
    weights: Float[Array, "k n n"]
    mask: Bool[Array, "b n"]
    chance: float
    n_inputs: int


def retrieve_offsets(
    size: int, length: int, n_symbols: int, offsets: Sequence[int] = (-2, -1, 1, 2), *, seed: int = 0
) -> OffsetsTask:
    """At position i predict the symbols at i + o for every offset o; positions that lack a neighbour do not count.

    >>> task = retrieve_offsets(1, 5, 10, offsets=(-1, 2))
    >>> task.mask[0].tolist()
    [False, True, True, False, False]
    >>> bool((task.target[0, 1] == task.source[0, [0, 3]]).all())
    True
    >>> task.weights[:, 1].tolist()
    [[1.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0, 0.0]]
    """
    reach = max(0, *offsets) - min(0, *offsets)
    if len(set(offsets)) != len(offsets) or reach >= length:
        raise ValueError(
            "retrieve_offsets: offsets must differ from each other and leave a position that has all its neighbours; "
            f"got {tuple(offsets)} and {length=}. A length above {reach} has one."
        )
    source = np.random.default_rng(seed).integers(n_symbols, size=(size, length))
    position = np.arange(length)[:, None] + np.asarray(offsets)  # (n, k)
    counts = ((position >= 0) & (position < length)).all(axis=1)
    weights = (position.T[:, :, None] == np.arange(length)) & np.expand_dims(counts, 1)
    target = np.where(np.expand_dims(counts, 1), source[:, position.clip(0, length - 1)], 0)
    chance, n_inputs = blind_accuracy(length, n_symbols), n_symbols**length
    return OffsetsTask(source, target, weights.astype(float), np.tile(counts, (size, 1)), chance, n_inputs)
