"""A word that is hidden

write · ★ · 10 min · 02-self-attention/1-a-sequence-attends-to-itself

P (n, n) are the weights of a trained head and V (n, d_v) its values; the scores were not kept. Return the outputs
(n, d_v) that the head would have given if no word, not even word j itself, had been allowed to attend to word j.

1. The softmax never saw word j. Which of the remaining numbers of a row keep their ratios?
2. What is left of a row must sum to one again. By what do you divide it?
3. Set column j to zero, divide each row by what is left of it, and average the values.

To set a weight to zero is not to hide a word: what is missing from the row shrinks the output, too. A report of an
experiment that removes a word must state which of the two was done.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn, weights


def without(P, V, j):
    """Outputs (n, d_v) if no word may attend to word j."""
    left = np.delete(P, j, axis=1)
    return left / left.sum(axis=1, keepdims=True) @ np.delete(V, j, axis=0)


def cases(rng):
    return {
        "three words, the first hidden": (weights(rng, 3, 3), *drawn(rng, (3, 2)), 0),
        "five words, the last hidden": (weights(rng, 5, 5), *drawn(rng, (5, 4)), 4),
        "a sharp head": (weights(rng, 4, 4, sharp=3.0), *drawn(rng, (4, 3)), 1),
        "all sizes equal": (weights(rng, 3, 3), *drawn(rng, (3, 3)), 1),
    }


def from_scores(P, V, j):
    S = np.log(P)
    S[:, j] = -np.inf
    E = np.exp(S - S.max(axis=1, keepdims=True))
    return E / E.sum(axis=1, keepdims=True) @ V


def row_by_row(P, V, j):
    kept = [k for k in range(len(P)) if k != j]
    return np.array([sum(p[k] * V[k] for k in kept) / (1 - p[j]) for p in P])


VARIANTS = (from_scores, row_by_row)
MISTAKES = (
    Mistake("the rest of the row was not scaled up", "The weights of each row no longer sum to one. A softmax that "
        "had never seen word j would have shared all of the weight among the others.",
        {"left / left.sum(axis=1, keepdims=True)": "left"}),
    Mistake("the word has no query either", "Row j was taken out as well. Word j may not be looked at; it may still "
        "look.", lambda P, V, j: np.delete(without(P, V, j), j, axis=0)),
    Mistake("shared out evenly", "The freed weight was given to the others in equal parts. A softmax scales them all "
        "by the same factor: ratios stay.",
        {"left / left.sum(axis=1, keepdims=True)": "(left + P[:, [j]] / left.shape[1])"}),
    Mistake("given to the word itself", "The freed weight went to the diagonal. It belongs to all that are left, in "
        "proportion.", lambda P, V, j: (P - np.outer(P[:, j], np.eye(len(P))[j]) + np.diag(P[:, j])) @ V),
    Mistake("the hidden word's own row", "Row j was struck out of the weights, and all still attend to word j.",
        lambda P, V, j: np.where(np.arange(len(P))[:, None] == j, 0, P @ V)),
    Mistake("nothing was hidden", "These are the outputs with word j in sight.", lambda P, V, j: P @ V),
)  # fmt: skip
