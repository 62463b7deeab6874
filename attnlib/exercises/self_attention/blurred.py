r"""Sharp tables, blurred mean

write · ★★ · 12 min · 02-self-attention/6-patterns-and-entropy · after foundations.entropy

A figure shows the mean of one head's attention maps over many texts, and the mean looks almost uniform. P (texts, m, n)
are the maps. Return, for each of the m queries, how much of the entropy of the *mean* row comes from averaging: the
entropy of the mean row less the mean of the entropies. (Natural logarithms; 0 log 0 counts as 0.)

1. Two texts, one row: (1, 0) and (0, 1). How sharp is each, how sharp is the mean, and what should come out?
2. There are two orders: average and then take the entropy, or the other way round.
3. The entropy of P.mean(axis=0), less the mean over texts of the entropies.

It is never negative, and zero only if all texts give one row. A head that looks at *content* blurs in a mean, a head
that looks at positions does not: the figure alone does not distinguish a head that looks everywhere from one that
looks at a single word, another one in each text.
"""

import math

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import weights


def blur(P):
    """(m,): entropy of the mean row, less the mean of the entropies."""

    def entropy(P):
        return -(P * np.log(np.where(P > 0, P, 1))).sum(axis=-1)

    return entropy(P.mean(axis=0)) - entropy(P).mean(axis=0)


def cases(rng):
    looks = np.array([[[1.0, 0, 0], [0.5, 0.5, 0]], [[0, 1.0, 0], [0, 0.5, 0.5]]])
    half = weights(rng, 3, 4, 3, sharp=2.0)
    half[:, 2:] = [[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]
    half[1, 2:] = [[0.0, 0.5, 0.5], [0.0, 1.0, 0.0]]
    return {
        "two texts, each sure of another word": (looks,),
        "four texts, three keys": (weights(rng, 4, 2, 3, sharp=2.0),),
        "always the same": (np.repeat(weights(rng, 1, 3, 4, sharp=1.5), 3, axis=0),),
        "some weights are zero": (half,),
        "three texts, five keys": (weights(rng, 3, 2, 5, sharp=3.0),),
    }


def as_a_divergence(P):
    result = np.zeros(P.shape[1])
    for i in range(P.shape[1]):
        middle = P[:, i].mean(axis=0)
        for row in P[:, i]:
            result[i] += sum(p * math.log(p / q) for p, q in zip(row, middle, strict=True) if p > 0) / len(P)
    return result


VARIANTS = (as_a_divergence, {"np.log(np.where(P > 0, P, 1))": "np.log(P + (P == 0))"})
MISTAKES = (
    Mistake("a share of the entropy", "This is the difference divided by the entropy of the mean row. The difference "
        "itself is wanted.",
        {"return entropy(P.mean(axis=0)) - entropy(P).mean(axis=0)":
             "return 1 - entropy(P).mean(axis=0) / entropy(P.mean(axis=0))"}),
    Mistake("the other way round", "This is never positive: from the entropy of the mean the mean of the entropies is "
        "taken away.",
        {"return entropy(P.mean(axis=0)) - entropy(P).mean(axis=0)":
             "return entropy(P).mean(axis=0) - entropy(P.mean(axis=0))"}),
    Mistake("the entropy of the mean alone", "That holds what each text is unsure of as well. Take the mean of the "
        "entropies away.", {"- entropy(P).mean(axis=0)": ""}),
    Mistake("the mean of the entropies alone", "That is how unsure the head is in one text.",
        {"return entropy(P.mean(axis=0)) - entropy(P).mean(axis=0)": "return entropy(P).mean(axis=0)"}),
    Mistake("nan where a weight is zero", "0 log 0 counts as zero, and NumPy returns nan.",
        {"np.where(P > 0, P, 1)": "P"}),
)  # fmt: skip
