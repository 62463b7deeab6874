"""Which vector brings it back?

write · ★★ · 15 min · 03-multi-head/4-a-circuit · after multi-head.gap-pattern

In a text some tokens were replaced, and a later head no longer attends to position `target`. X (n, d) is the residual
stream of the changed text before that head. It contains the sum of `bad` (h, n, d), what each of h earlier heads added
at each position. In the original text they had added `clean` (h, n, d). The later head has the query q (d_k), its keys
are X W_K, and it scores as usual, divided by the root of d_k; every position is visible. Put back one head at one
position at a time: return the weight on `target`, (h, n). `softmax` is there.

1. What is in the stream at position i once head k adds there what it added in the original text?
2. Only one row of the stream changes, so only one score does.
3. The stream is a sum: take `bad[k, i]` away, add `clean[k, i]`, and leave all other positions as they are.

One number for each head and position is a map of where a piece of information lies. Try it on a trained model
before you believe a picture of weights.
"""

import math

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn
from attnlib.exercises.kit.given import softmax


def patched_weight(X, clean, bad, q, W_K, target):
    """(h, n): the later head's weight on `target`, with what one head wrote at one position put back."""
    h, n, _ = clean.shape
    found = np.empty((h, n))
    for k in range(h):
        for i in range(n):
            stream = X.copy()
            stream[i] = stream[i] + clean[k, i] - bad[k, i]
            found[k, i] = softmax(stream @ W_K @ q / math.sqrt(len(q)))[target]
    return found


def one_score_at_a_time(X, clean, bad, q, W_K, target):
    ask = W_K @ q / math.sqrt(len(q))
    change = (clean - bad) @ ask
    S = X @ ask + change[..., None] * np.eye(len(X))
    return softmax(S)[..., target]


def all_at_once(X, clean, bad, q, W_K, target):
    n = len(X)
    streams = X + np.einsum("knd,nm->knmd", clean - bad, np.eye(n))
    return softmax(np.einsum("knmd,de,e->knm", streams, W_K, q) / len(q) ** 0.5)[:, :, target]


def cases(rng):
    def case(h, n, d, d_k, target):
        return *drawn(rng, (n, d), (h, n, d), (h, n, d), d_k, (d, d_k)), target

    return {
        "two heads, three positions": case(2, 3, 4, 2, 1),
        "more heads than positions": case(5, 3, 2, 3, 0),
        "one head": case(1, 4, 3, 2, 3),
        "all sizes equal": case(3, 3, 3, 3, 2),
    }


VARIANTS = (one_score_at_a_time, all_at_once)
MISTAKES = (
    Mistake("the change of the weight", "This is by how much the weight changes. Return the weight itself.",
        {"    return found": "    return found - softmax(X @ W_K @ q / math.sqrt(len(q)))[target]"}),
    Mistake("added on top", "What the head added in the changed text is still in the stream. Replace it.",
        {"- bad[k, i]": ""}),
    Mistake("taken out only", "What the head added in the changed text was subtracted, but `clean` was not added.",
        {"+ clean[k, i] - bad[k, i]": "- bad[k, i]"}),
    Mistake("the wrong way round", "`clean` was subtracted and `bad` added.",
        {"+ clean[k, i] - bad[k, i]": "- clean[k, i] + bad[k, i]"}),
    Mistake("at all positions at once", "One head at *one* position is put back at a time.",
        {"stream[i] = stream[i] + clean[k, i] - bad[k, i]": "stream = stream + clean[k] - bad[k]"}),
    Mistake("all heads at once", "*One* head at one position is put back at a time.",
        {"clean[k, i] - bad[k, i]": "clean[:, i].sum(axis=0) - bad[:, i].sum(axis=0)"}),
    Mistake("√d_k is missing", "The scores were not divided by the root of d_k.", {"/ math.sqrt(len(q))": ""}),
    Mistake("the weight of the position that was patched", "Return the weight on `target`, wherever the vector was put "
        "back.", {"[target]": "[i]"}),
    Mistake("earlier ones stay", "Start from the changed text each time: what was put back before must be removed.",
        {"stream = X.copy()": "stream = X if k == i == 0 else stream"},
        {"stream = X.copy()": "stream = X.copy() if k == i == 0 else stream"}),
)  # fmt: skip
