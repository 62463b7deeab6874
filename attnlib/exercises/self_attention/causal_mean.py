"""A mean that does not look ahead

write · ★★ · 10 min · 02-self-attention/3-masks

A programmer subtracts from each token the mean over all tokens of its sequence, X - X.mean(axis=-2, keepdims=True),
before a causal stack. The loss improves, and the texts that the model writes get worse. Write it without the leak: from
each token of X (..., n, d) subtract the mean over the tokens up to it, itself included.

1. Which tokens may the mean at position i contain, and how many are they?
2. A running sum along the tokens, divided by how many it has added up.
3. `np.cumsum` over the axis of the tokens, and the numbers 1 to n in a column.

A test that would have found it: change the last token, and see whether an earlier output moves. Anything that sums,
counts or sorts over the tokens of a causal model has to pass it.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit import laws
from attnlib.exercises.kit.drawing import drawn


def centred(X):
    """Each token minus the mean of the tokens up to it."""
    seen = np.arange(1, X.shape[-2] + 1)[:, None]
    return X - np.cumsum(X, axis=-2) / seen


def cases(rng):
    return {
        "three tokens": drawn(rng, (3, 2)),
        "two sequences": drawn(rng, (2, 4, 3)),
        "all sizes equal": drawn(rng, (3, 3, 3)),
        "one token": drawn(rng, (1, 4)),
    }


def by_a_matrix(X):
    n = X.shape[-2]
    P = np.tri(n) / np.tri(n).sum(axis=1, keepdims=True)
    return X - P @ X


def by_loop(X):
    return np.stack([X[..., i, :] - X[..., : i + 1, :].mean(axis=-2) for i in range(X.shape[-2])], axis=-2)


LAWS = (laws.causal(0),)
VARIANTS = (by_a_matrix, by_loop)
MISTAKES = (
    Mistake("the mean still sees the future", "From each token the mean of all was taken. What is at position i may "
        "know the tokens up to i only.", {"np.cumsum(X, axis=-2) / seen": "X.mean(axis=-2, keepdims=True)"}),
    Mistake("the token itself is missing", "The mean was taken over the tokens before, without the token itself.",
        {"np.cumsum(X, axis=-2) / seen": "(np.cumsum(X, axis=-2) - X) / np.maximum(seen - 1, 1)"}),
    Mistake("not divided", "This takes the running sum away. The mean divides by how many it has added up.",
        {"/ seen": ""}),
    Mistake("divided by n", "The sum up to position i has i terms (counting from one), not n.",
        {"/ seen": "/ X.shape[-2]"}),
    Mistake("the token before alone", "Only the neighbour was taken away, not the mean of the past.",
        lambda X: X - np.concatenate([X[..., :1, :], X[..., :-1, :]], axis=-2)),
    Mistake("counted from zero", "At the first position one token has been seen, not none.",
        {"np.arange(1, X.shape[-2] + 1)": "np.maximum(np.arange(X.shape[-2]), 1)"}),
    Mistake("over the features", "The mean runs over the numbers of each token. That leaks nothing, and it is another "
        "thing: wanted was a mean over tokens.",
        {"np.cumsum(X, axis=-2) / seen": "X.mean(axis=-1, keepdims=True)"}),
    Mistake("from the end", "The sum runs from the last token backwards: each mean holds the future and not the past.",
        {"np.cumsum(X, axis=-2)": "np.cumsum(X[..., ::-1, :], axis=-2)[..., ::-1, :]"}),
    Mistake("the mean, not what is left", "This is the mean itself. It was to be taken from X.",
        {"X - np.cumsum(X, axis=-2) / seen": "np.cumsum(X, axis=-2) / seen"}),
    Mistake("added", "The mean was added to the tokens.", {"X - np.cumsum": "X + np.cumsum"}),
)  # fmt: skip
