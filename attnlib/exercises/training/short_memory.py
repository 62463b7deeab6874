"""A floor for a short memory

write · ★★ · 12 min · 05-training/1-what-is-minimised

In a language the next letter depends on the last two: after[a, b, c] is the probability of c after a and b, all above
zero, and pairs[a, b] is the share of a, b among all pairs of neighbours in a long text. A model sees the last letter
alone. Return the loss in nats a letter below which it cannot come.

1. What is the best that such a model can say after b? It does not know which letter stood before.
2. How often do b and then c follow each other, whatever stood before?
3. Multiply to get how often a, b, c stands in the text; sum over a; each row divided by its sum is what the best model
   says; its surprise, weighted by how often b, c comes.

The entropy rate of the source lies below, and the difference is what the forgotten letter would have told. It is called
conditional mutual information. A longer memory can only lower the floor.
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
    Mistake("who sees both", "That is the entropy rate of the source, the floor of a model that sees both letters.",
        {"return -(last * np.log(best)).sum()": "return -(together * np.log(after)).sum()"}),
    Mistake("who sees nothing", "That is the floor of a model that knows only how often each letter comes.",
        {"return -(last * np.log(best)).sum()": "return -(last.sum(axis=0) * np.log(last.sum(axis=0))).sum()"}),
    Mistake("the forgotten letter is equally often each", "The letter before was taken to be each one equally often. "
        "After b some letters stand before it more often than others.",
        {"best = last / last.sum(axis=1, keepdims=True)": "best = after.mean(axis=0)"},
        {"best = last / last.sum(axis=1, keepdims=True)": "best = after.mean(axis=0)",
         "return -(last * np.log(best)).sum()":
             "return -(last.sum(axis=1, keepdims=True) * best * np.log(best)).sum()"}),
    Mistake("every letter is equally often", "The entropies after each letter were averaged as if each letter came "
        "equally often.", {"return -(last * np.log(best)).sum()": "return -(best * np.log(best)).sum() / len(best)"}),
    Mistake("a sum over the letters", "The entropies after each letter were added up. They are to be averaged, each "
        "as often as its letter comes.",
        {"return -(last * np.log(best)).sum()": "return -(best * np.log(best)).sum()"}),
    Mistake("the entropy of a pair", "This is the surprise at two letters together. The first of them has been seen.",
        {"return -(last * np.log(best)).sum()": "return -(last * np.log(last)).sum()"}),
    Mistake("no minus", "An entropy is minus the mean of the logarithm, and never below zero.",
        {"return -(last": "return (last"}),
    Mistake("what the forgotten letter would tell", "This is the difference to the floor of who sees both letters.",
        {"return -(last * np.log(best)).sum()":
             "return (together * np.log(after)).sum() - (last * np.log(best)).sum()"}),
)  # fmt: skip
