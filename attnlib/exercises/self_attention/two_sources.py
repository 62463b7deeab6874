"""Two books open at once

write · ★★ · 10 min · 02-self-attention/1-a-sequence-attends-to-itself

The words of X (m, d_model) are the queries. They attend to two sources, A (n_a, d) and B (n_b, d), at the same time,
with one set of projections: W_Q (d_model, d_k), W_K (d, d_k), W_V (d, d_v). The weights of each word sum to one over
both sources together. `softmax(S)` over the last axis is there. Return (m, d_v).

1. Whose scores compete in one softmax?
2. For the query of a word, n_a + n_b words are there to be read. Does it matter where they come from?
3. Put one source below the other before keys and values are made.

Attention reads a bag of keys and values; where they come from does not matter. Retrieved documents, a
translation's source and its own past words, cached keys: all of them are joined like this.
"""

import math

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn
from attnlib.exercises.kit.given import softmax


def read_both(X, A, B, W_Q, W_K, W_V):
    """X reads two sources with one softmax."""
    source = np.concatenate([A, B])
    S = X @ W_Q @ (source @ W_K).T / math.sqrt(W_Q.shape[1])
    return softmax(S) @ (source @ W_V)


def cases(rng):
    return {
        "two queries, sources of three and one": drawn(rng, (2, 4), (3, 5), (1, 5), (4, 2), (5, 2), (5, 3)),
        "sources of one length": drawn(rng, (3, 4), (2, 4), (2, 4), (4, 3), (4, 3), (4, 2)),
        "all sizes equal": drawn(rng, (3, 3), (3, 3), (3, 3), (3, 3), (3, 3), (3, 3)),
    }


def two_sums(X, A, B, W_Q, W_K, W_V):
    Q = X @ W_Q / W_Q.shape[1] ** 0.5
    E_a, E_b = np.exp(Q @ (A @ W_K).T), np.exp(Q @ (B @ W_K).T)
    total = E_a.sum(axis=1) + E_b.sum(axis=1)
    return (E_a @ A @ W_V + E_b @ B @ W_V) / total[:, None]


def one(X, source, W_Q, W_K, W_V):
    return softmax(X @ W_Q @ (source @ W_K).T / math.sqrt(W_Q.shape[1])) @ (source @ W_V)


def mean_of_both(X, A, B, W_Q, W_K, W_V):
    return (one(X, A, W_Q, W_K, W_V) + one(X, B, W_Q, W_K, W_V)) / 2


VARIANTS = (two_sums, {"np.concatenate([A, B])": "np.vstack([B, A])"})
MISTAKES = (
    Mistake("two softmaxes, averaged", "Each source had a softmax of its own, and the two answers were averaged: half "
        "of the weight goes to each source, however low its scores are.", mean_of_both),
    Mistake("two softmaxes, added", "Each source had a weight of one of its own, and the answers were added.",
        lambda X, A, B, W_Q, W_K, W_V: 2 * mean_of_both(X, A, B, W_Q, W_K, W_V)),
    Mistake("shared by the lengths", "Each source had a softmax of its own, and the answers were mixed by the numbers "
        "of words.",
        lambda X, A, B, W_Q, W_K, W_V: (len(A) * one(X, A, W_Q, W_K, W_V) + len(B) * one(X, B, W_Q, W_K, W_V)) /
            (len(A) + len(B))),
    Mistake("√d_k is missing", "The scores were not divided by the root of the width of a query.",
        {"/ math.sqrt(W_Q.shape[1])": ""}),
    Mistake("divided by d_k, not by its root", "The spread of a dot product grows with the root of d_k.",
        {"math.sqrt(W_Q.shape[1])": "W_Q.shape[1]"}),
    Mistake("scaled by the number of words", "What a score adds up are the d_k products of one pair, however many "
        "words are read.", {"math.sqrt(W_Q.shape[1])": "math.sqrt(len(source))"}),
)  # fmt: skip
