"""Nucleus sampling

write · ★★ · 10 min · 04-transformer/4-a-gpt-in-one-sitting

Nucleus sampling (top-p) draws the next token from as few of the likeliest tokens as together have probability p or
more. s (vocab,) are the scores (logits), which are divided by the temperature T first. You may assume that the last
token kept and the first one dropped are not equally likely. Return the probabilities (vocab,) to draw from, in the
order of the vocabulary.

1. Go through the tokens from the likeliest on and add up. When may you stop: before or after the token with which the
   sum reaches p?
2. A token stays if the likelier ones together have *less* than p. So the likeliest always stays.
3. Softmax of s / T; sort; cumulated sum minus the token's own probability; keep where that is below p; put back
   into the order of the vocabulary; divide by what is left.

Where the model is sure, one or two tokens stay, and where it is not, hundreds may: a fixed k is too many here
and too few there.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def nucleus(s, T, p):
    """Probabilities of the fewest likeliest tokens that together reach p, at temperature T; (vocab,)."""
    z = s / T
    P = np.exp(z - z.max())
    P = P / P.sum()
    order = np.argsort(-P)
    before = np.cumsum(P[order]) - P[order]
    kept = order[before < p]
    Q = np.zeros(len(P))
    Q[kept] = P[kept]
    return Q / Q.sum()


def by_loop(s, T, p):
    P = np.exp((s - max(s)) / T)
    P = P / sum(P)
    left, Q, total = set(range(len(P))), np.zeros(len(P)), 0.0
    while total < p and left:
        best = max(left, key=lambda i: P[i])
        left.remove(best)
        Q[best], total = P[best], total + P[best]
    return Q / total


def by_what_is_likelier(s, T, p):
    P = np.exp(s / T - np.max(s / T))
    P = P / P.sum()
    likelier = (P[None, :] > P[:, None]) @ P
    Q = P * (likelier < p)
    return Q / Q.sum()


def cases(rng):
    return {
        "five tokens": (np.log([0.10, 0.40, 0.05, 0.25, 0.20]), 1.0, 0.6),
        "a sum that is exactly p": (np.log([1.0, 2.0, 1.0]), 1.0, 0.5),
        "equal tokens that all stay": (np.log([1.0, 4.0, 4.0, 1.0, 4.0]), 1.0, 0.7),
        "one token is enough": (np.log([0.05, 0.10, 0.80, 0.05]) + 0.1 * rng.normal(size=4), 1.0, 0.5),
        "a small nucleus": (np.log([0.20, 0.05, 0.30, 0.10, 0.35]), 1.0, 0.15),
        "a warm draw": (2 * rng.normal(size=9), 2.0, 0.7),
        "a cold draw": (rng.normal(size=9), 0.5, 0.9),
        "scores around 800": (800 + 2 * rng.normal(size=7), 0.9, 0.8),
    }


VARIANTS = (by_loop, by_what_is_likelier)
MISTAKES = (
    Mistake("the token that crosses p is dropped", "The token with which the sum reaches p belongs to the nucleus. "
        "Without it what is kept has less than p, and where one token has more than p nothing is kept at all.",
        {"before < p": "np.cumsum(P[order]) <= p"},
        {"before < p": "np.cumsum(P[order]) < p"},
        {"kept = order[before < p]": "kept = order[: max(1, (np.cumsum(P[order]) <= p).sum())]"}),
    Mistake("one too many", "One token more was kept than necessary.",
        {"kept = order[before < p]": "kept = order[: (before < p).sum() + 1]"}),
    Mistake("a temperature that multiplies", "A temperature above one must make the draw more even; here it makes it "
        "sharper.", {"z = s / T": "z = s * T"}),
    Mistake("no temperature", "These are the probabilities at temperature 1.", {"z = s / T": "z = s"}),
    Mistake("the temperature comes last", "The nucleus was chosen at temperature 1, and T acted on what is left. T "
        "acts first.",
        {"z = s / T": "z = s", "return Q / Q.sum()": "Q = np.where(Q > 0, P ** (1 / T), 0); return Q / Q.sum()"}),
    Mistake("not divided by the sum", "What is left must sum to one.", {"return Q / Q.sum()": "return Q"}),
    Mistake("in the order of probability", "The probabilities are sorted. They must be in the order of the "
        "vocabulary.",
        {"kept = order[before < p]": "kept = np.flatnonzero(before < p)",
         "Q[kept] = P[kept]": "Q[kept] = P[order][kept]"}),
    Mistake("a threshold", "p is not a least probability of each token, but of all that are kept together.",
        {"kept = order[before < p]": "kept = order[(P[order] >= p)]"}),
    Mistake("the least likely first", "The tail was kept. The nucleus begins with the likeliest token.",
        {"np.argsort(-P)": "np.argsort(P)"}),
    Mistake("a second softmax", "The probabilities that are left went through a softmax again. They are divided by "
        "their sum.", {"return Q / Q.sum()": "return np.where(Q > 0, np.exp(Q), 0) / np.exp(Q[Q > 0]).sum()"}),
    Mistake("equal probabilities", "Inside the nucleus the likelier tokens are still likelier.",
        {"Q[kept] = P[kept]": "Q[kept] = 1"}),
)  # fmt: skip
