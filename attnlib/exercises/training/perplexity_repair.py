"""A report with two faults

repair · ★ · 6 min · 05-training/1-what-is-minimised

S (b, n, vocab) are the scores of a model for b texts, targets (b, n) the tokens to predict, and real (b, n) is False at
padding. This function should return the perplexity of the real tokens. The number that it returns is too small. Two
lines are wrong; repair both.

1. What is the perplexity of a model whose scores are all equal? Does the function return it?
2. Follow the padding: what does it add to the sum, and what to the number that the sum is divided by?
3. One line divides by too much. Another raises the wrong number to a power: the loss is in nats.

Both faults make the model look better than it is. A test that finds both: equal scores and some padding. The
perplexity must then be the size of the vocabulary.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def report(S, targets, real):
    """Perplexity; S (b, n, vocab), targets and real (b, n)."""
    top = S.max(axis=-1)
    log_sum = top + np.log(np.exp(S - top[..., None]).sum(axis=-1))
    L = log_sum - np.take_along_axis(S, targets[..., None], axis=-1)[..., 0]
    L = np.where(real, L, 0.0)
    mean = L.sum() / real.sum()
    return np.exp(mean)


def token_by_token(S, targets, real):
    nats = []
    for b, n in np.argwhere(real):
        z = S[b, n] - S[b, n].max()
        nats.append(np.log(np.exp(z).sum()) - z[targets[b, n]])
    return np.exp(np.mean(nats))


def of_probabilities(S, targets, real):
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    P = E / E.sum(axis=-1, keepdims=True)
    right = np.take_along_axis(P, targets[..., None], axis=-1)[..., 0][real]
    return np.prod(right ** (-1 / len(right)))


def means_of_texts(S, targets, real):
    texts = [np.log(report(s[None], t[None], r[None])) for s, t, r in zip(S, targets, real, strict=True)]
    return np.exp(np.mean(texts))


def mean_perplexity(S, targets, real):
    return np.mean([report(s[None], t[None], r[None]) for s, t, r in zip(S, targets, real, strict=True)])


def cases(rng):
    def texts(b, n, vocab, length, level=0.0):
        (S,) = drawn(rng, (b, n, vocab))
        return level + S, rng.integers(0, vocab, (b, n)), np.arange(n) < np.array(length)[:, None]

    equal, targets, real = texts(2, 5, 3, [5, 2])
    return {
        "one text without padding": texts(1, 3, 4, [3]),
        "two texts": texts(2, 5, 4, [5, 3]),
        "equal scores": (0 * equal, targets, real),
        "a short text and long ones": texts(3, 7, 5, [2, 7, 6]),
        "scores around 800": texts(2, 5, 3, [4, 5], level=800.0),
        "all sizes equal": texts(4, 4, 4, [4, 2, 3, 4]),
    }


GIVEN = ("a mean over padding", "two to the power of nats")
VARIANTS = (token_by_token, of_probabilities)
MISTAKES = (
    Mistake("a mean over padding", "The sum is right, but it was divided by the number of all positions. Padding adds "
        "nothing to the sum, so it must not count in the divisor either.",
        {"mean = L.sum() / real.sum()": "mean = L.mean()"}),
    Mistake("two to the power of nats", "Two to the power of the loss is the perplexity of a loss in bits. This loss "
        "is in nats.", {"return np.exp(mean)": "return 2.0**mean"}),
    Mistake("padding counts as a target", "The padding was scored as if the model had to predict it.",
        {"L = np.where(real, L, 0.0)": "L = L + 0.0", "mean = L.sum() / real.sum()": "mean = L.mean()"}),
    Mistake("a mean of means", "Each text has its own mean here, and the means are averaged, so a token of a short "
        "text counts more.", means_of_texts),
    Mistake("a mean of perplexities", "Each text has a perplexity of its own here, and those are averaged. Take the "
        "mean surprise of all tokens first, then the power.", mean_perplexity),
    Mistake("the perplexity of each token", "The power was taken token by token, and the mean after it.",
        {"return np.exp(mean)": "return np.exp(L[real]).mean()"}),
    Mistake("turned over", "This is the probability of a token, as a geometric mean. The perplexity is one over it.",
        {"return np.exp(mean)": "return np.exp(-mean)"}),
    Mistake("per text", "The sum of all tokens was divided by the number of texts.",
        {"mean = L.sum() / real.sum()": "mean = L.sum() / len(L)"}),
    Mistake("what the model expects", "This is the perplexity that the model expects of itself, from its entropy. It "
        "does not use the targets.",
        {"L = log_sum - np.take_along_axis(S, targets[..., None], axis=-1)[..., 0]":
             "L = log_sum - (S * np.exp(S - log_sum[..., None])).sum(axis=-1)"}),
    Mistake("bits, and then e", "The loss went to bits, and e was raised to them. The base of both must be the same.",
        {"return np.exp(mean)": "return np.exp(mean / np.log(2))"}),
    Mistake("ten to the power of nats", "The base of the power is that of the logarithm, e.",
        {"return np.exp(mean)": "return 10.0**mean"}),
    Mistake("the likeliest token", "Each position was scored at the token with the largest score, not at its target.",
        {"L = log_sum - np.take_along_axis(S, targets[..., None], axis=-1)[..., 0]": "L = log_sum - top"}),
    Mistake("only the padding", "What was averaged is the padding, without the real tokens.",
        {"L = np.where(real, L, 0.0)": "L = np.where(real, 0.0, L)",
         "L.sum() / real.sum()": "L.sum() / (~real).sum()"}),
    Mistake("not divided", "The surprise of all tokens was added up. The perplexity is of the mean.",
        {"mean = L.sum() / real.sum()": "mean = L.sum()"}),
)  # fmt: skip
