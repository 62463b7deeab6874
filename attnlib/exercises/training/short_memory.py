"""The lowest loss of a model with a short context

write · ★★ · 12 min · 05-training/1-what-is-minimised

In a language the next letter depends on the last two: after[a, b, c] is the probability of c after a and b, all above
zero, and pairs[a, b] is the share of a, b among all pairs of neighbours in a long text. A model is given only the last
letter. Return the lowest loss in nats per letter that such a model can have.

1. What is the best prediction of such a model after b? It does not know which letter was before it.
2. How often do b and then c follow each other, whatever letter was before them?
3. Multiply to get how often a, b, c is in the text, and sum over a. Each row divided by its sum is the prediction of
   the best model. Take its surprise, weighted by how often b, c comes.

The entropy rate of the source lies below, and the difference is the information that the letter before would add. It
is called conditional mutual information. A longer context can only lower the floor.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import weights


def short_memory(after, pairs):
    """The least nats a letter; after (v, v, v), pairs (v, v)."""
    together = pairs[:, :, None] * after
    last = together.sum(axis=0)
    best = last / last.sum(axis=1, keepdims=True)
    return -(last * np.log(best)).sum()


def letter_by_letter(after, pairs):
    nats = 0.0
    for b in range(len(pairs)):
        often = pairs[:, b].sum()
        p = np.sum([pairs[a, b] / often * after[a, b] for a in range(len(pairs))], axis=0)
        nats -= often * sum(one * np.log(one) for one in p)
    return nats


def two_entropies(after, pairs):
    last = np.einsum("ab,abc->bc", pairs, after)
    one = last.sum(axis=1)
    return (one * np.log(one)).sum() - (last * np.log(last)).sum()


def cases(rng):
    def language(v):
        after = weights(rng, v * v, v).reshape(v, v, v)
        pairs = np.full((v, v), v**-2.0)
        for _ in range(400):
            pairs = np.einsum("ab,abc->bc", pairs, after)
        return after, pairs / pairs.sum()

    one, pairs = language(3)
    forgetful = np.broadcast_to(one[:1], one.shape).copy()  # the letter before the last one decides nothing
    for _ in range(400):
        pairs = np.einsum("ab,abc->bc", pairs, forgetful)
    return {
        "two letters": language(2),
        "three letters": language(3),
        "five letters": language(5),
        "the last letter decides alone": (forgetful, pairs / pairs.sum()),
    }


VARIANTS = (letter_by_letter, two_entropies)
MISTAKES = (
    Mistake("both letters known",
        "That is the entropy rate of the source, the floor of a model that sees both letters.",
        {"return -(last * np.log(best)).sum()": "return -(together * np.log(after)).sum()"}),
    Mistake("no letter known", "That is the floor of a model that knows only how often each letter comes.",
        {"return -(last * np.log(best)).sum()": "return -(last.sum(axis=0) * np.log(last.sum(axis=0))).sum()"}),
    Mistake("the letter before taken as uniform", "All letters were taken to be equally frequent before b. Some are "
        "more frequent than others.",
        {"best = last / last.sum(axis=1, keepdims=True)": "best = after.mean(axis=0)"},
        {"best = last / last.sum(axis=1, keepdims=True)": "best = after.mean(axis=0)",
         "return -(last * np.log(best)).sum()":
             "return -(last.sum(axis=1, keepdims=True) * best * np.log(best)).sum()"}),
    Mistake("every letter is equally often", "The entropies after each letter were averaged as if each letter came "
        "equally often.", {"return -(last * np.log(best)).sum()": "return -(best * np.log(best)).sum() / len(best)"}),
    Mistake("a sum over the letters", "The entropies after each letter were added up. They are to be averaged, each "
        "as often as its letter comes.",
        {"return -(last * np.log(best)).sum()": "return -(best * np.log(best)).sum()"}),
    Mistake("the entropy of a pair", "This is the surprise at two letters together. The first of them is known.",
        {"return -(last * np.log(best)).sum()": "return -(last * np.log(last)).sum()"}),
    Mistake("no minus", "An entropy is minus the mean of the logarithm, and never below zero.",
        {"return -(last": "return (last"}),
    Mistake("the information in the letter before", "This is the difference from the floor of a model that sees both "
        "letters.",
        {"return -(last * np.log(best)).sum()":
             "return (together * np.log(after)).sum() - (last * np.log(best)).sum()"}),
)  # fmt: skip
