"""Found, but not returned

repair · ★★ · 10 min · 01-foundations/3-queries-keys-values · after foundations.attention-matrices

In training, this layer attends to the right input, but its output holds little of that input's value. It also learns
more slowly the wider the source is. Queries come from X (..., m, d_model), keys and values from source (..., n,
d_source), through W_Q (d_model, d_k), W_K (d_source, d_k) and W_V (d_source, d_v). Find both faults; the output is
(..., m, d_v).

1. Which of the five arguments has no effect? What is then averaged?
2. And what stands under the root? Scores are dot products of which width?
3. Values have a map of their own. The scores are dot products of queries and keys, so the root is that of the width
   of a query, after its map.

With one matrix for keys and values, an input is found by the same numbers that it returns. Where the widths are equal,
both faults run without an error: only the numbers, or other sizes, show them.
"""

import math

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit import laws
from attnlib.exercises.kit.drawing import drawn


def key_value_layer(X, source, W_Q, W_K, W_V):
    """Attention from X to a source: queries, keys and values are linear maps of the inputs."""
    Q = X @ W_Q
    K = source @ W_K
    V = source @ W_V
    S = Q @ K.swapaxes(-1, -2) / math.sqrt(Q.shape[-1])
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    P = E / E.sum(axis=-1, keepdims=True)
    return P @ V


def reference(X, source, W_Q, W_K, W_V):
    from attnlib.reference import attention

    return attention.attention_layer(X, source, attention.AttentionParameters(W_Q, W_K, W_V))[0]


def cases(rng):
    X, *others = drawn(rng, (5, 3), (4, 3), (3, 2), (3, 2), (3, 5))
    scale = np.array([[1.0], [1.0], [900.0], [-900.0], [2000.0]])
    return {
        "two queries, three inputs": drawn(rng, (2, 4), (3, 5), (4, 2), (5, 2), (5, 6)),
        "a batch of two": drawn(rng, (2, 3, 5), (2, 4, 7), (5, 6), (7, 6), (7, 11)),
        "d_v equal to d_k, one input width": drawn(rng, (2, 5), (3, 5), (5, 4), (5, 4), (5, 4)),
        "all sizes equal": drawn(rng, (3, 3, 3), (3, 3, 3), (3, 3), (3, 3), (3, 3)),
        "scores of 1 and of 800": (scale * X, *others),
        "float32": drawn(rng, (2, 5), (4, 3), (5, 2), (3, 2), (3, 6), dtype=np.float32),
    }


def layer_without_keys(X, source, W_Q, W_K, W_V):
    S = (X @ (W_Q @ W_K.T)) @ np.moveaxis(source, -1, -2) * W_Q.shape[-1] ** -0.5
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    return (E / E.sum(axis=-1, keepdims=True)) @ source @ W_V


GIVEN = ("values projected with W_K", "root of the wrong dimension")
LAWS = (laws.separate_batches(0, 1), laws.blind_to_order({1: -2}))
VARIANTS = (layer_without_keys, {"return P @ V": "return (P @ source) @ W_V"})
MISTAKES = (
    Mistake("normalised over the queries", "Here the weights of each key sum to one over the queries; those of each "
        "query should, over the keys.",
        {"E.sum(axis=-1, keepdims=True)": "E.sum(axis=-2, keepdims=True)"}, {"axis=-1": "axis=-2"}),
    Mistake("values projected with W_K", "The values went through the map of the keys; they have their own, W_V.",
        {"source @ W_V": "source @ W_K"}),
    Mistake("the matrices are transposed", "Inputs are rows, so a matrix of parameters acts from the right, as it is.",
        {"@ W_Q": "@ W_Q.T", "@ W_K": "@ W_K.T", "@ W_V": "@ W_V.T"}),
    Mistake("√d_k is missing", "The scores are not divided by √d_k, so they spread wider the longer the vectors.",
        {"/ math.sqrt(Q.shape[-1])": ""}),
    Mistake("divided by d_k, not by its root", "The standard deviation of a dot product grows like √d_k; dividing by "
        "d_k makes the weights too even.", {"math.sqrt(Q.shape[-1])": "Q.shape[-1]"}),
    Mistake("root of the wrong dimension", "d_k is the width of a query after its map. Here another size stands under "
        "the root.",
        {"math.sqrt(Q.shape[-1])": "math.sqrt(source.shape[-1])"},
        {"math.sqrt(Q.shape[-1])": "math.sqrt(X.shape[-1])"},
        {"math.sqrt(Q.shape[-1])": "math.sqrt(V.shape[-1])"}),
)  # fmt: skip
