r"""A translation loss with two faults

repair · ★★ · 10 min · 04-transformer/16-beams-and-bleu

This function is meant to be the loss of a translator with one layer of cross-attention. source (b, n) and target
(b, m) are word numbers, and 0 is padding. Each target begins with the token for the beginning of a sentence. E has a
vector for each word of the source, T for each word of the target, and U (d, vocab) makes the scores. A model that is
trained with this loss gets better, but never as good as it could. Two lines are wrong; repair both.

1. Would the loss change if the first row of E changed, the vector of padding? Should it?
2. What is exp(0)? And at which positions is there no word to predict?
3. A score that must not count is minus infinity before the softmax. Take the mean over those losses whose answer is a
   word.

A score of 0 has a positive weight, as every score has. So each short sentence of a batch attends to its padding, and
the more padding there is, the more weight it gets. If padding counts in the loss, the model learns first of all to
predict padding.
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
        "three sentences of different lengths": case(3, 7, [4, 1, 3], [3, 6, 2]),
        "all sizes equal": case(4, 4, [4, 2, 3, 1], [4, 3, 4, 2]),
    }


GIVEN = ("padding of the source is read", "the loss counts padding")
VARIANTS = (word_by_word, {"-np.inf": "-1e30"})
MISTAKES = (
    Mistake("padding of the source is read", "The padding of the source has a positive weight: a score of 0 is a "
        "score like any other.",
        {"S, -np.inf)": "S, 0.0)"}, {"S = np.where((source > 0)[:, None], S, -np.inf)": "S = S + 0"}),
    Mistake("the loss counts padding", "Positions after the end of the target are counted, too.",
        {"nats[asked > 0].mean()": "nats.mean()"}),
    Mistake("divided by all positions", "The sum leaves padding out, but it was divided by the number of all "
        "positions, padding included.",
        {"nats[asked > 0].mean()": "(nats * (asked > 0)).mean()"}),
    Mistake("a mean of means", "Each sentence has its own mean here, so a word of a short sentence counts more.",
        {"nats[asked > 0].mean()": "((nats * (asked > 0)).sum(axis=1) / (asked > 0).sum(axis=1)).mean()"}),
    Mistake("divided by the number of sentences", "The sum was divided by the number of sentences, not by the number "
        "of words.",
        {"nats[asked > 0].mean()": "nats[asked > 0].sum() / len(nats)"}),
    Mistake("target not shifted", "Each position must predict the next word. Here its answer is the word that it "
        "reads.",
        {"said, asked = target[:, :-1], target[:, 1:]": "said, asked = target[:, 1:], target[:, 1:]"}),
    Mistake("only padding is read", "The mask is inverted: the words of the source are hidden, and its padding is "
        "read.",
        {"np.where((source > 0)[:, None], S, -np.inf)": "np.where((source > 0)[:, None], -1e30, S)"}),
    Mistake("weights not normalised again", "Weights were set to zero after the softmax, so those of a padded source "
        "sum to less than one.",
        {"np.where((source > 0)[:, None], S, -np.inf)": "S + 0",
         "Z = (Q + P @ H) @ U": "P = P * (source > 0)[:, None]; Z = (Q + P @ H) @ U"}),
    Mistake("the memory alone", "The decoder's own vectors are missing in the scores.",
        {"(Q + P @ H) @ U": "P @ H @ U"}),
    Mistake("no scale", "The scores are not divided by the root of d.",
        {"/ np.sqrt(Q.shape[-1])": ""}),
    Mistake("the mask of the input", "A position counts if its answer is a word. Here it counts if its input is one.",
        {"nats[asked > 0]": "nats[said > 0]"}),
    Mistake("the beginning is counted", "The token for the beginning is given. It is not predicted, so it must not "
        "be counted.",
        {"nats[asked > 0].mean()": "nats[asked > 0].sum() / (target > 0).sum()"}),
    Mistake("the first word is left out", "The first word after the token for the beginning must be predicted, too.",
        {"nats[asked > 0].mean()": "nats[:, 1:][asked[:, 1:] > 0].mean()"}),
    Mistake("a loss for each sentence", "Each sentence has its own mean here. The question is about one number, over "
        "all words.",
        {"nats[asked > 0].mean()": "((nats * (asked > 0)).sum(axis=1) / (asked > 0).sum(axis=1))"}),
    Mistake("padding has values of zero", "Padding still has a positive weight, and its values are zeros. Its weight "
        "must be zero.",
        {"S, -np.inf)": "S, 0.0)", "P @ H)": "P @ (H * (source > 0)[..., None]))"}),
)  # fmt: skip
