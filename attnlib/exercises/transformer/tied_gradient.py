"""One table, two uses

write · ★★★ · 15 min · 04-transformer/1-from-text-to-vectors

A model without blocks: the rows X = E[tokens] of the table E (V, d), logits Z = X Eᵀ with the same table, a softmax,
and the mean cross-entropy with targets (n,). Return the gradient of this loss with respect to E, (V, d).

1. The gradient with respect to the logits is (P - onehot(targets)) / n. In which two ways does E enter Z?
2. As unembedding E gets dZᵀ X. As embedding, row t gets the gradients of the positions whose token is t.
3. A token may occur twice, and then its row gets two gradients. `dE[tokens] += ...` writes only one of them.

Every row gets a gradient here, also those of tokens that do not occur: as unembedding they were all compared. In an
untied table the rows of tokens that do not occur stay as they are.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def tied_gradient(E, tokens, targets):
    """The gradient of the mean loss in the table, through both of its uses."""
    n, X = len(tokens), E[tokens]
    Z = X @ E.T
    P = np.exp(Z - Z.max(axis=-1, keepdims=True))
    P = P / P.sum(axis=-1, keepdims=True)
    dZ = (P - np.eye(len(E))[targets]) / n
    dE = dZ.T @ X
    np.add.at(dE, tokens, dZ @ E)
    return dE


def with_one_hot(E, tokens, targets):
    reads, says = np.eye(len(E))[tokens], np.eye(len(E))[targets]
    Z = reads @ E @ E.T
    P = np.exp(Z) / np.exp(Z).sum(axis=1, keepdims=True)
    dZ = (P - says) / len(targets)
    return dZ.T @ (reads @ E) + reads.T @ (dZ @ E)


def place_by_place(E, tokens, targets):
    dE = np.zeros_like(E)
    for read, say in zip(tokens, targets, strict=True):
        z = E @ E[read]
        p = np.exp(z - z.max())
        p /= p.sum()
        p[say] -= 1
        dE += np.outer(p, E[read]) / len(tokens)
        dE[read] += p @ E / len(tokens)
    return dE


def cases(rng):
    def case(V, d, tokens, targets):
        return *drawn(rng, (V, d)), np.array(tokens), np.array(targets)

    return {
        "two tokens": case(4, 2, [0, 2], [2, 1]),
        "a token twice": case(5, 3, [1, 3, 1], [3, 1, 4]),
        "its own successor": case(3, 2, [2, 2, 0], [2, 0, 2]),
        "as many tokens as rows": case(3, 3, [1, 0, 2], [0, 2, 1]),
    }


VARIANTS = (with_one_hot, place_by_place)
MISTAKES = (
    Mistake("a token that occurs twice gets one gradient", "Assigning to the same row twice keeps one of both. The "
        "gradients of all its positions are added.", {"np.add.at(dE, tokens, dZ @ E)": "dE[tokens] += dZ @ E"}),
    Mistake("as embedding only", "The table is used again for the logits, and its gradient has a second part.",
        {"dE = dZ.T @ X": "dE = np.zeros_like(E)"}),
    Mistake("as unembedding only", "The table was also looked up, and its gradient has a second part.",
        {"np.add.at(dE, tokens, dZ @ E)": ""}),
    Mistake("the sum, not the mean", "The loss is the mean over the n tokens.", {"/ n": ""}),
    Mistake("divided by the vocabulary", "The mean is over the n tokens, not over the rows of the table.",
        {"/ n": "/ len(E)"}),
    Mistake("one of two uses is not divided by n", "The loss is a mean, so both parts of its gradient are "
        "divided by n.",
        {"dE = dZ.T @ X": "dE = n * dZ.T @ X"}, {"dZ @ E)": "n * dZ @ E)"}),
    Mistake("the unembedding counted twice", "The table is used in two ways, and their gradients differ: this is twice "
        "that of the unembedding.", {"np.add.at(dE, tokens, dZ @ E)": "dE = 2 * dE"}),
    Mistake("the target was not subtracted", "The gradient with respect to the logits is P minus one at the "
        "target, divided by n.",
        {"P - np.eye(len(E))[targets]": "P"}),
    Mistake("the sign is turned", "It is P minus one at the target, not the other way round.",
        {"(P - np.eye(len(E))[targets]) / n": "(np.eye(len(E))[targets] - P) / n"}),
)  # fmt: skip
