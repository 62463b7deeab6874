"""What a head without a habit shows

write · ★★ · 10 min · 02-self-attention/6-patterns-and-entropy

A causal head of a trained model puts 0.3 of all its weight on the token before or on itself, and a paper calls it
local. Make the control, a head with *uniform* weights over everything it may see. Return the share of all its weight
at each distance 0, 1, ..., n - 1 (query position minus key position), in texts of n tokens. The shares sum to one.

1. The query at position i (from 0) sees i + 1 keys. Which weight has each, and how far back do they reach?
2. At a distance o you find one key for each query from position o on.
3. Make the table of even weights, add up each diagonal below the main one, and divide by the number of queries.

In texts of 12 tokens such a head has 0.26 at distance 0 and 0.18 at distance 1: nearly half of its weight is "local",
because early rows have few keys to attend to. So compare the share of a trained head with that of even weights.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def even_shares(n):
    """(n,): the share of the weight at each distance, for even causal rows."""
    weight = 1 / np.arange(1, n + 1)
    return weight[::-1].cumsum()[::-1] / n


def cases(rng):
    return {"three tokens": (3,), "one token": (1,), "five tokens": (5,), "twelve tokens": (12,)}


def by_table(n):
    P = np.tri(n) / np.tri(n).sum(axis=1, keepdims=True)
    return np.array([np.trace(P, offset=-o) for o in range(n)]) / n


def by_loops(n):
    share = np.zeros(n)
    for i in range(n):
        for j in range(i + 1):
            share[i - j] += 1 / (i + 1) / n
    return share


VARIANTS = (by_table, by_loops)
MISTAKES = (
    Mistake("even over all tokens", "Hidden keys get nothing: the query at position i shares its weight among i + 1 "
        "keys.",
        lambda n: np.arange(n, 0, -1) / n**2),
    Mistake("all distances alike", "A far distance occurs for few queries only, and those have many keys to share "
        "among.", lambda n: np.ones(n) / n),
    Mistake("not divided by the number of queries", "The shares sum to n. They were to sum to one.",
        {"[::-1] / n\n": "[::-1]\n"}),
    Mistake("each pair counts once", "These are the shares of the allowed *pairs*, each counted once. A pair "
        "in an early row has more weight than one in a late row.", lambda n: 2 * np.arange(n, 0, -1) / (n * (n + 1))),
    Mistake("the mean of each diagonal", "Each distance was divided by how often it occurs. Wanted was its share "
        "of all weight.", {"[::-1] / n\n": "[::-1] / np.arange(n, 0, -1)\n"}),
    Mistake("one key too few", "The query at position i also sees itself: i + 1 keys.",
        {"1 / np.arange(1, n + 1)": "1 / np.maximum(np.arange(n), 1)"}),
)  # fmt: skip
