"""Attention in four lines

write · ★★ · 12 min · 01-foundations/3-queries-keys-values · after foundations.softmax

Write scaled dot-product attention with matrices: scores, weights, average. Q is (..., m, d_k), K is (...,
n, d_k), V is (..., n, d_v); leading axes are a batch.

1. Three steps: a score for each query and key, weights for each query, an average of the values.
2. The scores are all dot products at once. Which two axes of K have to be exchanged, and by what is
   divided?
3. Divide the products of Q with K transposed (its last two axes) by the root of d_k, take the softmax of
   each row, and multiply with V.

`swapaxes(-1, -2)` transposes each matrix of a batch, where `.T` would turn all axes around. `math.sqrt`
gives a plain number, which leaves float32 as it is; `np.sqrt` of an int gives a float64.
"""

import math

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit import laws


def attention(Q, K, V):
    """Scaled dot-product attention: for each query in Q, an average of the values V."""
    S = Q @ K.swapaxes(-1, -2) / math.sqrt(Q.shape[-1])
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    P = E / E.sum(axis=-1, keepdims=True)
    return P @ V


def reference(Q, K, V):
    from attnlib.reference.attention import scaled_dot_product_attention

    return scaled_dot_product_attention(Q, K, V)[0]


def cases(rng):
    # Where sizes agree, a forgotten transpose runs (two of them) and so does `.T` (all of them).
    large = rng.normal(size=(2, 5)) * np.array([[1.0], [900.0]])
    return {
        "two sequences": (
            rng.normal(size=(2, 3, 7)),
            rng.normal(size=(2, 5, 7)),
            rng.normal(size=(2, 5, 11)),
        ),
        "as many keys as d_k": (rng.normal(size=(2, 3)), rng.normal(size=(3, 3)), rng.normal(size=(3, 5))),
        "scores of 1 and of 800": (large, rng.normal(size=(7, 5)), rng.normal(size=(7, 3))),
        "all sizes equal": tuple(rng.normal(size=(3, 3, 3)) for _ in range(3)),
        "float32": tuple(rng.normal(size=size).astype(np.float32) for size in ((3, 2), (4, 2), (4, 5))),
    }


def by_einsum(Q, K, V):
    S = np.einsum("...id,...jd->...ij", Q, K) * Q.shape[-1] ** -0.5
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    return np.einsum("...ij,...jd->...id", E, V) / E.sum(axis=-1, keepdims=True)


LAWS = (laws.separate_batches(0, 1, 2), laws.blind_to_order({1: -2, 2: -2}))
VARIANTS = (
    by_einsum,
    {"Q @ K.swapaxes(-1, -2) / math.sqrt(Q.shape[-1])": "(Q / math.sqrt(Q.shape[-1])) @ np.moveaxis(K, -1, -2)"},
    {"math.sqrt(": "np.sqrt("},
    {"return P": "return np.float64(1) * P"},
)  # fmt: skip
MISTAKES = (
    Mistake("normalised over the queries", "Here the weights of each key sum to one over the queries; those of each "
        "query should, over the keys.",
        {"E.sum(axis=-1, keepdims=True)": "E.sum(axis=-2, keepdims=True)"}, {"axis=-1": "axis=-2"}),
    Mistake("√d_k is missing", "The scores are not divided by √d_k, so they spread wider the longer the vectors, and "
        "the weights become too sharp.", {"/ math.sqrt(Q.shape[-1])": ""}),
    Mistake("divided by d_k, not by its root", "The standard deviation of a dot product grows like √d_k; dividing by "
        "d_k makes the weights too even.", {"math.sqrt(Q.shape[-1])": "Q.shape[-1]"}),
    Mistake("multiplied by √d_k", "The scores were made larger by √d_k; they should be made smaller.",
        {"/ math.sqrt(Q.shape[-1])": "* math.sqrt(Q.shape[-1])"}),
    Mistake("root of the wrong dimension", "The root is that of d_k, the width of queries and keys: no other size "
        "makes the spread of a dot product one.",
        {"math.sqrt(Q.shape[-1])": "math.sqrt(V.shape[-1])"},
        {"math.sqrt(Q.shape[-1])": "math.sqrt(K.shape[-2])"},
        {"math.sqrt(Q.shape[-1])": "math.sqrt(Q.shape[-2])"}),
    Mistake("scaled after the softmax", "The weights were divided, not the scores: now they do not sum to one. Scale "
        "before the softmax.", {"/ math.sqrt(Q.shape[-1])": "", "return P": "return P / math.sqrt(Q.shape[-1])"}),
    Mistake("K is not transposed", "Where K happens to be square it runs, but a score must pair a query's d_k numbers "
        "with a key's.", {"K.swapaxes(-1, -2)": "K"}),
    Mistake("no maximum subtracted", "exp(800) is larger than the largest float, so it becomes inf, and inf / inf is "
        "nan.", {"S - S.max(axis=-1, keepdims=True)": "S"}),
    Mistake("no softmax", "The scores themselves were used as weights; they are neither positive nor do they sum to "
        "one.", {"P = E / E.sum(axis=-1, keepdims=True)": "P = S"}),
)  # fmt: skip
