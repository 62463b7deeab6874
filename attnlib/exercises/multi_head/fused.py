"""All heads at once

write · ★★ · 20 min · 03-multi-head/2-one-matrix-multiplication · after multi-head.loop

Write multi-head self-attention without a loop over heads. Head k owns the k-th block of d / h columns of
W_Q, W_K and W_V. `softmax(S)` over the last axis is there. Return (..., n, d).

1. One product makes the queries of all heads. How must they be arranged so that `@` works on each head
   alone?
2. Split into (..., h, n, d / h), attend as always, and bring the heads back side by side.
3. Reshape to (..., n, h, d / h), swap tokens and heads; scores, softmax, values; swap back, reshape, times
   W_O.

The same numbers as the loop. The heads became one more batch axis, and `@` never mixes those.
"""

import math

import numpy as np

from attnlib.exercises.kit import laws
from attnlib.exercises.kit.given import attention, softmax
from attnlib.exercises.multi_head.loop import cases as cases
from attnlib.exercises.multi_head.loop import one_after_the_other


def all_at_once(X, W_Q, W_K, W_V, W_O, n_heads):
    """Multi-head attention without a loop: one product for the projections of all heads."""
    *batch, n, d = X.shape

    def heads(Y):
        return Y.reshape(*batch, n, n_heads, d // n_heads).swapaxes(-3, -2)

    Q, K, V = heads(X @ W_Q), heads(X @ W_K), heads(X @ W_V)
    S = Q @ K.swapaxes(-1, -2) / math.sqrt(Q.shape[-1])
    O = softmax(S) @ V
    return O.swapaxes(-3, -2).reshape(*batch, n, d) @ W_O


def fused_by_einsum(X, W_Q, W_K, W_V, W_O, n_heads):
    d = X.shape[-1]
    Q, K, V = (np.einsum("...nd,dhe->...hne", X, W.reshape(d, n_heads, -1)) for W in (W_Q, W_K, W_V))
    return np.einsum("...hne,hed->...nd", attention(Q, K, V), W_O.reshape(n_heads, -1, d))


reference = one_after_the_other
LAWS = (laws.separate_batches(0),)
VARIANTS = """
    fused_by_einsum
    heads(X @ W_Q), heads(X @ W_K), heads(X @ W_V) => (heads(X @ W) for W in (W_Q, W_K, W_V))
    math.sqrt( => np.sqrt(
    return O. => return np.float64(1) * O.
"""
MISTAKES = """
split without the transpose | The heads were cut out of the rows: the shape is right, the tokens are mixed.
    (*batch, n, n_heads, d // n_heads).swapaxes(-3, -2) => (*batch, n_heads, n, d // n_heads)
merged without the transpose | The heads were strung together without changing places with the tokens.
    O.swapaxes(-3, -2).reshape => O.reshape
scaled by √d_model | A head's score adds up d / h products: its own width counts.
    math.sqrt(Q.shape[-1]) => math.sqrt(d)
√d_k is missing | The scores were not scaled.
    / math.sqrt(Q.shape[-1]) =>
scaled by the number of heads | Q.shape[-3] counts the heads. The width of a head is its last axis.
    math.sqrt(Q.shape[-1]) => math.sqrt(Q.shape[-3])
the output projection was forgotten | The heads were not mixed: W_O is missing.
    @ W_O =>
W_O is transposed | The result was multiplied with the transpose; with a square matrix the shape does not
  tell.
    @ W_O => @ W_O.T
the heads are interleaved | Head k got every h-th column. It owns a block of neighbours.
    (*batch, n, n_heads, d // n_heads).swapaxes(-3, -2)
        => (*batch, n, d // n_heads, n_heads).swapaxes(-1, -2).swapaxes(-3, -2)
    (*batch, n, n_heads, d // n_heads).swapaxes(-3, -2)
        => (*batch, n, d // n_heads, n_heads).swapaxes(-1, -2).swapaxes(-3, -2)
        ;; O.swapaxes(-3, -2).reshape
        => O.swapaxes(-3, -2).swapaxes(-1, -2).reshape
no heads at all | This is one head of the full width. Each head must have a softmax of its own.
    n_heads, d // n_heads).swapaxes(-3, -2) => 1, d).swapaxes(-3, -2)
heads attend to heads | For each token the heads looked at one another. The tokens of one head should.
    n_heads, d // n_heads).swapaxes(-3, -2) => n_heads, d // n_heads) ;; O.swapaxes(-3, -2).reshape => O.reshape
one projection for queries and keys | The keys came from the matrix of the queries.
    heads(X @ W_K) => heads(X @ W_Q)
values from the keys' matrix | The values have a matrix of their own.
    heads(X @ W_V) => heads(X @ W_K)
"""
