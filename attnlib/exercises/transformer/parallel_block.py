"""Attention and feed-forward network in parallel

write · ★★ · 10 min · 04-transformer/2-the-block

In some models (GPT-J, PaLM) attention and the feed-forward network of a block read the *same* normed stream, and both
outputs are added to the stream at once. Write such a block with given attention weights: X is (n, d), P (n, n) are the
weights, M (d, d) is the product of the value and output projections, and W_1 (d, h), W_2 (h, d) belong to the
feed-forward network, which has a ReLU and no biases. The norm is layer normalisation without gain and shift, with
`eps` added under the root. Return (n, d).

1. What do attention and the network read, and to what are their outputs added?
2. The norm is computed once. The residual connection starts before it.
3. Three terms: the stream itself, the output of attention for the normed stream, and the output of the feed-forward
   network for the normed stream.

The two no longer wait for each other, so their first matrix products can be one large one, which is faster. The
feed-forward network now reads the output of the attention of the block before.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn, weights


def parallel_block(X, P, M, W_1, W_2, eps):
    """X plus what attention and the feed-forward network say of the same normed X."""
    centred = X - X.mean(axis=-1, keepdims=True)
    N = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + eps)
    A = P @ N @ M
    F = np.maximum(N @ W_1, 0) @ W_2
    return X + A + F


def one_token_at_a_time(X, P, M, W_1, W_2, eps):
    N = np.array([(x - x.mean()) / np.sqrt(x.var() + eps) for x in X])
    Y = []
    for i, x in enumerate(X):
        heard = sum(P[i, j] * N[j] for j in range(len(X)))
        hidden = N[i] @ W_1
        Y.append(x + heard @ M + hidden * (hidden > 0) @ W_2)
    return np.array(Y)


def cases(rng):
    def parts(n, d, h, eps=1e-5):
        return (*drawn(rng, (n, d)), weights(rng, n, n), *drawn(rng, (d, d), (d, h), (h, d)), eps)

    return {
        "three tokens": parts(3, 4, 5),
        "a large eps": parts(2, 3, 7, eps=0.5),
        "all sizes equal": parts(3, 3, 3),
    }


VARIANTS = (one_token_at_a_time, {"return X + A + F": "return F + (A + X)"})
MISTAKES = (
    Mistake("one after another", "The feed-forward network read the stream after attention. Both read the same "
        "normed stream.",
        {"F =":
             "Z = X + A; Z = Z - Z.mean(axis=-1, keepdims=True); N = Z / np.sqrt((Z**2).mean(axis=-1, keepdims=True) "
             "+ eps); F ="}),
    Mistake("the normed vectors in the sum", "The outputs were added to the normed vectors. Add them to the stream "
        "itself.",
        {"return X +": "return N +"}),
    Mistake("the residual after the norm", "The sum was normed. In this block nothing is applied to the residual "
        "stream.",
        {"return X + A + F":
             "Y = X + A + F; Y = Y - Y.mean(axis=-1, keepdims=True); return Y / np.sqrt((Y**2).mean(axis=-1, "
             "keepdims=True) + eps)"}),
    Mistake("no residual connection", "The input is not in the sum.", {"return X + A + F": "return A + F"}),
    Mistake("attention reads the stream itself", "Attention reads through the norm, too.", {"P @ N @ M": "P @ X @ M"}),
    Mistake("the feed-forward network reads the stream itself", "The feed-forward network reads through the norm, too.",
        {"np.maximum(N @ W_1, 0)": "np.maximum(X @ W_1, 0)"}),
    Mistake("the feed-forward network reads the output of attention", "It reads the normed stream, as attention does.",
        {"np.maximum(N @ W_1, 0)": "np.maximum(A @ W_1, 0)"}),
    Mistake("no ReLU", "Negative numbers inside the feed-forward network must become zero.",
        {"np.maximum(N @ W_1, 0)": "N @ W_1"}),
    Mistake("the ReLU comes last", "The ReLU is between the two matrices, not after them.",
        {"np.maximum(N @ W_1, 0) @ W_2": "np.maximum(N @ W_1 @ W_2, 0)"}),
    Mistake("half of both outputs", "The two outputs were averaged. Add their sum.",
        {"return X + A + F": "return X + (A + F) / 2"}),
    Mistake("a root mean square", "The mean was not taken away: this is an RMS norm.",
        {"centred = X - X.mean(axis=-1, keepdims=True)": "centred = X"}),
    Mistake("the norm of all tokens together", "One mean and one variance for the whole array. Each token's vector "
        "has its own.", {"axis=-1, keepdims=True": ""}),
)  # fmt: skip
