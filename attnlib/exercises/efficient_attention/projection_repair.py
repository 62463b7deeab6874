"""A text of any length

repair · ★ · 7 min · 06-efficient-attention/6-random-features-and-low-rank

The matrices E and F (r, N) of a Linformer are made for texts of up to N tokens. A text of n tokens uses their first n
columns: they make r keys and r values from its keys K (n, d) and values V (n, d_v), each a mixture of all n tokens.
Each query of Q (m, d) attends to these r, with scores divided by the root of d. The function below runs only for texts
with as many tokens as a key has numbers, and even then its outputs are wrong. It has two faults; repair both.

1. Write the shape beside each product. Which axis should become shorter: the tokens, or the numbers of a key?
2. What do the weights of a query sum to?
3. The first n columns of E, times K, have r rows, each as wide as a key.

With n = d a projection of the width has the right shape, and nothing complains: try new code with sizes that differ.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def shorter_attention(Q, K, V, E, F):
    """(m, d_v): each query attends to r mixtures of the n tokens; E and F (r, N) with N at least n."""
    n, d = K.shape
    mixed = E[:, :n] @ K
    P = np.exp(Q @ mixed.T / np.sqrt(d))
    P = P / P.sum(axis=1, keepdims=True)
    return P @ (F[:, :n] @ V)


def row_after_row(Q, K, V, E, F):
    n = len(K)
    keys = [sum(E[i, j] * K[j] for j in range(n)) for i in range(len(E))]
    values = np.array([sum(F[i, j] * V[j] for j in range(n)) for i in range(len(F))])
    outputs = []
    for q in Q:
        weights = np.exp([q @ k / len(q) ** 0.5 for k in keys])
        outputs.append(weights @ values / weights.sum())
    return np.array(outputs)


def with_zeros_behind(Q, K, V, E, F):
    K, V = (np.vstack([X, np.zeros((E.shape[1] - len(X), X.shape[1]))]) for X in (K, V))
    S = np.einsum("md,rn,nd->mr", Q, E, K) / np.sqrt(Q.shape[1])
    return np.einsum("mr,rn,nv->mv", np.exp(S), F, V) / np.exp(S).sum(axis=1)[:, None]


def to_one(E, n):
    return E[:, :n] / E[:, :n].sum(axis=1, keepdims=True)


def cases(rng):
    def one(m, n, N, r, d, d_v):
        return drawn(rng, (m, d), (n, d), (n, d_v), (r, N), (r, N))

    return {
        "as many tokens as numbers": one(2, 3, 4, 2, 3, 2),
        "five tokens of six": one(3, 5, 6, 2, 4, 3),
        "the longest text": one(2, 4, 4, 3, 2, 3),
        "one row": one(2, 4, 5, 1, 4, 3),
        "all sizes equal": one(3, 3, 3, 3, 3, 3),
    }


WIDTH = {"mixed = E[:, :n] @ K": "mixed = (K @ E[:, :d].T).T"}
FORGOTTEN = {"    P = P / P.sum(axis=1, keepdims=True)\n": ""}
GIVEN = ("the width is projected", "the normaliser is forgotten")
VARIANTS = (row_after_row, with_zeros_behind)
MISTAKES = (
    Mistake("the width is projected", "This mixes the numbers of each key. E mixes the keys: its columns belong to "
        "the tokens.", WIDTH),
    Mistake("the normaliser is forgotten", "The weights of a query should sum to one.", FORGOTTEN),
    Mistake("divided by the number of rows", "The weights of a query should sum to one: divide by their sum.",
        {"P.sum(axis=1, keepdims=True)": "len(E)"}),
    Mistake("the mixtures are scaled", "E and F are used as they are: their first n columns need not sum to one, and "
        "nothing makes up for the others.",
        lambda Q, K, V, E, F: shorter_attention(Q, K, V, to_one(E, len(K)), to_one(F, len(K))),
        lambda Q, K, V, E, F: shorter_attention(Q, K, V, E / len(K) * E.shape[1], F / len(K) * F.shape[1])),
    Mistake("the last columns", "A text that is shorter uses the first n columns of E and F.",
        {"E[:, :n]": "E[:, -n:]", "F[:, :n]": "F[:, -n:]"}),
)  # fmt: skip
