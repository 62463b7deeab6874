"""Once, and not before its time

repair · ★★ · 10 min · 06-efficient-attention/8-hierarchies

Each query attends to the tokens of its own chunk up to itself, to all tokens of the chunk before, and to the mean of
each chunk before that; a mean counts as C tokens. So each earlier token counts once, and no later one does. Q and K are
(n, d_k), V is (n, d_v), and n is a multiple of C. The function has two faults. Repair both.

1. Let all queries be 0: then all scores are equal. What should the outputs be?
2. Print `near` and `far` for six tokens and C = 2. In which row is a chunk counted twice, or one that is not over?
3. How much weight should a mean get beside a token with the same score?

In a training the first fault looks like a very good model: its own chunk's mean contains the tokens to be predicted.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def two_chunks_near(Q, K, V, C):
    """(n, d_v): attention to the tokens of the last two chunks and to the means of the chunks before them."""
    i, j, c = np.arange(len(Q))[:, None], np.arange(len(K)), np.arange(len(K) // C)
    K_far, V_far = (X.reshape(len(c), C, -1).mean(axis=1) for X in (K, V))
    near = (j <= i) & (i // C - j // C < 2)
    far = c < i // C - 1
    E = np.exp(Q @ np.vstack([K, K_far]).T / np.sqrt(K.shape[1])) * np.hstack([near, C * far])
    return E / E.sum(axis=1, keepdims=True) @ np.vstack([V, V_far])


def query_by_query(Q, K, V, C):
    O = np.empty((len(Q), V.shape[1]))
    for i in range(len(Q)):
        begin = max(0, (i // C - 1) * C)
        keys = np.concatenate(
            [K[:begin].reshape(-1, C, K.shape[1]).mean(axis=1).repeat(C, axis=0), K[begin : i + 1]]
        )
        values = np.concatenate(
            [V[:begin].reshape(-1, C, V.shape[1]).mean(axis=1).repeat(C, axis=0), V[begin : i + 1]]
        )
        P = np.exp(keys @ Q[i] / K.shape[1] ** 0.5)
        O[i] = P @ values / P.sum()
    return O


def cases(rng):
    def one(n, d_k, d_v, C):
        return (*drawn(rng, (n, d_k), (n, d_k), (n, d_v)), C)

    return {"three chunks of two": one(6, 2, 3, 2), "four chunks of three": one(12, 3, 2, 3),
        "five chunks of two": one(10, 4, 5, 2), "two chunks": one(8, 2, 2, 4)}  # fmt: skip


GIVEN = ("a mean of a chunk that is not over", "a mean counts as one token")
VARIANTS = (
    query_by_query,
    {"c < i // C - 1": "c + 2 <= i // C", "(i // C - j // C < 2)": "(j // C >= i // C - 1)"},
)
MISTAKES = (
    Mistake("a mean of a chunk that is not over", "The mean of the query's own chunk contains later tokens, and the "
        "chunk before is already read token by token.", {"c < i // C - 1": "c <= i // C"}),
    Mistake("the chunk before is counted twice", "It is read token by token, so its mean must not be read as well.",
        {"c < i // C - 1": "c < i // C"}),
    Mistake("a mean counts as one token", "A mean stands for C tokens: with equal scores it gets C times the weight "
        "of one token.", {"C * far": "far"}),
    Mistake("a window of 2 C tokens", "Near are the tokens of two chunks, not the last 2 C: those of a third chunk "
        "would be in its mean as well.", {"(i // C - j // C < 2)": "(i - j < 2 * C)"}),
    Mistake("the chunk before is only a mean", "It should be read token by token, as the query's own chunk is.",
        {"C < 2)": "C < 1)", "c < i // C - 1": "c < i // C"}),
    Mistake("C is multiplied into keys or values", "C multiplies the weight of a mean: in the sum of the values and in "
        "the sum that divides it, and in no score.", {"C * far": "far", "[K, K_far]": "[K, C * K_far]"},
        {"C * far": "far", "[V, V_far]": "[V, C * V_far]"}),
    Mistake("C is added to the scores", "That multiplies the weight by e to the power of C.",
        {"C * far": "np.exp(C) * far"}),
    Mistake("the weight is multiplied by log C", "log C may be added to a score. A weight is multiplied by C itself.",
        {"C * far": "np.log(C) * far"}),
    Mistake("sums in place of means", "A sum of C keys makes a score C times as large, and the weight is not C times "
        "the weight of one token.", {"mean(axis=1)": "sum(axis=1)", "C * far": "far"}),
    Mistake("one chunk is missing", "Every chunk before the last two has its mean, the last of them too.",
        {"c < i // C - 1": "c < i // C - 2"}),
)  # fmt: skip
