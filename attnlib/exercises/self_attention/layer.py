"""One sequence, three roles

write · ★ · 10 min · 02-self-attention/1-a-sequence-attends-to-itself · after foundations.key-value-layer

Write self-attention. X (..., n, d_model) is one sequence, or a batch of them; W_Q and W_K are (d_model,
d_k), W_V is (d_model, d_v). `softmax(S)` over the last axis is there. Return (..., n, d_v).

1. In cross-attention queries come from one sequence, keys and values from another. What is there to do if
   the two are the same?
2. Make queries, keys and values from the same X with three different matrices. The rest is scaled
   dot-product attention.
3. Three products with X; scores are queries times transposed keys over the root of the width of a key; then
   the softmax, and the average of the values.

One X plays three roles. Its three projections are what makes the roles differ: with equal maps for queries
and keys, token i would score token j just as j scores i.
"""

import math

import numpy as np

from attnlib.exercises.kit import laws
from attnlib.exercises.kit.drawing import drawn
from attnlib.exercises.kit.given import softmax


def self_attention(X, W_Q, W_K, W_V):
    """Every row of X asks, and every row of X answers."""
    Q = X @ W_Q
    K = X @ W_K
    V = X @ W_V
    S = Q @ K.swapaxes(-1, -2) / math.sqrt(K.shape[-1])
    return softmax(S) @ V


def reference(X, W_Q, W_K, W_V):
    from attnlib.reference import attention, layers

    return layers.self_attention(X, attention.AttentionParameters(W_Q, W_K, W_V))[0]


def cases(rng):
    return {
        "three tokens": drawn(rng, (3, 5), (5, 2), (5, 2), (5, 4)),
        "a batch of two": drawn(rng, (2, 4, 7), (7, 3), (7, 3), (7, 5)),
        "all sizes equal": drawn(rng, (3, 3, 3), (3, 3), (3, 3), (3, 3)),
        "d_model of 9, d_k of 4": drawn(rng, (5, 9), (9, 4), (9, 4), (9, 2)),
        "float32": drawn(rng, (4, 6), (6, 3), (6, 3), (6, 2), dtype=np.float32),
    }


def self_by_einsum(X, W_Q, W_K, W_V):
    S = np.einsum("...id,de,fe,...jf->...ij", X, W_Q, W_K, X, optimize=True) * W_Q.shape[-1] ** -0.5
    return np.einsum("...ij,...jd,dv->...iv", softmax(S), X, W_V, optimize=True)


LAWS = (laws.separate_batches(0),)
VARIANTS = """
    self_by_einsum
    Q @ K.swapaxes(-1, -2) / math.sqrt(K.shape[-1]) => Q / K.shape[-1] ** 0.5 @ K.swapaxes(-1, -2)
    math.sqrt( => np.sqrt(
    return softmax(S) => return np.float64(1) * softmax(S)
"""
MISTAKES = r"""
multiplied by √d_k | The scores grew by the root of d_k. They should shrink by it.
    / math.sqrt(K.shape[-1]) => * math.sqrt(K.shape[-1])
√d_k is missing | The scores were not divided by the root of the width of a key, so the weights are too
  sharp.
    / math.sqrt(K.shape[-1]) =>
scaled by √d_model | A score adds up d_k products, not d_model of them: the root of d_k brings its spread
  back to one.
    math.sqrt(K.shape[-1]) => math.sqrt(X.shape[-1])
scaled by the number of tokens | K.shape[-2] counts the tokens. What a score adds up are the entries of one
  key.
    math.sqrt(K.shape[-1]) => math.sqrt(K.shape[-2])
scaled by √d_v | The width of a value has no part in a score; the width of a key has.
    math.sqrt(K.shape[-1]) => math.sqrt(V.shape[-1])
divided by d_k, not by its root | The spread of a dot product grows with the root of d_k.
    math.sqrt(K.shape[-1]) => K.shape[-1]
the softmax was taken twice | The second softmax got weights, which lie between 0 and 1, and made them
  almost equal.
    softmax(S) => softmax(softmax(S))
one projection for queries and keys | Queries and keys came from the same matrix. Then the scores are
  symmetric: each looks at the other equally hard.
    X @ W_K => X @ W_Q
    X @ W_Q => X @ W_K
the projections of queries and keys are exchanged | With the two matrices exchanged, the scores are
  transposed: row i now says who looks at i.
    Q = X @ W_Q\n    K = X @ W_K => K = X @ W_Q\n    Q = X @ W_K
the values are not projected | The rows of X themselves were averaged. What a token gives is X times W_V.
    V = X @ W_V => V = X
normalised over the queries | Here each key hands out a total weight of one. Each query should: normalise
  over the last axis.
    softmax(S) => softmax(S.swapaxes(-1, -2)).swapaxes(-1, -2)
all axes turned around | `.T` turns around all axes, the batch as well, so sequences get mixed. Swap the
  last two only.
    K.swapaxes(-1, -2) => K.T
"""
