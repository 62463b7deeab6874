"""A text of any length

repair · ★ · 6 min · 06-efficient-attention/6-random-features-and-low-rank

Attention of the Linformer: E and F (r, n) make r keys and r values from the n keys K (n, d) and values V (n, d_v), each
a mixture of all tokens. Then each query of Q (m, d) attends to these r, with scores divided by the root of d. The
function runs only for texts of as many tokens as a key has numbers, and even then its outputs are wrong. It has two
faults; repair both.

1. Write the shape beside each product. Which axis should become shorter: the tokens, or the numbers of a key?
2. What do the weights of a query sum to?
3. E times K has r rows, each as wide as a key.

With n = d a projection of the width has the right shape, and nothing complains: try new code with sizes that differ.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def linformer(Q, K, V, E, F):
    """(m, d_v): each query attends to r mixtures of the tokens."""
    shorter = E @ K
    S = Q @ shorter.T / np.sqrt(Q.shape[1])
    P = np.exp(S - S.max(axis=1, keepdims=True))
    P = P / P.sum(axis=1, keepdims=True)
    return P @ (F @ V)


def row_after_row(Q, K, V, E, F):
    keys = [sum(E[i, j] * K[j] for j in range(len(K))) for i in range(len(E))]
    values = [sum(F[i, j] * V[j] for j in range(len(V))) for i in range(len(F))]
    outputs = []
    for q in Q:
        weights = np.exp([q @ k / len(q) ** 0.5 for k in keys])
        outputs.append(weights @ np.array(values) / weights.sum())
    return np.array(outputs)


def by_einsum(Q, K, V, E, F):
    S = np.einsum("md,rn,nd->mr", Q, E, K) / np.sqrt(Q.shape[1])
    return np.einsum("mr,rn,nv->mv", np.exp(S), F, V) / np.exp(S).sum(axis=1)[:, None]


def unnormalised(Q, K, V, E, F):
    return np.exp(Q @ (E @ K).T / np.sqrt(Q.shape[1])) @ (F @ V)


def cases(rng):
    def one(m, n, r, d, d_v):
        return drawn(rng, (m, d), (n, d), (n, d_v), (r, n), (r, n))

    return {
        "as many tokens as numbers": one(2, 3, 2, 3, 2),
        "five tokens": one(3, 5, 2, 4, 3),
        "more rows than tokens": one(2, 3, 4, 3, 2),
        "one row": one(2, 4, 1, 4, 3),
        "all sizes equal": one(3, 3, 3, 3, 3),
    }


WIDTH = {"E @ K": "(K @ E.T).T"}
FORGOTTEN = {"    P = P / P.sum(axis=1, keepdims=True)\n": ""}
GIVEN = ("the width is projected", "the normaliser is forgotten")
VARIANTS = (row_after_row, by_einsum)
MISTAKES = (
    Mistake("the width is projected", "This mixes the numbers of each key. E mixes the keys: its columns belong to "
        "the tokens.", WIDTH),
    Mistake("the normaliser is forgotten", "The weights of a query should sum to one.", FORGOTTEN, unnormalised),
    Mistake("divided by the number of rows", "The weights of a query should sum to one: divide by their sum.",
        lambda Q, K, V, E, F: unnormalised(Q, K, V, E, F) / len(E)),
)  # fmt: skip
