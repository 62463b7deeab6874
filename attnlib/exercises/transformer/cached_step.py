"""The position of the newest token

repair · ★★ · 8 min · 04-transformer/3-where-am-i

A model with rotary positions generates a text. Its cache holds the rotated keys K (n, d) and the values V (n, d) of
the positions 1, ..., n; this model counts from 1. The new token has q, k and v (d,), none of them rotated, and this
function is meant to return the output of attention for it. All shapes are right, and the generated text is nonsense.
Two things are wrong; repair both.

1. Which position has the new token, if n tokens are before it?
2. Which of the three vectors of a token are rotated?
3. The query and the key are rotated to position n + 1; the value is used as it is.

In generation the model is called with one token at a time. Code that counts positions from the start of its input
gives every new token the first position, and raises no error.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def cached_step(q, k, v, K, V):
    """The output of attention for a new token; K and V hold keys and values of the n tokens before it."""

    def turn(x, place):
        angles = place * 10_000.0 ** (-np.arange(0, len(x), 2) / len(x))
        cos, sin = np.cos(angles), np.sin(angles)
        a, b = x[0::2], x[1::2]
        return np.stack([a * cos - b * sin, a * sin + b * cos], axis=1).ravel()

    place = len(K) + 1
    K = np.vstack([K, turn(k, place)])
    V = np.vstack([V, v])
    s = K @ turn(q, place) / np.sqrt(len(q))
    p = np.exp(s - s.max())
    return p / p.sum() @ V


def by_complex_numbers(q, k, v, K, V):
    n, d = K.shape
    spin = np.exp(1j * (n + 1) * 10_000.0 ** (-np.arange(0, d, 2) / d))
    new, asks = ((x[0::2] + 1j * x[1::2]) * spin for x in (k, q))
    kept = K[:, 0::2] + 1j * K[:, 1::2]
    s = np.append((kept @ asks.conj()).real, (new @ asks.conj()).real) / d**0.5
    e = np.exp(s - s.max())
    return (e[:-1] @ V + e[-1] * v) / e.sum()


def the_keys_turned_back(q, k, v, K, V):
    n, d = K.shape
    R = np.zeros((d, d))
    for i in range(0, d, 2):
        angle = (n + 1) / 10_000 ** (i / d)
        R[i : i + 2, i : i + 2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    s = np.array([x @ q for x in [*(K @ R), k]]) / np.sqrt(d)
    p = np.exp(s) / np.exp(s).sum()
    return sum(share * value for share, value in zip(p, [*V, v], strict=True))


def cases(rng):
    def step(n, d):
        return drawn(rng, d, d, d, (n, d), (n, d))

    return {
        "three tokens before": step(3, 4),
        "one token before": step(1, 2),
        "seven tokens before": step(7, 6),
        "all sizes equal": step(4, 4),
    }


GIVEN = ("the new token at the first position", "its value is rotated")
VARIANTS = (by_complex_numbers, the_keys_turned_back)
MISTAKES = (
    Mistake("the new token at the first position", "The new token was rotated as if it were the first one, so its "
        "distances to all others are wrong.", {"place = len(K) + 1": "place = 1"}),
    Mistake("its value is rotated", "The new value was rotated. Rotary positions change queries and keys, not values.",
        {"np.vstack([V, v])": "np.vstack([V, turn(v, place)])"}),
    Mistake("one position too far",
        "The new token was rotated by one position too many: n tokens are before it, at 1, ..., n.",
        {"place = len(K) + 1": "place = len(K) + 2"}),
    Mistake("at the position of the token before", "The new token was rotated to the position of the token before it.",
        {"place = len(K) + 1": "place = len(K)"}),
    Mistake("the query is not rotated", "The query must be rotated to its position, too.",
        {"K @ turn(q, place)": "K @ q"}),
    Mistake("the key is not rotated", "The new key must be rotated to its position before it is stored.",
        {"np.vstack([K, turn(k, place)])": "np.vstack([K, k])"}),
    Mistake("the cache is rotated again", "The stored keys are rotated already.",
        {"K = np.vstack([K, turn(k, place)])":
             "K = np.vstack([*(turn(x, t + 1) for t, x in enumerate(K)), turn(k, place)])"}),
    Mistake("the new token is forgotten", "The new token sees itself, too: its key and value belong with the others.",
        {"K = np.vstack([K, turn(k, place)])": "pass", "V = np.vstack([V, v])": "pass"}),
    Mistake("not scaled", "The scores are divided by the root of the width.",
        {"K @ turn(q, place) / np.sqrt(len(q))": "K @ turn(q, place)"}),
    Mistake("rotated the other way", "The angles have the wrong sign.",
        {"a * cos - b * sin, a * sin + b * cos": "a * cos + b * sin, b * cos - a * sin"}),
)  # fmt: skip
