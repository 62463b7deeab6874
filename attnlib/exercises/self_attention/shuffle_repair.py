"""A data loader that lost its order

repair · ★ · 6 min · 02-self-attention/2-permutation

The keys of this function arrive in another order, which should change nothing. It does. Repair the
function. (To take the shuffle out would do it too; leave it in.)

1. Compare the weights with and without the shuffle: which of them are they, in another order?
2. A key and its value are two halves of one entry of a dictionary.
3. Whatever happens to the rows of K has to happen to the rows of V.

Attention reads a set of pairs. The order of the pairs does not matter; which value belongs to which key does.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn
from attnlib.exercises.kit.given import softmax


def shuffled_attention(Q, K, V, order):
    """Attention over the same keys and values in another order."""
    K = K[order]
    V = V[order]
    P = softmax(Q @ K.T / np.sqrt(Q.shape[1]))
    return P @ V


def cases(rng):
    return {
        "two queries, four keys": (*drawn(rng, (2, 3), (4, 3), (4, 2)), np.array([2, 0, 3, 1])),
        "as many queries as keys": (*drawn(rng, (4, 2), (4, 2), (4, 3)), np.array([1, 3, 0, 2])),
        "all sizes equal": (*drawn(rng, (3, 3), (3, 3), (3, 3)), np.array([1, 2, 0])),
    }


GIVEN = ("the values stayed where they were",)
VARIANTS = (
    {"K = K[order]\n    V = V[order]\n": "\n"},
    {"return P @ V": "return P[:, np.argsort(order)] @ V[np.argsort(order)]"},
)  # fmt: skip
MISTAKES = (
    Mistake("the values stayed where they were", "The keys moved, the values did not: each weight went to another "
        "token's value.", {"V = V[order]\n": "\n"}),
    Mistake("the values came in reverse", "The values were taken in the reverse of the order of their keys.",
        {"V = V[order]": "V = V[order[::-1]]"}),
    Mistake("√d_k is missing", "The scores were not divided by √d_k.", {"/ np.sqrt(Q.shape[1])": ""}),
    Mistake("normalised over the queries", "Here each key gives a total weight of one. Each query should get a "
        "total of one.", {"softmax(Q @ K.T / np.sqrt(Q.shape[1]))": "softmax(K @ Q.T / np.sqrt(Q.shape[1])).T"}),
)  # fmt: skip
