"""Read the stream early

write · ★★ · 10 min · 04-transformer/15-inside-a-gpt

X (k, d) is the residual stream of one position before the first block and after each block. A last layer norm with
gain (d,) and no shift (its eps is so small that you may leave it out) and the table E (vocab, d) turn the stream
into scores. Return the probability of the token `right` if the model were read after each block, an array of k
numbers.

1. Which two steps follow the last block of the model?
2. The norm, then the product with each token's row; then a softmax over the vocabulary.
3. The norm is over the d numbers of one row of X, the softmax over the scores of that row.

The lens assumes that the stream is written in the same language after every block. Where it says nothing, the
answer may be there in another one, which a trained map could read.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def read_early(X, gain, E, right):
    """The probability of a token, read after each block; X (k, d) gives (k,)."""
    centred = X - X.mean(axis=-1, keepdims=True)
    normed = centred / centred.std(axis=-1, keepdims=True) * gain
    S = normed @ E.T
    P = np.exp(S - S.max(axis=-1, keepdims=True))
    return P[:, right] / P.sum(axis=-1)


def by_loop(X, gain, E, right):
    found = []
    for x in X:
        z = gain * (x - x.mean()) / np.sqrt(((x - x.mean()) ** 2).mean())
        s = E @ z
        found.append(1 / np.exp(s - s[right]).sum())
    return np.array(found)


def in_logarithms(X, gain, E, right):
    Z = (X - X.mean(-1, keepdims=True)) / X.std(-1, keepdims=True)
    S = np.einsum("kd,d,vd->kv", Z, gain, E)
    return np.exp(S[:, right] - np.logaddexp.reduce(S, axis=-1))


def cases(rng):
    def parts(k, d, vocab, right):
        X, gain, E = drawn(rng, (k, d), d, (vocab, d))
        return X, gain, E, right

    return {
        "three blocks, four tokens": parts(4, 5, 4, 2),
        "one row": parts(1, 3, 5, 0),
        "the last token": parts(2, 7, 6, 5),
        "all sizes equal": parts(3, 3, 3, 1),
    }


VARIANTS = (by_loop, in_logarithms)
MISTAKES = (
    Mistake("no norm", "The norm before the table is missing.", {"normed @ E.T": "X @ E.T"}),
    Mistake("the gain is missing", "The norm multiplies by its gain before the table is read.", {" * gain": ""}),
    Mistake("no softmax", "These are scores. A softmax over the vocabulary makes probabilities of them.",
        lambda X, gain, E, right: ((X - X.mean(-1, keepdims=True)) / X.std(-1, keepdims=True) * gain @ E.T)[:, right]),
    Mistake("a norm over the blocks", "Mean and standard deviation belong to the d numbers of one row.",
        {"X.mean(axis=-1": "X.mean(axis=0", "centred.std(axis=-1": "centred.std(axis=0"}),
    Mistake("what each block added", "That reads what each block added. The lens reads the sum so far.",
        lambda X, gain, E, right: read_early(np.diff(X, axis=0, prepend=0), gain, E, right)),
)  # fmt: skip
