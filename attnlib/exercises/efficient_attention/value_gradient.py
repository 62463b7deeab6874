"""Gradients without scores

write · ★★ · 12 min · 06-efficient-attention/2-three-faces-of-one-equation

In causal linear attention, without a decay, the outputs are O = tril(Q K^T) V. Q and K are (n, d_k), V is (n, d_v).
G (n, d_v) is the gradient of a loss with respect to O. Return the gradient with respect to V, (n, d_v), in one pass
over the tokens, without an array of n times n numbers (the check compares the gradient alone).

1. Which outputs does the value of token s take part in?
2. In those of all tokens t from s on, each with the score of query t and key s. Which brackets leave the key alone?
3. Run from the last token to the first with a matrix to which each token adds its query times its row of G.

The gradient is linear attention again: keys and queries exchange their roles, and it runs backwards. The gradients of
queries and keys are of the same kind, so training needs no scores either.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def value_gradient(Q, K, G):
    """The gradient with respect to V of causal linear attention, from G, that with respect to its outputs."""
    dV = np.empty_like(G)
    S = np.zeros((Q.shape[1], G.shape[1]))
    for s in range(len(Q))[::-1]:
        S = S + np.outer(Q[s], G[s])
        dV[s] = K[s] @ S
    return dV


def by_scores(Q, K, G):
    t = np.arange(len(Q))
    return np.where(t[:, None] >= t, Q @ K.T, 0.0).T @ G


def by_running_sums(Q, K, G):
    terms = Q[:, :, None] * G[:, None, :]
    return np.einsum("nk,nkv->nv", K, terms[::-1].cumsum(axis=0)[::-1])


def from_the_first_on(Q, K, G):
    return np.tril(Q @ K.T) @ G


def without_itself(Q, K, G):
    return np.tril(Q @ K.T, -1).T @ G


def cases(rng):
    return {
        "three tokens": drawn(rng, (3, 2), (3, 2), (3, 4)),
        "seven tokens": drawn(rng, (7, 3), (7, 3), (7, 2)),
        "as many tokens as numbers": drawn(rng, (3, 3), (3, 3), (3, 3)),
        "one token": drawn(rng, (1, 2), (1, 2), (1, 3)),
    }


VARIANTS = (by_scores, by_running_sums)
MISTAKES = (
    Mistake("a value reaches earlier outputs", "The value of token s is in the outputs of the tokens *from* s *on*, "
        "not in those up to s.", from_the_first_on, lambda Q, K, G: np.tril(K @ Q.T) @ G),
    Mistake("a token does not read itself", "The output of token s contains its own value, too.", without_itself),
    Mistake("queries and keys exchanged", "The score is that of a later *query* and of the *key* of token s.",
        lambda Q, K, G: np.tril(K @ Q.T).T @ G),
    Mistake("no mask", "Only the outputs from token s on contain its value.", lambda Q, K, G: K @ (Q.T @ G)),
)  # fmt: skip
