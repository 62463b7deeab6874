"""Which ending?

write · ★★ · 10 min · 04-transformer/4-a-gpt-in-one-sitting

A language model can answer a multiple-choice question without any training for it. k texts begin with the same m tokens
and have different endings: tokens (k, n), and S (k, n, vocab) are the model's scores (logits) at every position. If
exactly one of the k endings is right, how probable is each by the model? Return (k,), which sums to one.

1. How probable is an ending as a whole? It is a product of one probability for each of its tokens.
2. Which scores predict the first token of an ending? Those at the last token that all texts share.
3. Log-softmax of the scores at m - 1 to n - 2, read off at the tokens m to n - 1; the sum for each text; a
   softmax over the k sums.

This is how language models take tests with several choices. Endings of different lengths make it harder: the
longer one has more factors below one. So some divide the sum by the number of tokens, which is no longer a
probability.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn
from attnlib.exercises.kit.given import softmax


def ending(S, tokens, m):
    """How probable each ending is among the k; S (k, n, vocab), tokens (k, n), of which the first m are shared."""
    top = S.max(axis=-1, keepdims=True)
    log_P = S - top - np.log(np.exp(S - top).sum(axis=-1, keepdims=True))
    said = np.take_along_axis(log_P[:, m - 1 : -1], tokens[:, m:, None], axis=-1)[..., 0]
    total = said.sum(axis=1)
    chance = np.exp(total - total.max())
    return chance / chance.sum()


def by_products(S, tokens, m):
    k, n = tokens.shape
    P = softmax(S)
    chance = np.array([np.prod([P[c, i - 1, tokens[c, i]] for i in range(m, n)]) for c in range(k)])
    return chance / chance.sum()


def whole_texts(S, tokens, m):
    P = softmax(S)
    k, n = tokens.shape
    total = [sum(np.log(P[c, i, tokens[c, i + 1]]) for i in range(n - 1)) for c in range(k)]
    return softmax(np.array(total))


def cases(rng):
    def texts(k, n, vocab, m):
        S, tokens = *drawn(rng, (k, n, vocab)), rng.integers(0, vocab, (k, n))
        S[:, :m], tokens[:, :m] = S[:1, :m], tokens[:1, :m]
        return S, tokens, m

    return {
        "two endings of three tokens": texts(2, 5, 3, 2),
        "three endings": texts(3, 6, 5, 2),
        "more endings than tokens": texts(5, 4, 3, 1),
        "all sizes equal": texts(4, 4, 4, 1),
    }


VARIANTS = (by_products, whole_texts)
MISTAKES = (
    Mistake("target not shifted", "Each token was scored at its own position, where the model has read it.",
        {"log_P[:, m - 1 : -1]": "log_P[:, m:]"}),
    Mistake("the last token alone", "An ending is as probable as all its tokens together.",
        {"said.sum(axis=1)": "said[:, -1]"}),
    Mistake("the first token alone", "An ending is as probable as all its tokens together.",
        {"said.sum(axis=1)": "said[:, 0]"}),
    Mistake("log-probabilities", "These are the logarithms, and they do not sum to one.",
        {"return chance / chance.sum()": "return total"}),
    Mistake("not divided by the sum", "Exactly one ending is right, so that the probabilities must sum to one.",
        {"return chance / chance.sum()": "return np.exp(total)"}),
    Mistake("divided as they are", "The sums are logarithms: they become probabilities by a softmax, not by a "
        "division.", {"return chance / chance.sum()": "return total / total.sum()"}),
    Mistake("raw scores", "Scores of different positions can be compared only after a softmax over the vocabulary.",
        {"log_P = S - top - np.log(np.exp(S - top).sum(axis=-1, keepdims=True))": "log_P = S"}),
    Mistake("the likeliest alone", "Return the probability of each, not which is the likeliest.",
        {"return chance / chance.sum()": "return (total == total.max()) * 1.0"}),
)  # fmt: skip
