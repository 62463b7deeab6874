"""What a task says is there: functions that a solution may call, because they are not the question."""

import math

import numpy as np


def softmax(S: np.ndarray) -> np.ndarray:
    """Over the last axis."""
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    return E / E.sum(axis=-1, keepdims=True)


def attention(Q: np.ndarray, K: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Scaled dot-product attention, scaled by the root of its own width."""
    return softmax(Q @ K.swapaxes(-1, -2) / math.sqrt(Q.shape[-1])) @ V
