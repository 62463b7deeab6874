"""A residual stream that is cut

repair · ★★ · 8 min · 04-transformer/2-the-block

This is meant to be a pre-norm block: X (n, d) passes attention with the given weights P (n, n) and the matrix M (d,
d), then a feed-forward network W_1 (d, h), W_2 (h, d). Each reads through a norm without gain, and around each there
is a residual connection. It trains badly, and worse with more blocks. Two lines are wrong; repair both.

1. Follow X alone from the top of the function to its end: is there a path on which nothing changes it?
2. In a pre-norm block attention and the network read the norm, but nothing is added to it.
3. One line adds to the normed vectors instead of the stream; another leaves the output of attention out of the last
   sum.

With both faults a block still has the right shapes, and nearly the right inputs. What is lost is the residual stream
that runs through all blocks. A test: with M and W_2 zero the block must be the identity.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn, weights


def block(X, P, M, W_1, W_2):
    """A pre-norm block with given weights of attention."""

    def norm(X):
        centred = X - X.mean(axis=-1, keepdims=True)
        return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)

    N = norm(X)
    Z = X + P @ N @ M
    H = np.maximum(norm(Z) @ W_1, 0)
    return Z + H @ W_2


def token_by_token(X, P, M, W_1, W_2):
    N = np.array([(x - x.mean()) / np.sqrt(x.var() + 1e-5) for x in X])
    Y = []
    for i, x in enumerate(X):
        z = x + sum(P[i, j] * N[j] for j in range(len(X))) @ M
        hidden = (z - z.mean()) / np.sqrt(z.var() + 1e-5) @ W_1
        Y.append(z + np.where(hidden > 0, hidden, 0) @ W_2)
    return np.array(Y)


def cases(rng):
    def parts(n, d, h):
        return (3 * rng.normal(size=(n, d)), weights(rng, n, n), *drawn(rng, (d, d), (d, h), (h, d)))

    X, P, M, W_1, W_2 = parts(4, 3, 5)
    return {
        "three tokens": parts(3, 4, 5),
        "attention adds zero": (X, P, 0 * M, W_1, W_2),
        "both add zero": (X, P, 0 * M, W_1, 0 * W_2),
        "all sizes equal": parts(3, 3, 3),
    }


GIVEN = ("attention adds to the normed vectors", "the output of attention is left out")
VARIANTS = (token_by_token, {"return Z + H @ W_2": "return X + P @ N @ M + H @ W_2"})
MISTAKES = (
    Mistake("attention adds to the normed vectors", "The first sum starts from the normed vectors: the stream itself "
        "is lost.", {"Z = X + P": "Z = N + P"}),
    Mistake("the output of attention is left out",
        "The last sum starts from the input of the block: the output of attention reaches the feed-forward network and "
        "goes no further.", {"return Z +": "return X +"}),
    Mistake("no residual connection around the network", "The last line must add to the stream, not replace it.",
        {"return Z + H": "return H"}),
    Mistake("the last sum starts from the normed stream", "The network reads the norm, but its output is added to the "
        "stream itself.", {"return Z + H": "return norm(Z) + H"}),
    Mistake("no ReLU", "Negative numbers inside the feed-forward network must become zero.",
        {"np.maximum(norm(Z) @ W_1, 0)": "norm(Z) @ W_1"}),
    Mistake("no residual connection around attention",
        "Attention must add to the stream, not replace it.", {"Z = X + P": "Z = P"}),
    Mistake("the norms after the sums", "That is post-norm: each norm changes the residual stream itself.",
        {"N = norm(X)": "N = X",
         "Z = X + P @ N @ M": "Z = norm(X + P @ N @ M)",
         "norm(Z) @": "Z @",
         "return Z + H @ W_2": "return norm(Z + H @ W_2)"}),
    Mistake("one norm at the end", "The norms come before attention and before the network, not after the block.",
        {"return Z + H @ W_2": "return norm(Z + H @ W_2)"}),
    Mistake("the feed-forward network reads the stream itself", "It reads through a norm, as attention does.",
        {"norm(Z) @ W_1": "Z @ W_1"}),
    Mistake("the feed-forward network reads the input of the block", "It reads the stream as attention has left it.",
        {"norm(Z) @ W_1": "N @ W_1"}),
    Mistake("attention reads the stream itself", "It reads through a norm.", {"P @ N @ M": "P @ X @ M"}),
)  # fmt: skip
