r"""A number for each distance

write · ★★ · 12 min · 02-self-attention/5-gradients-by-hand

A head adds to every score a learned number that depends only on the offset of the key from the query,
$S_{ij} = \dots + b_{j - i}$. From the weights P (n, n) and the gradient dP of a loss with respect to them return the
gradient with respect to b, of 2n - 1 numbers, for j - i = -(n - 1), ..., n - 1.

1. In how many scores is one number of b used, and where in the table are they?
2. First go back through the softmax, row by row. Then add up along each diagonal.
3. dS is P times (dP less its mean with the weights P, row by row); for each offset the trace of that diagonal of dS.

Every parameter that is used many times gets a sum over them. Because each row of dS sums to zero, the numbers of
this gradient do, too: a constant added to all of b changes nothing.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn, weights


def bias_gradient(P, dP):
    """(2n - 1): the gradient with respect to a number for each offset key - query."""
    n = len(P)
    dS = P * (dP - (P * dP).sum(axis=1, keepdims=True))
    return np.array([np.trace(dS, offset=o) for o in range(1 - n, n)])


def cases(rng):
    return {
        "two words": (weights(rng, 2, 2), *drawn(rng, (2, 2))),
        "three words": (weights(rng, 3, 3), *drawn(rng, (3, 3))),
        "five words, sharp": (weights(rng, 5, 5, sharp=2.0), *drawn(rng, (5, 5))),
    }


def by_index(P, dP):
    n = len(P)
    db = np.zeros(2 * n - 1)
    for i in range(n):
        average = P[i] @ dP[i]
        for j in range(n):
            db[j - i + n - 1] += P[i, j] * (dP[i, j] - average)
    return db


VARIANTS = (by_index, {"np.trace(dS, offset=o)": "np.diagonal(dS, o).sum()"})
MISTAKES = (
    Mistake("the softmax was left out", "These are sums of dP. Between the weights and the numbers stands the softmax.",
        {"dS = P * (dP - (P * dP).sum(axis=1, keepdims=True))": "dS = dP"}),
    Mistake("the softmax as if it were entry by entry", "A weight also answers to the other scores of its row: the "
        "row's average has to be taken away.", {"dS = P * (dP - (P * dP).sum(axis=1, keepdims=True))": "dS = P * dP"}),
    Mistake("the plain mean", "What the softmax subtracts is the mean of dP with the weights P.",
        {"(P * dP).sum(axis=1, keepdims=True)": "dP.mean(axis=1, keepdims=True)"}),
    Mistake("divided by n", "A sum over all scores in which the number stands needs no division.",
        {"for o in range(1 - n, n)])": "for o in range(1 - n, n)]) / n"}),
    Mistake("distances, not offsets", "Left and right were put together.",
        {"np.trace(dS, offset=o)": "np.trace(dS, offset=o) + (o != 0) * np.trace(dS, offset=-o)"}),
)  # fmt: skip
