"""Fewer keys without a leak

write · ★★ · 12 min · 06-efficient-attention/6-random-features-and-low-rank

The n tokens are cut into blocks of C, and n is a multiple of C. Query t attends to the single tokens of its own block
up to itself, and to one key for each earlier block: the mean of the block's keys, with the mean of its values. All of
these share one softmax, a block counts as one key (an estimate of softmax attention would add log C to its score), and
scores are divided by the root of d. Return O (n, d_v) for Q and K (n, d) and V (n, d_v).

1. Which blocks are complete before token t comes?
2. Means of blocks: cut the rows into n / C groups of C neighbours.
3. For each query put the means of the earlier blocks above the tokens of its own block, then attend as usual.

A query attends to n / C + C keys at most, so with C near the root of n the cost grows as n times the root of n. No
mean contains a token that is later than the query, which is what the Linformer's mixtures could not avoid.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def with_block_means(Q, K, V, C):
    """(n, d_v): attention to the tokens of the own block so far, and to the means of earlier blocks."""
    n, d = Q.shape
    K_means, V_means = (X.reshape(n // C, C, -1).mean(axis=1) for X in (K, V))
    O = np.empty_like(V)
    for t in range(n):
        b = t // C
        keys = np.vstack([K_means[:b], K[b * C : t + 1]])
        values = np.vstack([V_means[:b], V[b * C : t + 1]])
        S = keys @ Q[t] / np.sqrt(d)
        E = np.exp(S - S.max())
        O[t] = E @ values / E.sum()
    return O


def dense(Q, K, V, C, itself=1, mean=np.mean, more=0.0):
    n, d = Q.shape
    first = range(0, n, C)
    keys = np.vstack([*(mean(K[i : i + C], axis=0)[None] for i in first), K])
    values = np.vstack([*(mean(V[i : i + C], axis=0)[None] for i in first), V])
    t = np.arange(n)[:, None]
    own = (np.arange(n) // C == t // C) & (np.arange(n) < t + itself)
    seen = np.hstack([np.arange(n // C) < t // C, own])
    S = np.where(seen, Q @ keys.T / np.sqrt(d), -1e300) + more * (np.arange(len(keys)) < n // C)
    E = np.exp(S - S.max(axis=1, keepdims=True))
    return E / E.sum(axis=1, keepdims=True) @ values


def two_softmaxes(Q, K, V, C, averaged=False):
    O = []
    for t in range(len(Q)):
        b = t // C
        parts = [(X.reshape(-1, C, X.shape[1]).mean(axis=1)[:b], X[b * C : t + 1]) for X in (K, V)]
        E = [np.exp(keys @ Q[t] / np.sqrt(Q.shape[1])) for keys in parts[0]]
        rows = [e @ values / e.sum() for e, values in zip(E, parts[1], strict=True) if len(e)]
        O.append(np.mean(rows, axis=0) if averaged else sum(rows))
    return np.array(O)


def by_a_matrix(Q, K, V, C):
    n = len(Q)
    M = np.kron(np.eye(n // C), np.full((1, C), 1 / C))
    rows = []
    for t in range(n):
        E = np.vstack([M[: t // C], np.eye(n)[t // C * C : t + 1]])
        S = Q[t] @ (E @ K).T / np.sqrt(Q.shape[1])
        P = np.exp(S) / np.exp(S).sum()
        rows.append(P @ (E @ V))
    return np.array(rows)


def cases(rng):
    def one(n, d, d_v, C):
        return (*drawn(rng, (n, d), (n, d), (n, d_v)), C)

    return {
        "two blocks of two": one(4, 3, 2, 2),
        "three blocks of two": one(6, 2, 3, 2),
        "three blocks of three": one(9, 2, 4, 3),
        "two blocks of four": one(8, 4, 3, 4),
        "one block": one(3, 2, 2, 3),
        "blocks of one": one(4, 3, 2, 1),
    }


GROUPS = {"X.reshape(n // C, C, -1).mean(axis=1)": "X.reshape(C, n // C, -1).mean(axis=0)"}
VARIANTS = (lambda Q, K, V, C: dense(Q, K, V, C), by_a_matrix)
MISTAKES = (
    Mistake("the mean of its own block, too", "The mean of the query's own block contains tokens that come later.",
        {"[:b]": "[:b + 1]"}),
    Mistake("the means of all blocks", "Later blocks, and the query's own one, contain tokens that come later.",
        {"[:b]": ""}),
    Mistake("its whole block", "Of its own block a query may attend to the tokens up to itself only.",
        {"b * C : t + 1": "b * C : (b + 1) * C"}),
    Mistake("the mean runs along the wrong axis", "These means mix tokens that are far from each other. A block has C "
        "neighbours.", GROUPS),
    Mistake("the last C tokens", "The single tokens are those of the query's block. Earlier ones are in a mean "
        "already.", {"b * C : t + 1": "max(0, t - C + 1) : t + 1"}),
    Mistake("single tokens of earlier blocks, too", "An earlier block is one key: its single tokens are left out.",
        {"K[b * C : t + 1]": "K[: t + 1]", "V[b * C : t + 1]": "V[: t + 1]"}),
    Mistake("no means", "The mean of each earlier block is a key, too.", {"[:b]": "[:0]"}),
    Mistake("two softmaxes", "Means and single tokens share one softmax: one sum over all of them.", two_softmaxes,
        lambda Q, K, V, C: two_softmaxes(Q, K, V, C, averaged=True)),
    Mistake("a query does not attend to itself", "Its own token is one of those up to itself.",
        lambda Q, K, V, C: np.vstack([V[:1], dense(Q, K, V, C, itself=0)[1:]])),
    Mistake("a mean counts as C keys", "Each mean is one key among the others: its score gets nothing more.",
        lambda Q, K, V, C: dense(Q, K, V, C, more=np.log(C))),
    Mistake("sums of blocks", "A block's key and value are means, not sums.",
        lambda Q, K, V, C: dense(Q, K, V, C, mean=np.sum), {"[K_means": "[C * K_means"}, {"[V_means": "[C * V_means"}),
    Mistake("one mean of all earlier blocks", "Each earlier block has a key of its own.",
        {f"{X}_means[:b]": f"{X}[: b * C].sum(axis=0)[None][:b] / max(b * C, 1)" for X in "KV"}),
    Mistake("the scores of means are not divided", "All scores are divided by the root of d, also those of means.",
        {"[K_means": "[np.sqrt(d) * K_means"}),
    Mistake("no other tokens of its block", "A query attends to all tokens of its own block up to itself.",
        {"b * C : t + 1": "t : t + 1"}),
)  # fmt: skip
