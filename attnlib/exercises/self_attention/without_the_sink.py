"""What the sink hides

write · ★★ · 12 min · 02-self-attention/6-patterns-and-entropy · after foundations.entropy

P (n, n) are the weights of a causal head that puts much of its weight on the first token, its sink. How is the rest
spread? Take the first key out, scale each row up to one again, and return the evenness of each row (n,), its entropy
divided by the largest entropy that the remaining keys allow. Rows with fewer than two keys left get 0. (Every weight
that the mask allows is positive.)

1. Which rows have two keys or more once the first is gone?
2. Without its first entry a row sums to less than one. What has to be done before an entropy is taken?
3. Row i (from 0) has i keys left: divide by log i, from i = 2 on.

A head with 0.9 of its weight on the first token looks sharp by its entropy, and may be even or sharp in the tenth that
carries something. So report two numbers: the size of the sink and the evenness of the rest.
"""

import math

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.given import softmax


def evenness_of_the_rest(P):
    """(n,): evenness of each causal row once its first key is gone."""
    result = np.zeros(len(P))
    for i in range(2, len(P)):
        rest = P[i, 1 : i + 1] / P[i, 1 : i + 1].sum()
        result[i] = -(rest * np.log(rest)).sum() / math.log(i)
    return result


def cases(rng):
    def causal(n, sink, sharp=1.0):
        S = sharp * rng.normal(size=(n, n))
        S[:, 0] += sink
        return (softmax(np.where(np.tri(n, dtype=bool), S, -np.inf)),)

    return {
        "four tokens, a sink": causal(4, 2.0),
        "six tokens, a deep sink": causal(6, 5.0),
        "no sink, and sharp": causal(5, 0.0, 2.0),
        "even beside the sink": causal(5, 3.0, 0.0),
    }


def in_one(P):
    n = len(P)
    rest = np.tril(P)[:, 1:]
    left = rest.sum(axis=1, keepdims=True)
    rest = rest / np.where(left > 0, left, 1)
    H = -(rest * np.log(np.where(rest > 0, rest, 1))).sum(axis=1)
    return np.array([H[i] / math.log(i) if i > 1 else 0.0 for i in range(n)])


VARIANTS = (in_one, {"P[i, 1 : i + 1] / P[i, 1 : i + 1].sum()": "P[i, 1 : i + 1] / (1 - P[i, 0])"})
MISTAKES = (
    Mistake("the sink is still there", "The first key was left in: this is the evenness of the whole row.",
        {"rest = P[i, 1 : i + 1] / P[i, 1 : i + 1].sum()": "rest = P[i, : i + 1]", "math.log(i)": "math.log(i + 1)"}),
    Mistake("the rest was not scaled up", "Without its first entry a row sums to less than one, and its entropy "
        "compares with nothing.", {"P[i, 1 : i + 1] / P[i, 1 : i + 1].sum()": "P[i, 1 : i + 1]"}),
    Mistake("the bound still counts the sink", "One key less is left: row i has i of them.",
        {"math.log(i)": "math.log(i + 1)"}),
    Mistake("the bound of the last row", "Each row has its own number of keys: the bound is log i.",
        {"math.log(i)": "math.log(len(P) - 1)"}),
    Mistake("not divided", "This is the entropy. Divide it by the largest that the keys which are left allow.",
        {"/ math.log(i)": ""}),
    Mistake("the wrong row", "The diagonal was cut off: a token sees itself.",
        {"P[i, 1 : i + 1] / P[i, 1 : i + 1].sum()": "P[i, 1:i] / P[i, 1:i].sum()"}),
    Mistake("one minus the evenness", "This is how sure the rest is. Wanted was how even.",
        {"result[i] = -(rest * np.log(rest)).sum() / math.log(i)":
             "result[i] = 1 + (rest * np.log(rest)).sum() / math.log(i)"}),
)  # fmt: skip
