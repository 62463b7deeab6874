r"""What two biases leave

write · ★★ · 12 min · 02-self-attention/1-a-sequence-attends-to-itself

Queries and keys have biases here: $Q = X W_Q + b_Q$, $K = X W_K + b_K$. The weights of such a head can be written
with one matrix $M$ and one vector $u$: $P = \operatorname{softmax}(X M X^\top + \mathbf 1 (X u)^\top)$. To each score
a number is added that depends on the *key* alone. Return M (d_model, d_model) and u (d_model,), scale included.

1. Multiply one score out: it has four terms. Which of them depend on the key?
2. A term that is the same for all keys of a row changes no weight.
3. Two terms are left: the product of the two maps, and the bias of the *queries* with the mapped key.

So the bias of the keys changes nothing at all, and that of the queries makes some keys popular with every query. What
a trained head's `b_K` holds is what it started with.
"""

import math

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def what_is_left(W_Q, W_K, b_Q, b_K):
    """M and u, so that softmax(X M X^T + X u for each key) are the weights."""
    scale = math.sqrt(W_Q.shape[1])
    return W_Q @ W_K.T / scale, W_K @ b_Q / scale


def cases(rng):
    return {
        "d_model of 3, d_k of 2": drawn(rng, (3, 2), (3, 2), 2, 2),
        "d_model of 5, d_k of 4": drawn(rng, (5, 4), (5, 4), 4, 4),
        "all sizes equal": drawn(rng, (3, 3), (3, 3), 3, 3),
        "no bias of the queries": (*drawn(rng, (4, 2), (4, 2)), np.zeros(2), np.ones(2)),
    }


def by_einsum(W_Q, W_K, b_Q, b_K):
    s = W_K.shape[-1] ** -0.5
    return s * np.einsum("ak,bk->ab", W_Q, W_K), s * (b_Q[None] * W_K).sum(axis=1)


RETURNS = ("M", "u")
VARIANTS = (by_einsum, {"W_K @ b_Q / scale": "b_Q / scale @ W_K.T"})
MISTAKES = (
    Mistake("the bias of the keys was kept", "The term with b_K is a number of the query: the same for all keys of a "
        "row, so the softmax drops it. What is left over for the keys comes from b_Q.", {"W_K @ b_Q": "W_Q @ b_K"}),
    Mistake("both biases", "The term with b_K is the same for all keys of a row.",
        {"W_K @ b_Q / scale": "(W_K @ b_Q + W_Q @ b_K) / scale"}),
    Mistake("the wrong bias", "b_Q is what is added to every query, and so to the score of every key.",
        {"W_K @ b_Q": "W_K @ b_K"}),
    Mistake("√d_k is missing", "The scores are divided by the root of d_k, and so is everything that they are made of.",
        {"/ scale, W_K @ b_Q / scale": ", W_K @ b_Q"}),
    Mistake("u is not scaled", "The whole score is divided by the root of d_k, the term of the bias, too.",
        {"W_K @ b_Q / scale": "W_K @ b_Q"}),
    Mistake("scaled by √d_model", "A score adds up d_k products, not d_model of them.",
        {"W_Q.shape[1]": "W_Q.shape[0]"}),
)  # fmt: skip
