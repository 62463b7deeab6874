"""One sequence asks another

write · ★ · 8 min · 02-self-attention/1-a-sequence-attends-to-itself · after self-attention.layer

Write cross-attention: X (..., m, d_model) is the target, which asks; source (..., n, d_model) is
read. `softmax(S)` over the last axis is there. Return (..., m, d_v).

1. How many rows must the result have: as many as X, or as many as the source?
2. A translation asks with the words that it has written, and reads the sentence that it translates.
3. Queries are X times W_Q; keys and values are both made from the source.

The shape is the first test: m rows ask, so m rows come back. Where m equals n by chance, a mix-up runs
without complaint; test with different lengths.
"""

import math

import numpy as np

from attnlib.exercises.kit import laws
from attnlib.exercises.kit.drawing import drawn
from attnlib.exercises.kit.given import softmax


def cross_attention(X, source, W_Q, W_K, W_V):
    """The rows of X ask; the rows of the source answer."""
    Q = X @ W_Q
    K = source @ W_K
    V = source @ W_V
    S = Q @ K.swapaxes(-1, -2) / math.sqrt(Q.shape[-1])
    return softmax(S) @ V


def reference(X, source, W_Q, W_K, W_V):
    from attnlib.reference import attention, layers

    return layers.cross_attention(X, source, attention.AttentionParameters(W_Q, W_K, W_V))[0]


def cases(rng):
    return {
        "two targets, three sources": drawn(rng, (2, 4), (3, 4), (4, 2), (4, 2), (4, 5)),
        "a batch of two": drawn(rng, (2, 3, 5), (2, 4, 5), (5, 6), (5, 6), (5, 7)),
        "as many targets as sources": drawn(rng, (2, 3, 5), (2, 3, 5), (5, 4), (5, 4), (5, 2)),
        "all sizes equal": drawn(rng, (3, 3, 3), (3, 3, 3), (3, 3), (3, 3), (3, 3)),
        "float32": drawn(rng, (2, 5), (4, 5), (5, 2), (5, 2), (5, 6), dtype=np.float32),
    }


def cross_by_einsum(X, source, W_Q, W_K, W_V):
    S = np.einsum("...id,de,fe,...jf->...ij", X, W_Q, W_K, source, optimize=True) * W_Q.shape[-1] ** -0.5
    return np.einsum("...ij,...jd,dv->...iv", softmax(S), source, W_V, optimize=True)


LAWS = (laws.separate_batches(0, 1), laws.blind_to_order({1: -2}))
VARIANTS = """
    cross_by_einsum
    Q @ K.swapaxes(-1, -2) / math.sqrt(Q.shape[-1]) => Q @ (K / Q.shape[-1] ** 0.5).swapaxes(-1, -2)
    math.sqrt( => np.sqrt(
    return softmax(S) => return np.float64(1) * softmax(S)
"""
MISTAKES = """
divided by d_k, not by its root | The spread of a dot product grows with the root of d_k.
    math.sqrt(Q.shape[-1]) => Q.shape[-1]
the softmax was taken twice | The second softmax got weights, which lie between 0 and 1, and made them
  almost equal.
    softmax(S) => softmax(softmax(S))
keys from the target | The keys were made from X. What is scored must be what is read: the source.
    source @ W_K => X @ W_K
values from the target | The values were made from X, so the target reads itself. What it reads is the
  source.
    source @ W_V => X @ W_V
queries from the source | The queries were made from the source, so it read itself. The target is the one
  that asks.
    X @ W_Q => source @ W_Q
the weights are returned | These are the weights, one for each pair. The output averages the values with
  them.
    return softmax(S) @ V => return softmax(S)
scaled by the number of tokens | K.shape[-2] counts the tokens that are read. What a score adds up are the
  entries of one key.
    math.sqrt(Q.shape[-1]) => math.sqrt(K.shape[-2])
√d_k is missing | The scores were not divided by the root of the width of a query.
    / math.sqrt(Q.shape[-1]) =>
scaled by √d_model | A score adds up d_k products, not d_model of them.
    math.sqrt(Q.shape[-1]) => math.sqrt(X.shape[-1])
normalised over the targets | Here each source word hands out a total weight of one. Each target word should
  get one.
    softmax(S) => softmax(S.swapaxes(-1, -2)).swapaxes(-1, -2)
all axes turned around | `.T` turns around all axes, the batch as well, so sequences get mixed. Swap the
  last two only.
    K.swapaxes(-1, -2) => K.T
"""
