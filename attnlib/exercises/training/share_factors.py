"""Gradients for a plain mean

write · ★ · 6 min · 05-training/8-many-workers

Worker r has the mean gradient means[r] over its tokens[r] tokens; means is (p, n), tokens (p,). A library will take
the plain mean over the p workers. Before that, each worker multiplies its gradient with one number, so that the
library's result is the mean over all tokens. Return the multiplied gradients, (p, n).

1. With which weight does the gradient of worker r enter the mean over all tokens?
2. The library divides by p. By what must its input be larger?
3. Each row times the share of its worker in all tokens, times p.

The factors have the mean one, so equal shares need none, and a training whose shares happen to be equal does not show
whether the factors are there. The first batch with a short text does.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def handed_in(means, tokens):
    """What each worker hands to a plain mean; means (p, n), tokens (p,)."""
    share = tokens / tokens.sum()
    return len(tokens) * share[:, None] * means


def by_the_mean(means, tokens):
    return np.array([row * one / np.mean(tokens) for row, one in zip(means, tokens, strict=True)])


def cases(rng):
    def case(*tokens, n=2):
        return *drawn(rng, (len(tokens), n)), np.array(tokens)

    return {
        "two workers": case(1, 5),
        "four workers": case(8, 3, 4, 1, n=3),
        "equal shares": case(6, 6, 6),
        "one has nothing": case(4, 0, 2),
        "all sizes equal": case(7, 2, 9, n=3),
    }


VARIANTS = (by_the_mean, {"share = tokens / tokens.sum()": "share = tokens / tokens.mean() / len(tokens)"})
MISTAKES = (
    Mistake("made for a sum", "These are the parts of a sum, for a library that adds. This one takes the mean: it "
        "divides by p.", {"len(tokens) * share": "share"}),
    Mistake("divided by p", "The library divides by p. So the gradients before it must be larger by p, not smaller.",
        {"return len(tokens) * share[:, None] * means": "return means * share[:, None] / len(tokens)"}),
    Mistake("all shares alike", "As they are, a token of a small share weighs more than one of a large share.",
        lambda means, tokens: means),
    Mistake("sums over tokens", "These are sums over tokens, and no later step divides them by the number of all "
        "tokens.",
        {"tokens / tokens.sum()": "1.0 * tokens"}, {"tokens / tokens.sum()": "tokens / len(tokens)"}),
    Mistake("the factors alone", "These are the factors. Each worker's gradient is multiplied with its own.",
        {"share[:, None] * means": "share"}),
    Mistake("the mean itself", "This is the result that the library should return. No worker knows it before.",
        lambda means, tokens: np.broadcast_to(tokens @ means / tokens.sum(), means.shape)),
    Mistake("the wrong way round", "A worker with many tokens counts more, and not less.",
        {"tokens / tokens.sum()": "1 / tokens / len(tokens)"},
        {"tokens / tokens.sum()": "tokens.mean() / tokens / len(tokens)"}),
    Mistake("the length of a gradient for p", "The library divides by the number of workers, and not by the length of "
        "a gradient.", {"len(tokens) * share": "means.shape[1] * share"}),
)  # fmt: skip
