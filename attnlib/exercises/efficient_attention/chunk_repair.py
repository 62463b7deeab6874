"""Chunks with a decay

repair · ★★ · 10 min · 06-efficient-attention/2-three-faces-of-one-equation

This computes linear attention with one constant decay a, in chunks of C tokens: at each token the state is multiplied
by a, and then the product of the token's key and value is added; the query reads the state after that. Q and K are
(n, d_k), V is (n, d_v), and n is a multiple of C. The function has two faults. Repair both.

1. Try a = 1: then only one of the faults is left. From which token on is the result wrong?
2. A query reads its own chunk by the sum. Which tokens must the state contain when it reads that?
3. At the end of a chunk its last token has just been added. By which power of a has its first token been multiplied?

Off by one chunk or off by one power: with a decay near one and small chunks both errors look like noise in a training.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def decayed_chunks(Q, K, V, a, C):
    """(n, d_v): causal linear attention with the constant decay a, in chunks of C tokens."""
    O = np.empty_like(V)
    S = np.zeros((K.shape[1], V.shape[1]))
    i = np.arange(C)
    inside = np.tril(a ** np.maximum(i[:, None] - i, 0))
    for start in range(0, len(Q), C):
        q, k, v = (A[start : start + C] for A in (Q, K, V))
        old = a ** (i + 1)[:, None] * (q @ S)
        S = a**C * S + (a ** (C - 1 - i)[:, None] * k).T @ v
        O[start : start + C] = old + (q @ k.T * inside) @ v
    return O


def token_after_token(Q, K, V, a, C):
    O, S = np.empty_like(V), np.zeros((K.shape[1], V.shape[1]))
    for t in range(len(Q)):
        S = a * S + np.outer(K[t], V[t])
        O[t] = Q[t] @ S
    return O


def by_all_scores(Q, K, V, a, C):
    i = np.arange(len(Q))
    return (Q @ K.T * np.tril(a ** np.maximum(i[:, None] - i, 0))) @ V


def cases(rng):
    def one(n, d_k, d_v, a, C):
        return (*drawn(rng, (n, d_k), (n, d_k), (n, d_v)), a, C)

    return {
        "two chunks of two": one(4, 3, 2, 0.5, 2),
        "three chunks of three": one(9, 2, 4, 0.8, 3),
        "no decay": one(6, 2, 3, 1.0, 3),
        "one chunk": one(4, 2, 3, 0.7, 4),
        "chunks of one": one(3, 2, 2, 0.6, 1),
    }


OLD = "old = a ** (i + 1)[:, None] * (q @ S)"
NEW = "S = a**C * S + (a ** (C - 1 - i)[:, None] * k).T @ v"
GAP = "\n        "
TWICE = {OLD + GAP + NEW: NEW + GAP + OLD}
DECAYED = {"(a ** (C - 1 - i)[:, None] * k)": "(a ** (C - i)[:, None] * k)"}
GIVEN = ("the chunk is read twice", "the decay meets the new pair")
VARIANTS = (token_after_token, by_all_scores)
MISTAKES = (
    Mistake("the chunk is read twice", "The state already contains the chunk when its queries read it, and the sum "
        "adds the chunk once more. Read first, then update.", TWICE),
    Mistake("the decay meets the new pair", "A product is added after the decay, so for the last token, which has just "
        "been added, the power of a is 0.", DECAYED, lambda Q, K, V, a, C: a * decayed_chunks(Q, K, V, a, C)),
    Mistake("the old state is read without its first decay", "At the first token of a chunk the state has already "
        "been multiplied by a once.", {"a ** (i + 1)[:, None]": "a ** i[:, None]"}),
    Mistake("all tokens of a chunk read the old state alike", "Token i of a chunk reads the old state after i + 1 "
        "decays.", {"a ** (i + 1)[:, None] * (q @ S)": "q @ S"}, {"a ** (i + 1)[:, None] * (q @ S)": "a**C * (q @ S)"}),
    Mistake("the state decays too little in a chunk", "The state is multiplied by a at each token: C times in a chunk.",
        {"a**C * S": "a * S"}, {"a**C * S": "a ** (C - 1) * S"}),
    Mistake("the powers run the wrong way", "At the end of a chunk its first token has decayed most, and its "
        "last one least.",
        {"a ** (C - 1 - i)": "a ** i"}, {"a ** (C - 1 - i)": "a ** (i + 1)"}),
    Mistake("what a chunk writes does not decay", "Until the end of the chunk a token's product decays at each token "
        "after it.", {"(a ** (C - 1 - i)[:, None] * k)": "k"}),
    Mistake("no decay inside a chunk", "A query finds the products of its own chunk decayed, too: once for each token "
        "since then.", {"np.tril(a ** np.maximum(i[:, None] - i, 0))": "np.tri(C)"}),
    Mistake("a query does not read its own token", "The query reads the state after its token's product was added.",
        {"np.maximum(i[:, None] - i, 0))": "np.maximum(i[:, None] - i, 0), -1)"}),
    Mistake("each chunk begins with an empty state", "The state of the chunks before is carried on.",
        {"        q, k, v": "        S = np.zeros((K.shape[1], V.shape[1]))\n        q, k, v"}),
    Mistake("all queries read the state at the end of their chunk", "It contains tokens that come after the query.",
        {OLD + GAP + NEW: NEW + GAP + "old = q @ S", "old + (q @ k.T * inside) @ v": "old"}),
)  # fmt: skip
