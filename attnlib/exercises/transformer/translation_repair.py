r"""A translator that stays vague

repair · ★★ · 10 min · 04-transformer/5-beams-and-bleu

The loss of a translator with one layer of cross-attention. source (b, n) and target (b, m) are word numbers, and 0 is
padding; each target begins with the mark of the beginning. E and T have a vector for each word, and U (d, vocab) makes
the scores. With this loss it trains, and never gets as good as it could. Two lines are wrong; repair both.

1. Which numbers would move if somebody wrote another vector into the first row of E, the one of the padding?
2. What is exp(0)? And which places does a mean have that nobody should answer for?
3. A score that must not count is minus infinity before the softmax. Of the losses keep those whose answer is a word.

A score of 0 looks like nothing, and is a weight like any other: each short sentence of a batch reads the padding, and
the more of it, the longer its neighbours are. And whoever must answer for padding learns first of all to say padding.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn
from attnlib.exercises.kit.given import softmax


def translation_loss(source, target, E, T, U):
    """Mean nats of the words to be said; source (b, n), target (b, m)."""
    said, asked = target[:, :-1], target[:, 1:]
    H, Q = E[source], T[said]
    S = Q @ H.swapaxes(1, 2) / np.sqrt(Q.shape[-1])
    S = np.where((source > 0)[:, None], S, -np.inf)
    P = np.exp(S - S.max(axis=-1, keepdims=True))
    P = P / P.sum(axis=-1, keepdims=True)
    Z = (Q + P @ H) @ U
    Z = Z - Z.max(axis=-1, keepdims=True)
    log_P = Z - np.log(np.exp(Z).sum(axis=-1, keepdims=True))
    nats = -np.take_along_axis(log_P, asked[..., None], axis=-1)[..., 0]
    return nats[asked > 0].mean()


def word_by_word(source, target, E, T, U):
    nats = []
    for words, row in zip(source, target, strict=True):
        memory = E[words[words > 0]]
        for before, answer in zip(row, row[1:], strict=False):
            if answer > 0:
                q = T[before]
                z = (q + softmax(memory @ q / np.sqrt(len(q))) @ memory) @ U
                nats.append(-np.log(softmax(z)[answer]))
    return np.mean(nats)


def cases(rng):
    def case(d, words, source, target):
        def padded(lengths, first):
            rows = rng.integers(2, words, (len(lengths), max(lengths)))
            rows[:, 0] = np.where(first, 1, rows[:, 0])
            return np.where(np.arange(max(lengths)) < np.array(lengths)[:, None], rows, 0)

        E, T, U = drawn(rng, (words, d), (words, d), (d, words))
        return padded(source, False), padded(target, True), E, T, U

    return {
        "one sentence without padding": case(3, 5, [3], [4]),
        "a short source beside a long one": case(4, 6, [5, 2], [4, 4]),
        "a short target beside a long one": case(4, 6, [3, 3], [6, 3]),
        "three of all kinds": case(3, 7, [4, 1, 3], [3, 6, 2]),
        "all sizes equal": case(4, 4, [4, 2, 3, 1], [4, 3, 4, 2]),
    }


GIVEN = ("padding of the source is seen", "the loss counts padding")
VARIANTS = (word_by_word, {"-np.inf": "-1e30"})
MISTAKES = (
    Mistake("padding of the source is seen", "The padding of the source has a weight: a score of 0 is one like any "
        "other.",
        {"S, -np.inf)": "S, 0.0)"}, {"S = np.where((source > 0)[:, None], S, -np.inf)": "S = S + 0"}),
    Mistake("the loss counts padding", "Places behind the end of the target are counted, too.",
        {"nats[asked > 0].mean()": "nats.mean()"}),
    Mistake("divided by all places", "The sum leaves padding out, and was divided by all places, padding included.",
        {"nats[asked > 0].mean()": "(nats * (asked > 0)).mean()"}),
    Mistake("a mean of means", "Each sentence has its own mean here, so a word of a short sentence counts more.",
        {"nats[asked > 0].mean()": "((nats * (asked > 0)).sum(axis=1) / (asked > 0).sum(axis=1)).mean()"}),
    Mistake("the mean of a sentence", "This is the mean of a sentence, not of a word.",
        {"nats[asked > 0].mean()": "nats[asked > 0].sum() / len(nats)"}),
    Mistake("target not shifted", "Each place is asked for the word that it has just read. It must say the next one.",
        {"said, asked = target[:, :-1], target[:, 1:]": "said, asked = target[:, 1:], target[:, 1:]"}),
    Mistake("only the padding is seen", "The mask is turned round: the words of the source are hidden, and its "
        "padding is read.",
        {"np.where((source > 0)[:, None], S, -np.inf)": "np.where((source > 0)[:, None], -1e30, S)"}),
    Mistake("weights not normalised again", "Weights were set to zero behind the softmax, so those of a padded source "
        "sum to less than one.",
        {"np.where((source > 0)[:, None], S, -np.inf)": "S + 0",
         "Z = (Q + P @ H) @ U": "P = P * (source > 0)[:, None]; Z = (Q + P @ H) @ U"}),
    Mistake("the memory alone", "What the decoder has said itself is missing in its scores.",
        {"(Q + P @ H) @ U": "P @ H @ U"}),
    Mistake("no scale", "The scores are not divided by the root of d.", {"/ np.sqrt(Q.shape[-1])": ""}),
    Mistake("the mask of what was read", "A place counts if the word to be said there is one, whatever was read.",
        {"nats[asked > 0]": "nats[said > 0]"}),
    Mistake("the beginning counts as said", "The mark of the beginning is given, so it is no word to be said.",
        {"nats[asked > 0].mean()": "nats[asked > 0].sum() / (target > 0).sum()"}),
    Mistake("the first word is left out", "The first word is to be said, too, after the mark of the beginning.",
        {"nats[asked > 0].mean()": "nats[:, 1:][asked[:, 1:] > 0].mean()"}),
    Mistake("a loss for each sentence", "Each sentence has its own mean here. Asked for is one number, over all words.",
        {"nats[asked > 0].mean()": "((nats * (asked > 0)).sum(axis=1) / (asked > 0).sum(axis=1))"}),
    Mistake("padding answers with zeros", "Padding still takes its part of the weight, and what it says are zeros.",
        {"S, -np.inf)": "S, 0.0)", "P @ H)": "P @ (H * (source > 0)[..., None]))"}),
)  # fmt: skip
