"""Nearness without distances

write · ★★ · 12 min · 01-foundations/5-scoring-functions

The score of a query q and a key k is minus half of the sum over the coordinates c of (q_c - k_c)² / h_c²: each
coordinate has a bandwidth of its own. Return the softmax weights (..., m, n) for Q (..., m, d), K (..., n, d)
and h (d,), without building an array of m n d numbers.

1. Multiply the square out. Which of the three terms is the same for all keys of a query?
2. That term may be left out, because a softmax does not see it. What is left is one product of all pairs, and
   one number for each key.
3. Divide queries and keys by h first. Then it is the plain distance: the scores are the dot products, less half of
   each key's squared length.

With queries and keys divided by h this is attention in which each key's score is lowered by half of its squared
length. An array of all differences would have d times as many numbers as the scores.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit import laws


def distance_weights(Q, K, h):
    """For each query the weights of the keys, by their distance with a bandwidth for each coordinate."""
    Q, K = Q / h, K / h
    S = Q @ K.swapaxes(-1, -2) - (K**2).sum(axis=-1)[..., None, :] / 2
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    return E / E.sum(axis=-1, keepdims=True)


def with_differences(Q, K, h):
    D = (Q[..., :, None, :] - K[..., None, :, :]) / h
    S = -(D**2).sum(axis=-1) / 2
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    return E / E.sum(axis=-1, keepdims=True)


def one_longer(Q, K, h):
    """The squared length of the keys as one more coordinate."""
    Q, K = Q / h, K / h
    long_Q = np.concatenate([Q, np.ones_like(Q[..., :1])], axis=-1)
    long_K = np.concatenate([K, -(K**2).sum(axis=-1, keepdims=True) / 2], axis=-1)
    S = np.einsum("...id,...jd->...ij", long_Q, long_K)
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    return E / E.sum(axis=-1, keepdims=True)


def cases(rng):
    def case(*sizes, dtype: type = np.float64):
        Q, K = (rng.normal(size=size).astype(dtype) for size in sizes)
        return Q, K, rng.uniform(0.5, 2, size=sizes[0][-1:]).astype(dtype)

    far = case((2, 3), (4, 3))
    return {
        "two queries, three keys": case((2, 2), (3, 2)),
        "a batch of two": case((2, 3, 4), (2, 5, 4)),
        "all sizes equal": case((3, 3, 3), (3, 3, 3)),
        "queries far away": (far[0] + 60, far[1], far[2]),
        "float32": case((2, 4), (3, 4), dtype=np.float32),
    }


LAWS = (laws.separate_batches(0, 1),)
VARIANTS = (with_differences, one_longer)
MISTAKES = (
    Mistake("the squared length of the keys is missing",
        "These are the weights of a plain dot product. Half of a key's squared length is subtracted from its scores.",
        {"- (K**2).sum(axis=-1)[..., None, :] / 2": ""}),
    Mistake("the whole squared length", "The whole squared length was subtracted. It should be half of it.",
        {"(K**2).sum(axis=-1)[..., None, :] / 2": "(K**2).sum(axis=-1)[..., None, :]"}),
    Mistake("the squared length is added", "Multiplied out, the squared length of the keys has a minus.",
        {"- (K**2).sum": "+ (K**2).sum"}),
    Mistake("the length, not its square", "The square of a key's length is what the square multiplied out contains.",
        {"(K**2).sum(axis=-1)[..., None, :] / 2": "np.sqrt((K**2).sum(axis=-1))[..., None, :] / 2"}),
    Mistake("all coordinates alike", "Every coordinate has a bandwidth, and here none of them has an effect.",
        {"Q, K = Q / h, K / h": "Q, K = Q, K"}),
    Mistake("multiplied by the bandwidth", "A wide bandwidth should make a coordinate count less; here it counts more.",
        {"Q, K = Q / h, K / h": "Q, K = Q * h, K * h"}),
)  # fmt: skip
