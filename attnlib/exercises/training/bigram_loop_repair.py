"""A training loop with two faults

repair · ★★ · 10 min · 05-training/11-when-training-goes-wrong

The smallest language model there is: a table T (V, V) whose row v holds the scores of what comes after token v. It is
trained by plain gradient descent on texts (b, n), where real (b, n) is False at padding. The loss is the mean surprise
over the real tokens that have a token before them. After many steps the table predicts with certainty that each word
is repeated, and with more texts in a batch the training diverges at the same rate. Two lines are wrong; repair both.

1. Which token is the target of token i of a text?
2. By what does the gradient have to be divided, so that a larger batch takes no larger step?
3. One line takes its targets from where the inputs are; another adds what should be averaged over the real targets.

With the first fault a loop prints losses that are too good; with the second its steps are too long. Two tests find
them without a curve: where all scores are equal the gradient is known, and a batch in which each text comes twice must
give the same step.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def train_table(T, texts, real, steps, rate):
    """The table after all steps; T (V, V), texts and real (b, n)."""
    before, counts = texts[:, :-1], real[:, 1:]
    targets = texts[:, 1:]
    for _ in range(steps):
        E = np.exp(T[before])
        P = E / E.sum(axis=-1, keepdims=True)
        G = (P - np.eye(len(T))[targets]) * counts[..., None]
        dT = np.zeros_like(T)
        np.add.at(dT, before, G / counts.sum())
        T = T - rate * dT
    return T


def by_counts(T, texts, real, steps, rate):
    C = np.zeros_like(T)
    for b, n in np.argwhere(real[:, 1:]):
        C[texts[b, n], texts[b, n + 1]] += 1
    for _ in range(steps):
        P = np.exp(T - T.max(axis=1, keepdims=True))
        P = P / P.sum(axis=1, keepdims=True)
        T = T - rate * (C.sum(axis=1, keepdims=True) * P - C) / C.sum()
    return T


def pair_by_pair(T, texts, real, steps, rate):
    pairs = [
        (a, z)
        for text, ok in zip(texts, real, strict=True)
        for a, z, there in zip(text[:-1], text[1:], ok[1:], strict=True)
        if there
    ]
    T = T.copy()
    for _ in range(steps):
        old = T.copy()
        for a, z in pairs:
            p = np.exp(old[a] - old[a].max())
            p /= p.sum()
            p[z] -= 1
            T[a] -= rate * p / len(pairs)
    return T


def not_cleared(T, texts, real, steps, rate):
    before, counts, targets = texts[:, :-1], real[:, 1:], texts[:, 1:]
    dT = np.zeros_like(T)
    for _ in range(steps):
        E = np.exp(T[before])
        G = (E / E.sum(axis=-1, keepdims=True) - np.eye(len(T))[targets]) * counts[..., None]
        np.add.at(dT, before, G / counts.sum())
        T = T - rate * dT
    return T


def cases(rng):
    def read(V, b, n, lengths, steps, rate):
        (T,) = drawn(rng, (V, V))
        real = np.arange(n) < np.array(lengths)[:, None]
        return T, np.where(real, rng.integers(1, V, (b, n)), 0), real, steps, rate

    return {
        "one step, one text": read(4, 1, 5, [5], 1, 1.0),
        "two texts, with padding": read(5, 2, 6, [6, 3], 1, 1.0),
        "three steps": read(4, 3, 5, [2, 5, 4], 3, 2.0),
        "a text of one word": read(3, 2, 4, [4, 1], 2, 1.5),
        "no step": read(3, 2, 4, [4, 2], 0, 1.0),
        "all sizes equal": read(4, 4, 4, [4, 3, 2, 4], 4, 1.0),
    }


GIVEN = ("the target is the input", "the sum and not the mean")
VARIANTS = (by_counts, pair_by_pair)
MISTAKES = (
    Mistake("the target is the input", "Here each word predicts itself. It must predict the word after it.",
        {"targets = texts[:, 1:]": "targets = texts[:, :-1]"}),
    Mistake("the sum and not the mean", "The gradients of all tokens are added up, so a larger batch takes a larger "
        "step. The loss is a mean.", {"G / counts.sum()": "G"}),
    Mistake("a mean over padding", "The sum is right, but it was divided by the number of all positions. Padding does "
        "not count in it.",
        {"G / counts.sum()": "G / counts.size"}),
    Mistake("a mean over texts", "It was divided by the number of texts. The mean is over tokens.",
        {"G / counts.sum()": "G / len(texts)"}),
    Mistake("padding is a target", "The padding was used as targets, too.",
        {"* counts[..., None]": "* 1.0"}, {"* counts[..., None]": "* 1.0", "G / counts.sum()": "G / counts.size"}),
    Mistake("padding of the token before", "Whether a pair counts depends on its target, not on the token before it.",
        {"real[:, 1:]": "real[:, :-1]"}),
    Mistake("wraps around", "The last token has none after it. Here the first token of the text is its target, as "
        "`np.roll` puts it.",
        {"before, counts = texts[:, :-1], real[:, 1:]": "before, counts = texts, real",
         "targets = texts[:, 1:]": "targets = np.roll(texts, -1, axis=1)"},
        {"before, counts = texts[:, :-1], real[:, 1:]": "before, counts = texts, np.roll(real, -1, axis=1)",
         "targets = texts[:, 1:]": "targets = np.roll(texts, -1, axis=1)"}),
    Mistake("backwards", "Here the table predicts the token before, not the one after.",
        {"before, counts = texts[:, :-1]": "before, counts = texts[:, 1:]",
         "targets = texts[:, 1:]": "targets = texts[:, :-1]"}),
    Mistake("uphill", "The step goes with the gradient instead of against it.", {"T = T - rate": "T = T + rate"}),
    Mistake("each token once", "A token that comes several times gets only one of its gradients: indexed addition "
        "forgets repetitions.", {"np.add.at(dT, before, G / counts.sum())": "dT[before] += G / counts.sum()"}),
    Mistake("one step only", "Make all steps.", {"range(steps)": "range(min(steps, 1))"}),
    Mistake("the first tokens are counted", "A first token has none before it, so it is no target and does not count.",
        {"G / counts.sum()": "G / real.sum()"}),
    Mistake("a mean of means", "The mean of each text was taken, and then that of the texts: a token of a short text "
        "counts more.", {"G / counts.sum()": "G / np.maximum(counts.sum(axis=1), 1)[:, None, None] / len(texts)"}),
    Mistake("two positions on", "The targets are two tokens later; they must be the next tokens.",
        {"texts[:, :-1], real[:, 1:]": "texts[:, :-2], real[:, 2:]",
         "targets = texts[:, 1:]": "targets = texts[:, 2:]"}),
    Mistake("gradients are not cleared", "Each step takes the gradients of all steps before it as well: the sum is "
        "not set to zero.", not_cleared),
    Mistake("the row of the target", "The scores of what comes after a token stand in the row of that token.",
        {"np.add.at(dT, before,": "np.add.at(dT, targets,"}),
)  # fmt: skip
