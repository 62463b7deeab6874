"""The additive score of every pair

write · ★★ · 12 min · 01-foundations/10-scores-backwards · after foundations.dot-by-hand

Write the additive score for all pairs. Q is (..., m, d_q), K is (..., n, d_k), W_q is (d_q, d_a), W_k is
(d_k, d_a) and v is (d_a,); the scores are (..., m, n).

1. Every query meets every key. Which two axes must the hidden layer have besides its own d_a?
2. Map the queries and the keys first; then insert an axis into each so that adding them makes all pairs.
3. Give the mapped queries a new axis for the keys, the mapped keys one for the queries, add, take the tanh,
   and multiply with v, which sums over the last axis.

The hidden layer has m n d_a numbers, which is what makes this score more expensive than a dot product.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit import laws


def additive_scores(Q, K, W_q, W_k, v):
    """One hidden layer for every pair of a query and a key: map both, add, take the tanh, weigh with v."""
    mapped_q = (Q @ W_q)[..., :, None, :]
    mapped_k = (K @ W_k)[..., None, :, :]
    return np.tanh(mapped_q + mapped_k) @ v


def reference(Q, K, W_q, W_k, v):
    from attnlib.reference import scores

    return scores.additive_scores(Q, K, W_q, W_k, v)[0]


def cases(rng):
    def case(*sizes, scale=1.0, dtype: type = np.float64):
        return tuple((scale * rng.normal(size=size)).astype(dtype) for size in sizes)

    return {
        "two queries, three keys": case((2, 3), (3, 5), (3, 4), (5, 4), (4,)),
        "a batch of two": case((2, 3, 5), (2, 4, 7), (5, 6), (7, 6), (6,)),
        "all sizes equal": case((3, 3), (3, 3), (3, 3), (3, 3), (3,)),
        "large inputs": case((2, 3), (4, 3), (3, 5), (3, 5), (5,), scale=30.0),
        "float32": case((2, 3), (3, 2), (3, 4), (2, 4), (4,), dtype=np.float32),
    }


def additive_by_loops(Q, K, W_q, W_k, v):
    out = np.zeros((*Q.shape[:-1], K.shape[-2]), dtype=Q.dtype)
    for j in range(K.shape[-2]):
        out[..., :, j] = np.tanh(Q @ W_q + (K[..., j, :] @ W_k)[..., None, :]) @ v
    return out


LAWS = (laws.separate_batches(0, 1),)
VARIANTS = (
    additive_by_loops,
    {"return np.tanh(mapped_q + mapped_k) @ v": "return (np.tanh(mapped_k + mapped_q) * v).sum(axis=-1)"},
    {"@ v": "@ v.astype(np.float64)"},
)  # fmt: skip
MISTAKES = (
    Mistake("multiplied, not added", "The two mapped vectors are added in this score; a product of them is another "
        "one.", {"mapped_q + mapped_k": "mapped_q * mapped_k"}),
    Mistake("subtracted, not added", "The mapped key is added to the mapped query, with a plus.",
        {"mapped_q + mapped_k": "mapped_q - mapped_k"}),
    Mistake("v is left out", "The hidden layer was summed up as it is; v weighs its entries.",
        {"@ v": ".sum(axis=-1)"}),
)  # fmt: skip
