"""A loss that counts no padding

write · ★★ · 10 min · 04-transformer/4-a-gpt-in-one-sitting

A batch holds texts of different lengths: tokens (b, n), where row r has length[r] real tokens and padding after them. S
(b, n, vocab) are the scores (logits) of a language model at every position. Return the mean loss in nats over all real
tokens of the batch that have a token before them, each predicted from the tokens before it. Every such token counts
equally.

1. Which scores were computed without token i as an input? Which is the first token that is a target?
2. Padding is never a target. As input it has no effect: a causal model has not read it when it predicts the real
   tokens.
3. Log-softmax of the scores, all positions but the last, read off at the tokens from the second on; keep the targets
   whose position is below the length; then one mean.

One mean over all targets, since otherwise a token of a short text would count more than one of a long text.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def padded_loss(S, tokens, length):
    """Mean nats of the real tokens from the second on; S (b, n, vocab), tokens (b, n), length (b,)."""
    top = S.max(axis=-1, keepdims=True)
    log_P = S - top - np.log(np.exp(S - top).sum(axis=-1, keepdims=True))
    said = np.take_along_axis(log_P[:, :-1], tokens[:, 1:, None], axis=-1)[..., 0]
    real = np.arange(1, S.shape[1]) < length[:, None]
    return -said[real].mean()


def by_loop(S, tokens, length):
    nats = []
    for scores, row, end in zip(S, tokens, length, strict=True):
        for i in range(1, end):
            s = scores[i - 1] - scores[i - 1].max()
            nats.append(np.log(np.exp(s).sum()) - s[row[i]])
    return np.mean(nats)


def cases(rng):
    def texts(b, n, vocab, length, level=0.0):
        (S,) = drawn(rng, (b, n, vocab))
        return level + S, rng.integers(0, vocab, (b, n)), np.array(length)

    return {
        "one text without padding": texts(1, 3, 4, [3]),
        "two texts": texts(2, 5, 4, [5, 3]),
        "a short text and long ones": texts(3, 7, 5, [2, 7, 6]),
        "scores around 800": texts(2, 5, 3, [4, 5], level=800.0),
        "all sizes equal": texts(4, 4, 4, [4, 2, 3, 4]),
    }


VARIANTS = (by_loop, {"-said[real].mean()": "-np.sum(said * real) / np.sum(real)"})
MISTAKES = (
    Mistake("target not shifted", "The target of the scores at a token was that same token, which the model has read. "
        "The target is the next one.",
        {"log_P[:, :-1], tokens[:, 1:, None]": "log_P[:, 1:], tokens[:, 1:, None]"},
        {"log_P[:, :-1], tokens[:, 1:, None]": "log_P, tokens[:, :, None]",
         "np.arange(1, S.shape[1])": "np.arange(S.shape[1])"}),
    Mistake("shifted the other way", "The target was the token *before* the position of the scores.",
        {"log_P[:, :-1], tokens[:, 1:, None]": "log_P[:, 1:], tokens[:, :-1, None]"}),
    Mistake("padding is counted", "Targets after the end of a text were counted, too.",
        {"-said[real].mean()": "-said.mean()"}),
    Mistake("one target of the padding is counted", "Of each text that is padded, the first token of the padding "
        "counts as a target. The last real token is the last target.",
        {"np.arange(1, S.shape[1])": "np.arange(S.shape[1] - 1)"}),
    Mistake("the last token is missing", "The last real token of each text is a target, too.",
        {"np.arange(1, S.shape[1])": "np.arange(2, S.shape[1] + 1)"}),
    Mistake("a mean of means", "Each text has its own mean here, and the means are averaged, so a token of a short "
        "text counts more.",
        {"return -said[real].mean()": "return -(np.sum(said * real, axis=1) / real.sum(axis=1)).mean()"}),
    Mistake("divided by all positions", "The sum is right, but it was divided by the number of all positions, padding "
        "included.",
        {"return -said[real].mean()": "return -said[real].sum() / real.size"}),
    Mistake("divided by the number of tokens", "A text of length l has l - 1 targets: its first token follows nothing.",
        {"return -said[real].mean()": "return -said[real].sum() / length.sum()"}),
    Mistake("divided by the number of texts", "This is the mean of a text, not of a token.",
        {"return -said[real].mean()": "return -said[real].sum() / len(S)"}),
    Mistake("a sum", "Return the mean; a sum grows with the batch.",
        {"return -said[real].mean()": "return -said[real].sum()"}),
    Mistake("no minus", "A loss is minus the log-probability: small when the model is right.",
        {"return -said[real]": "return said[real]"}),
    Mistake("no softmax", "The scores themselves were read off. They become log-probabilities by a log-softmax.",
        {"log_P = S - top - np.log(np.exp(S - top).sum(axis=-1, keepdims=True))": "log_P = S"}),
    Mistake("probabilities, no logarithm", "These are probabilities. The loss is minus their logarithm.",
        {"return -said[real].mean()": "return -np.exp(said[real]).mean()"}),
    Mistake("the logarithm of the mean", "First the logarithm of each, then the mean.",
        {"return -said[real].mean()": "return -np.log(np.exp(said[real]).mean())"}),
    Mistake("normalised over the positions", "The softmax runs over the vocabulary, the last axis, at every position.",
        {"axis=-1, keepdims=True": "axis=1, keepdims=True"}),
)  # fmt: skip
