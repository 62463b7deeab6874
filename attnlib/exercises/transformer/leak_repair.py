"""A loss that is too good

repair · ★★ · 8 min · 04-transformer/4-a-gpt-in-one-sitting

This is the loss of a small language model with one layer of attention. tokens (n,) is a text; E (vocab, d) is the token
table, at both ends; `places` (longest, d) is the position table. W (d, d) is the only matrix of the attention: keys and
values are the vectors X themselves. In training the loss falls close to zero on any text, a random one included, and
the text that the model then generates is nonsense. Two lines are wrong; repair both.

1. A loss near zero on a random text means that the model reads its target. On which two paths can it do so?
2. Look at row i of the mask: what is the last position that token i sees? Then look which token is the target of its
   scores.
3. The mask must end at the diagonal, and the target of the scores at position i is token i + 1; the last has no
   target.

Either fault alone is enough. So a loss that is far better than expected is the first sign of a leak, and the
test for it is cheap: change the last token and see whether any score before it moves.
"""

import math

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def mean_nats(tokens, E, places, W):
    """Mean nats of each token given those before it."""

    def softmax(S):
        P = np.exp(S - S.max(axis=-1, keepdims=True))
        return P / P.sum(axis=-1, keepdims=True)

    n = len(tokens)
    X = E[tokens] + places[:n]
    S = X @ W @ X.T / math.sqrt(X.shape[1])
    S = np.where(np.tri(n, dtype=bool), S, -np.inf)
    scores = (X + softmax(S) @ X) @ E.T
    P = softmax(scores)
    return -np.log(P[np.arange(n - 1), tokens[1:]]).mean()


def prefix_by_prefix(tokens, E, places, W):
    nats = []
    for k in range(1, len(tokens)):
        X = E[tokens[:k]] + places[:k]
        scores = X[-1] @ W @ X.T / X.shape[1] ** 0.5
        P = np.exp(scores - scores.max())
        said = (X[-1] + P @ X / P.sum()) @ E.T
        nats.append(np.log(np.exp(said).sum()) - said[tokens[k]])
    return np.mean(nats)


def cases(rng):
    def model(n, vocab, d):
        return (rng.integers(0, vocab, n), *drawn(rng, (vocab, d), (n + 2, d), (d, d)))

    return {
        "four tokens": model(4, 5, 3),
        "three tokens": model(3, 4, 2),
        "nine tokens": model(9, 4, 2),
        "all sizes equal": model(5, 5, 5),
    }


GIVEN = ("the next token is seen", "target not shifted")
VARIANTS = (
    prefix_by_prefix,
    {"S = np.where(np.tri(n, dtype=bool), S, -np.inf)": "S = S + np.triu(np.full((n, n), -np.inf), 1)"},
)  # fmt: skip
MISTAKES = (
    Mistake("the next token is seen", "The mask ends one position after the diagonal: each token sees the one that it "
        "must predict.", {"np.tri(n, dtype=bool)": "np.tri(n, k=1, dtype=bool)"}),
    Mistake("target not shifted", "The target at position i is token i, which the model has read there. It must be the "
        "next token.",
        {"P[np.arange(n - 1), tokens[1:]]": "P[np.arange(n), tokens]"},
        {"P[np.arange(n - 1), tokens[1:]]": "P[np.arange(1, n), tokens[1:]]"}),
    Mistake("causal mask forgotten", "Each token sees the whole text, and with it the one that it must predict.",
        {"S = np.where(np.tri(n, dtype=bool), S, -np.inf)": "S = S"}),
    Mistake("hidden after the softmax", "Weights were set to zero after the softmax: the rest no longer sums to one, "
        "and its sum depends on the hidden scores.",
        {"S = np.where(np.tri(n, dtype=bool), S, -np.inf)": "S = S",
         "softmax(S) @ X": "(softmax(S) * np.tri(n)) @ X"}),
    Mistake("hidden scores are zero", "A score of zero is a score like others: its weight is not zero. Hidden scores "
        "are minus infinity.", {"S, -np.inf)": "S, 0)"}),
    Mistake("the mask is upside down", "Each token sees itself and what comes after it.",
        {"np.tri(n, dtype=bool)": "np.tri(n, dtype=bool).T"}),
    Mistake("shifted the other way", "The target at position i is the token before it.",
        {"P[np.arange(n - 1), tokens[1:]]": "P[np.arange(1, n), tokens[:-1]]"}),
    Mistake("two ahead", "The target is the next token, not the one after it.",
        {"P[np.arange(n - 1), tokens[1:]]": "P[np.arange(n - 2), tokens[2:]]"}),
)  # fmt: skip
