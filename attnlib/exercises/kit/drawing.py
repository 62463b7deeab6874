"""What the cases of many exercises are drawn with."""

import numpy as np

from attnlib.exercises.kit.given import softmax


def drawn(
    rng: np.random.Generator, *sizes: int | tuple[int, ...], dtype: type = np.float64
) -> tuple[np.ndarray, ...]:
    """Normally distributed arrays, one for each size."""
    return tuple(rng.normal(size=size).astype(dtype) for size in sizes)


def weights(rng: np.random.Generator, *size: int, sharp: float = 1.0) -> np.ndarray:
    """Random attention weights: rows that sum to one, the more uneven the sharper."""
    return softmax(sharp * rng.normal(size=size))
