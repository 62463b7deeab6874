"""One head after the other

write · ★ · 12 min · 03-multi-head/2-one-matrix-multiplication · after self-attention.layer

Write multi-head self-attention as a loop over heads. X is (..., n, d); W_Q, W_K, W_V and W_O are (d, d),
and head k owns the k-th block of d / h columns of the first three. `attention(Q, K, V)` is there, and
scales by the root of its own width.

1. Which columns of W_Q belong to head 1, if each head is d / h wide?
2. In each round project X with the head's own columns and attend; keep the results in a list.
3. At the end lay the results side by side along the last axis, and multiply with W_O.

The heads never meet before the last product: only W_O mixes them.
"""

import numpy as np

from attnlib.exercises.kit import laws
from attnlib.exercises.kit.drawing import drawn
from attnlib.exercises.kit.given import attention


def one_after_the_other(X, W_Q, W_K, W_V, W_O, n_heads):
    """Multi-head attention, head by head; head k has the k-th block of columns of W_Q, W_K and W_V."""
    d_k = W_Q.shape[1] // n_heads
    heads = []
    for k in range(n_heads):
        own = slice(k * d_k, (k + 1) * d_k)
        heads.append(attention(X @ W_Q[:, own], X @ W_K[:, own], X @ W_V[:, own]))
    return np.concatenate(heads, axis=-1) @ W_O


def cases(rng):
    def case(n, d, h, *batch, dtype: type = np.float64):
        return *drawn(rng, (*batch, n, d), *[(d, d)] * 4, dtype=dtype), h

    return {
        "three tokens, two heads": case(3, 4, 2),
        "a batch of two": case(4, 6, 3, 2),
        "as many heads as tokens": case(3, 6, 3, 2),
        "one head": case(4, 3, 1),
        "d_model of 9, three heads": case(5, 9, 3),
        "float32": case(3, 4, 2, dtype=np.float32),
    }


def loop_by_split(X, W_Q, W_K, W_V, W_O, n_heads):
    blocks = zip(*(np.split(W, n_heads, axis=1) for W in (W_Q, W_K, W_V)), strict=True)
    return np.concatenate([attention(X @ q, X @ k, X @ v) for q, k, v in blocks], axis=-1) @ W_O


LAWS = (laws.separate_batches(0),)
VARIANTS = """
    loop_by_split
    slice(k * d_k, (k + 1) * d_k) => np.arange(k * d_k, k * d_k + d_k)
"""
MISTAKES = """
the output projection was forgotten | The heads lie side by side but were not mixed: W_O is missing.
    @ W_O =>
one projection for all heads | All heads used the columns of head 0, so they all look at the same things.
    slice(k * d_k, (k + 1) * d_k) => slice(0, d_k)
the heads are interleaved | Head k got every h-th column. It owns a block of neighbours.
    slice(k * d_k, (k + 1) * d_k) => slice(k, None, n_heads)
the heads are merged in the wrong order | The last head came first: its columns met the rows of W_O that
  belong to head 0.
    np.concatenate(heads => np.concatenate(heads[::-1]
the results were added up | The heads were summed and met the first rows of W_O. Side by side each meets
  rows of its own.
    np.concatenate(heads, axis=-1) @ W_O => sum(heads) @ W_O[:d_k]
rows of the matrices in place of columns | Head k got a block of rows of each matrix, as `nn.Linear` would
  keep it. It owns a block of columns.
    X @ W_Q[:, own]
        => X @ W_Q.T[:, own]
        ;; X @ W_K[:, own]
        => X @ W_K.T[:, own]
        ;; X @ W_V[:, own]
        => X @ W_V.T[:, own]
the heads share out the numbers of X | Each head saw only a part of each token. A head reads all of X,
  through its part of the columns.
    X @ W_Q[:, own]
        => X[..., own] @ W_Q[own, own]
        ;; X @ W_K[:, own]
        => X[..., own] @ W_K[own, own]
        ;; X @ W_V[:, own]
        => X[..., own] @ W_V[own, own]
the results are interleaved | The first numbers of all heads came first. Side by side, head 0 comes whole,
  then head 1.
    np.concatenate(heads, axis=-1) => np.stack(heads, axis=-1).reshape(X.shape)
the values have all columns of head 0 | Values have their own columns in each head, like queries and keys.
    W_V[:, own] => W_V[:, :d_k]
W_O is transposed | The result was multiplied with the transpose; with a square matrix the shape does not
  tell.
    @ W_O => @ W_O.T
"""
