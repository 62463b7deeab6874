"""What the cases of many exercises are drawn with."""

import numpy as np


def drawn(
    rng: np.random.Generator, *sizes: tuple[int, ...], dtype: type = np.float64
) -> tuple[np.ndarray, ...]:
    """Normally distributed arrays, one for each size."""
    return tuple(rng.normal(size=size).astype(dtype) for size in sizes)


def softmax(S: np.ndarray) -> np.ndarray:
    """Over the last axis; for exercises in which the softmax is not the question."""
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    return E / E.sum(axis=-1, keepdims=True)
