"""A convolution made of heads

write · ★★ · 15 min · 03-multi-head/6-rank-and-subspaces

kernel (k, d, d_out) has one matrix for each offset: y_i is the sum over o = 0, ..., k - 1 of x_(i - o)
times kernel[o], and what lies before the first token counts as zero. Compute it with one table of weights
for each offset, a head that always looks o positions back. Return (n, d_out).

1. Which table of weights, n by n, looks exactly one position back?
2. It has ones on one diagonal below the main one. What is in its first row, and what does that give?
3. For each offset: that table times X, times the matrix of the offset; add them up.

Each head brings one neighbour, and its rows of the output projection map it. One head would have to mix all neighbours
before any matrix could map them differently. A softmax reaches such tables only in the limit of large scores, and an
empty row needs the rule that it gives zeros.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def convolution_by_heads(X, kernel):
    """A causal convolution as heads of fixed attention: head k looks k positions back; kernel (k, d, d_out)."""
    n = len(X)
    Y = np.zeros((n, kernel.shape[2]))
    for offset, W in enumerate(kernel):
        P = np.eye(n, k=-offset)
        Y += P @ X @ W
    return Y


def convolution_by_slices(X, kernel):
    size, _, d_out = kernel.shape
    padded = np.concatenate([np.zeros((size - 1, X.shape[1])), X])
    Y = np.zeros((len(X), d_out))
    for i in range(len(X)):
        window = padded[i : i + size][::-1]
        Y[i] = np.einsum("kd,kdo->o", window, kernel)
    return Y


def cases(rng):
    return {
        "five tokens, three offsets": drawn(rng, (5, 2), (3, 2, 4)),
        "one offset": drawn(rng, (4, 3), (1, 3, 2)),
        "more offsets than tokens": drawn(rng, (3, 2), (5, 2, 2)),
        "all sizes equal": drawn(rng, (3, 3), (3, 3, 3)),
    }


VARIANTS = (
    convolution_by_slices,
    {"P = np.eye(n, k=-offset)\n": "P = np.tri(n, n, -offset) - np.tri(n, n, -offset - 1)\n"},
)  # fmt: skip
MISTAKES = (
    Mistake("only the last offset is left", "The parts of the heads add up; each one overwrote the one before.",
        {"Y += P": "Y = P"}),
    Mistake("the heads look ahead", "The ones stand above the diagonal: each head reads the future.",
        {"k=-offset": "k=offset"}),
    Mistake("the sequence was closed to a ring", "The first tokens read the last ones. What lies before the first "
        "token counts as zero.", {"np.eye(n, k=-offset)": "np.roll(np.eye(n), offset, axis=0)"}),
    Mistake("the first token stands in", "What lies before the first token was taken from the first token. It counts "
        "as zero.", {"np.eye(n, k=-offset)": "np.eye(n)[np.maximum(np.arange(n) - offset, 0)]"}),
    Mistake("a window around the token", "The window was centred: half of the heads look ahead. Head o looks o "
        "positions back.",
        {"k=-offset": "k=offset - len(kernel) // 2"}, {"k=-offset": "k=len(kernel) // 2 - offset"}),
    Mistake("rows without a neighbour look everywhere", "Where nothing stands o positions back a softmax still spreads "
        "its weight. Such a row must be zero.",
        {"P = np.eye(n, k=-offset)": "P = np.eye(n, k=-offset) + (np.arange(n) < offset)[:, None] / n"}),
    Mistake("one matrix for all offsets", "Each offset has its own matrix.", {"P @ X @ W": "P @ X @ kernel[0]"}),
    Mistake("off by one", "Offset 0 is the token itself; here the nearest is one position back.",
        {"k=-offset": "k=-offset - 1"}),
    Mistake("one head with the mean of the tables", "All neighbours were mixed first, and then multiplied: one head "
        "cannot treat them differently.", {"Y += P @ X @ W": "Y += P @ X @ kernel.mean(axis=0)"}),
)  # fmt: skip
