"""A mask over the wrong axis

repair · ★★ · 8 min · 02-self-attention/3-masks

Q is (b, m, d_k), K is (b, n, d_k), and real (b, n) is True for real tokens. No query should attend to padding. This
function runs without an error where m and n agree. Repair both bugs.

1. Change the value of a padded token. Does the output of a real one move?
2. The scores are (b, m, n). Which axis of the scores does the last axis of `real` belong to, and where must its new
   axis go?
3. One bug is the position of the new axis; the other is what a hidden score becomes before the exponential.

Broadcasting never complains when sizes agree by chance. Test masks with b, m and n all different.
"""

import math

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn
from attnlib.exercises.kit.given import softmax


def masked_attention(Q, K, V, real):
    """Attention over the real keys of each sequence."""
    S = Q @ K.swapaxes(-1, -2) / math.sqrt(Q.shape[-1])
    S = np.where(real[:, None, :], S, -math.inf)
    return softmax(S) @ V


def cases(rng):
    Q, K, V = drawn(rng, (2, 3, 4), (2, 3, 4), (2, 3, 2))
    real = np.array([[True, True, False], [True, False, False]])
    return {
        "three tokens": (Q, K, V, real),
        "as many sequences as tokens": (
            *drawn(rng, (3, 3, 2), (3, 3, 2), (3, 3, 4)),
            np.tri(3, 3, dtype=bool),
        ),
        "five keys, two pads": (
            *drawn(rng, (2, 2, 3), (2, 5, 3), (2, 5, 3)),
            np.array([[True] * 3 + [False] * 2] * 2),
        ),
        "scores around 800": (30 * Q, 30 * K, V, real),
        "scores far below zero": (60 * abs(Q) + 1, -60 * abs(K) - 1, V, real),
    }


def by_loop(Q, K, V, real):
    return np.stack(
        [
            softmax(q @ k[seen].T / math.sqrt(q.shape[-1])) @ v[seen]
            for q, k, v, seen in zip(Q, K, V, real, strict=True)
        ]
    )


GIVEN = ("the queries are masked, not the keys", "hidden scores are zero")
VARIANTS = (
    by_loop,
    {"np.where(real[:, None, :], S, -math.inf)": "S + np.log(real.astype(float))[:, None, :]"},
)  # fmt: skip
MISTAKES = (
    Mistake("the queries are masked, not the keys", "The mask hides whole rows. It is the keys of a row that have to "
        "be hidden, the last axis.", {"real[:, None, :]": "real[:, :, None]"}),
    Mistake("hidden scores are zero", "exp(0) is 1: a hidden key with the score 0 is read like any other.",
        {"-math.inf": "0.0"}),
    Mistake("hidden after the softmax", "The hidden keys give nothing, but they still took their share: the other "
        "weights no longer sum to one.",
        {"S = np.where(real[:, None, :], S, -math.inf)\n": "\n",
         "return softmax(S) @ V": "return softmax(S) @ (V * real[:, :, None])"}),
    Mistake("hidden after the softmax, then divided by the sum", "That is right as long as the padding has left "
        "anything over. Where a hidden score is much larger than the others, the real keys have weight 0 by then, and "
        "0 / 0 is nan.",
        {"S = np.where(real[:, None, :], S, -math.inf)\n    return softmax(S) @ V":
             "P = softmax(S) * real[:, None, :]\n    return P / P.sum(axis=-1, keepdims=True) @ V"}),
    Mistake("inverted mask", "The padding is read and the words are hidden.",
        {"np.where(real[:, None, :], S, -math.inf)": "np.where(real[:, None, :], -math.inf, S)"}),
    Mistake("no axis for the queries", "real (b, n) met the scores as (m, n): the sequences of the batch became rows.",
        {"real[:, None, :]": "real[: Q.shape[1]]"}),
    Mistake("the mask is not used", "Padding is read.", {"S = np.where(real[:, None, :], S, -math.inf)\n": "\n"}),
    Mistake("√d_k is missing", "The scores were not divided by √d_k.", {"/ math.sqrt(Q.shape[-1])": ""}),
)  # fmt: skip
