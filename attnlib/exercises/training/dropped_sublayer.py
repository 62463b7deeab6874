"""Two dropouts in one sublayer

write · ★★ · 10 min · 05-training/4-not-too-well

A sublayer of attention while it trains: X (n, d) is the stream, P (n, n) are the weights, M (d, d) is what the
matrices of values and output make together. kept_P (n, n) and kept_Y (n, d) are True for what stays of the weights and
of the output of attention; in both cases the share p is dropped. There is no norm. Return the stream after attention,
(n, d).

1. What does the second dropout leave out: numbers of the stream, or of what is added to it?
2. Each of the two dropouts keeps the mean of its own input. What does each have to do for that?
3. Divide what stays of P by 1 - p, and what stays of the product with X and M again; then add it to X.

Each dropout divides by 1 - p by itself, because each has draws of its own. The stream is not dropped: what an earlier
block wrote stays in it.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn, weights


def dropped_sublayer(X, P, M, kept_P, kept_Y, p):
    """The stream after attention, with two dropouts."""
    dropped = kept_P * P / (1 - p)
    Y = dropped @ X @ M
    return X + kept_Y * Y / (1 - p)


def number_by_number(X, P, M, kept_P, kept_Y, p):
    values, Z = X @ M, X.copy()
    for i, j in np.argwhere(kept_P):
        Z[i] = Z[i] + P[i, j] * values[j] * kept_Y[i] / (1 - p) ** 2
    return Z


def cases(rng):
    def parts(n, d, p):
        return (
            *drawn(rng, (n, d)), weights(rng, n, n), *drawn(rng, (d, d)),
            rng.random((n, n)) >= p, rng.random((n, d)) >= p, p,
        )  # fmt: skip

    X, P, M, kept_P, kept_Y, _ = parts(3, 4, 0.3)
    return {
        "three tokens": (X, P, M, kept_P, kept_Y, 0.3),
        "half is dropped": parts(4, 3, 0.5),
        "only the output drops": (X, P, M, np.full((3, 3), True), kept_Y, 0.3),
        "only the weights drop": (X, P, M, kept_P, np.full((3, 4), True), 0.3),
        "all sizes equal": parts(3, 3, 0.25),
    }


VARIANTS = (number_by_number, {"kept_P * P / (1 - p)": "np.where(kept_P, P / (1 - p), 0)"})
MISTAKES = (
    Mistake("nothing is rescaled", "What stays was not divided by 1 - p, in neither dropout: the mean over draws is "
        "smaller than the output without dropout.", {"/ (1 - p)": ""}),
    Mistake("rescaled in one dropout alone", "What stays was divided by 1 - p in one of the two dropouts. Each must "
        "divide.",
        {"kept_P * P / (1 - p)": "kept_P * P"}, {"kept_Y * Y / (1 - p)": "kept_Y * Y"}),
    Mistake("the stream is dropped, too", "Numbers of the sum were left out. Only what attention adds is dropped, not "
        "the stream.", {"X + kept_Y * Y": "kept_Y * (X + Y)"}),
    Mistake("the weights were made to sum to one again", "The weights that stay were divided by their sum. Dropout "
        "divides by 1 - p, and the sum is one on average only.",
        {"dropped = kept_P * P / (1 - p)":
             "dropped = kept_P * P; dropped = dropped / np.maximum(dropped.sum(axis=-1, keepdims=True), 1e-12)"}),
    Mistake("what stays and what goes are exchanged", "The arrays are True for what stays.",
        {"kept_P *": "~kept_P *", "kept_Y *": "~kept_Y *"}),
    Mistake("made smaller, not larger", "What stays was multiplied by 1 - p. It must become larger, so that the mean "
        "stays.", {"/ (1 - p)": "* (1 - p)"}),
    Mistake("divided by the share that is dropped", "What stays is divided by the share that stays, 1 - p.",
        {"/ (1 - p)": "/ p"}),
    Mistake("the weights are not dropped", "All weights stayed. The first of the two dropouts is missing.",
        {"dropped = kept_P * P / (1 - p)": "dropped = P"}),
    Mistake("the output is not dropped", "All numbers of the output stayed. The second of the two dropouts is missing.",
        {"kept_Y * Y / (1 - p)": "Y"}),
    Mistake("a softmax of the weights", "P are weights already. A second softmax makes them more alike.",
        {"kept_P * P /": "kept_P * np.exp(P) / np.exp(P).sum(axis=-1, keepdims=True) /"}),
    Mistake("the stream is made larger", "The stream was divided by 1 - p, too. Nothing of it was dropped.",
        {"return X +": "return X / (1 - p) +"}),
)  # fmt: skip
