"""Divide without a softmax

write · ★★ · 12 min · 06-efficient-attention/2-three-faces-of-one-equation

Q and K (n, d_k) hold positive numbers, V is (n, d_v). The output of token t is the average of the values of the tokens
up to t, weighted by the dot products of query t with their keys: the weights of a token sum to one. Return O (n, d_v).
Keep only a state whose size does not depend on n; make no array of n times n numbers (the check compares the outputs
alone).

1. What is divided by what?
2. The numerator is the query times the state. The denominator is the sum of the query's scores with the keys up to t.
3. That sum is the query times the sum of the keys up to t: keep this vector beside the state.

One more column does the same: append a 1 to every value, and the last column of the outputs is the denominator.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def normalised(Q, K, V):
    """(n, d_v): for each token the average of the values up to it, weighted by the products of query and keys."""
    O = np.empty_like(V)
    S, z = np.zeros((K.shape[1], V.shape[1])), np.zeros(K.shape[1])
    for t in range(len(Q)):
        S = S + np.outer(K[t], V[t])
        z = z + K[t]
        O[t] = (Q[t] @ S) / (Q[t] @ z)
    return O


def earlier(Q, K):
    t = np.arange(len(Q))
    return np.where(t[:, None] >= t, Q @ K.T, 0.0)


def by_weights(Q, K, V):
    scores = earlier(Q, K)
    return scores @ V / scores.sum(axis=1, keepdims=True)


def with_a_column_of_ones(Q, K, V):
    both = earlier(Q, K) @ np.hstack([V, np.ones((len(V), 1))])
    return both[:, :-1] / both[:, -1:]


def with_the_sum_of_all_keys(Q, K, V):
    return np.tril(Q @ K.T) @ V / (Q @ K.sum(axis=0))[:, None]


def read_before_written(Q, K, V):
    scores = np.tril(Q @ K.T, -1)
    total = scores.sum(axis=1, keepdims=True)
    return scores @ V / np.where(total == 0, 1, total)


def cases(rng):
    def one(n, d_k, d_v):
        return (*(rng.uniform(0.1, 3, size=(n, d_k)) for _ in "QK"), drawn(rng, (n, d_v))[0])

    return {
        "three tokens": one(3, 2, 2),
        "seven tokens": one(7, 3, 5),
        "all sizes equal": one(4, 4, 4),
        "one token": one(1, 2, 3),
    }


VARIANTS = (by_weights, with_a_column_of_ones)
MISTAKES = (
    Mistake("nothing is divided", "These are sums of values. The weights of a token should sum to one.",
        lambda Q, K, V: np.tril(Q @ K.T) @ V),
    Mistake("divided by the sum over all keys", "The denominator of token t contains later keys. It may contain those "
        "up to t only.", with_the_sum_of_all_keys),
    Mistake("read before it is written", "The output of token t contains its own value: add its key and value first, "
        "then read.", read_before_written),
    Mistake("divided by the number of tokens", "The weights are the products of query and key, so their sum is the "
        "denominator, not how many there are.",
        lambda Q, K, V: np.tril(Q @ K.T) @ V / np.arange(1, len(Q) + 1)[:, None]),
    Mistake("an exponential", "The products themselves are the weights, before they are divided: no exponential.",
        lambda Q, K, V: (lambda P: P @ V / P.sum(1, keepdims=True))(np.tril(np.exp(Q @ K.T))),
        lambda Q, K, V: normalised(np.exp(Q), np.exp(K), V)),
    Mistake("the keys are scaled to sum to one", "A key with larger numbers has a larger weight. Only the weights of a "
        "token are made to sum to one.", lambda Q, K, V: normalised(Q, K / K.sum(axis=1, keepdims=True), V)),
    Mistake("the keys are summed to one number", "The keys up to t have a sum that is a vector. The denominator is the "
        "product of query t with it.", {"(Q[t] @ z)": "z.sum()"}, {"(Q[t] @ z)": "(Q[t].sum() * z.sum())"}),
    Mistake("scores of other queries in the denominator", "The denominator of token t holds the scores of query t "
        "alone, with all keys up to t.",
        lambda Q, K, V: np.tril(Q @ K.T) @ V / np.cumsum((Q * K).sum(axis=1))[:, None]),
    Mistake("the token's own score alone", "The denominator holds the scores with all keys up to t, as the numerator "
        "does.", {"(Q[t] @ z)": "(Q[t] @ K[t])"}),
    Mistake("each row of the state is divided on its own", "All weights of a token have one denominator.",
        {"(Q[t] @ S) / (Q[t] @ z)": "Q[t] @ (S / z[:, None]) / Q[t].sum()"}),
    Mistake("no mask", "Token t may read the tokens up to t only.",
        lambda Q, K, V: (Q @ K.T) @ V / (Q @ K.T).sum(axis=1, keepdims=True)),
)  # fmt: skip
