"""A translator that reads itself

repair · ★★ · 10 min · 03-multi-head/5-heads-at-work · after self-attention.two-sources

X (m, d) is the translation so far, which has the queries; source (n, d) is read. The function should be multi-head
cross-attention. Where m equals n it runs, and its result is wrong. Repair its two bugs.

1. Change the source. Which of queries, keys and values move, and which should?
2. Give it m and n that differ: what does not fit together?
3. One bug is whose keys are scored; the other is how many products a score of one head adds up.

With keys from the target and values from the source it runs whenever m equals n, and then mixes the source
by what the target looks like. Tests with different lengths find it at once.
"""

import math

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn
from attnlib.exercises.kit.given import softmax


def read_source(X, source, W_Q, W_K, W_V, W_O, n_heads):
    """Multi-head cross-attention: the rows of X (m, d) ask, the rows of the source (n, d) are read."""

    def heads(Z):
        return Z.reshape(len(Z), n_heads, -1).swapaxes(0, 1)

    Q, K, V = heads(X @ W_Q), heads(source @ W_K), heads(source @ W_V)
    P = softmax(Q @ K.swapaxes(-1, -2) / math.sqrt(Q.shape[-1]))
    return (P @ V).swapaxes(0, 1).reshape(len(X), -1) @ W_O


def reference(X, source, W_Q, W_K, W_V, W_O, n_heads):
    blocks = zip(*(np.split(W, n_heads, axis=1) for W in (W_Q, W_K, W_V)), strict=True)
    heads = [softmax(X @ q @ (source @ k).T / math.sqrt(q.shape[1])) @ (source @ v) for q, k, v in blocks]
    return np.concatenate(heads, axis=1) @ W_O


def cases(rng):
    def case(m, n, d, h):
        return *drawn(rng, (m, d), (n, d), *[(d, d)] * 4), h

    return {
        "two targets, three sources": case(2, 3, 4, 2),
        "as many targets as sources": case(3, 3, 6, 2),
        "as many heads as tokens": case(3, 4, 6, 3),
        "one head": case(2, 4, 3, 1),
    }


GIVEN = ("keys from the target", "scaled by √d_model")
VARIANTS = (
    reference,
    {"Q @ K.swapaxes(-1, -2) / math.sqrt(Q.shape[-1])": "np.einsum('hmd,hnd->hmn', Q, K) * Q.shape[-1] ** -0.5"},
)  # fmt: skip
MISTAKES = (
    Mistake("keys from the target", "What is scored must be what is read: the source.",
        {"heads(source @ W_K)": "heads(X @ W_K)"}),
    Mistake("scaled by √d_model", "A head's score adds up d / h products: its own width counts.",
        {"math.sqrt(Q.shape[-1])": "math.sqrt(X.shape[-1])"}),
    Mistake("merged without the transpose", "The heads were strung together without being exchanged with the tokens.",
        {"(P @ V).swapaxes(0, 1)": "(P @ V)"}),
    Mistake("√d_k is missing", "The scores were not scaled.", {"/ math.sqrt(Q.shape[-1])": ""}),
)  # fmt: skip
