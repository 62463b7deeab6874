"""The score at each distance

write · ★★ · 12 min · 04-transformer/3-where-am-i

Rotary positions rotate the pair of numbers 2i and 2i + 1 of a vector at position t by the angle t · 10000^(-2i/d),
counterclockwise. q (d,) and k (d,) are a query and a key before the rotation. Return (far + 1,): the dot products, not
divided by √d, of the rotated query with the rotated key, if the key is 0, 1, ..., far positions before the query.

1. The score depends on the distance alone. Which positions may you choose for the query and the key?
2. With the key at position 0 it is not rotated, and the position of the query is the distance.
3. Rotate q to the positions 0, 1, ..., far, and take the dot product of each with k.

For every pair this is a cosine of the distance, with an amplitude and a shift of its own: the amplitude is the product
of the lengths of the two pairs, the shift the angle between them. The score is a sum of d/2 such cosines.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def score_by_distance(q, k, far):
    """The score of a rotated query with a rotated key 0, 1, ..., far positions before it; (far + 1,)."""
    d = len(q)
    angles = np.arange(far + 1)[:, None] * 10_000.0 ** (-np.arange(0, d, 2) / d)
    cos, sin = np.cos(angles), np.sin(angles)
    a, b = q[0::2], q[1::2]
    return (a * cos - b * sin) @ k[0::2] + (a * sin + b * cos) @ k[1::2]


def both_turned(q, k, far):
    d = len(q)

    def turned(x, place):
        y = np.empty(d)
        for i in range(0, d, 2):
            angle = place / 10_000 ** (i / d)
            y[i] = x[i] * np.cos(angle) - x[i + 1] * np.sin(angle)
            y[i + 1] = x[i] * np.sin(angle) + x[i + 1] * np.cos(angle)
        return y

    return np.array([turned(q, far) @ turned(k, far - before) for before in range(far + 1)])


def waves(q, k, far):
    d, (a, b), (c, e) = len(q), (q[0::2], q[1::2]), (k[0::2], k[1::2])
    angles = np.outer(np.arange(far + 1), 10_000.0 ** (-2 * np.arange(d // 2) / d))
    return np.cos(angles) @ (a * c + b * e) + np.sin(angles) @ (a * e - b * c)


def cases(rng):
    return {
        "two pairs": (*drawn(rng, 4, 4), 4),
        "one pair": (*drawn(rng, 2, 2), 3),
        "eight pairs, far": (*drawn(rng, 16, 16), 200),
        "all sizes equal": (*drawn(rng, 4, 4), 3),
    }


VARIANTS = (both_turned, waves)
MISTAKES = (
    Mistake("the key after the query", "These are the scores with keys *after* the query. The key comes before it.",
        {"cos, sin = np.cos(angles), np.sin(angles)": "cos, sin = np.cos(angles), -np.sin(angles)"}),
    Mistake("only cosines", "The sines are missing: a key after the query would score like a key before it.",
        {"(a * cos - b * sin) @ k[0::2] + (a * sin + b * cos)": "(a * cos) @ k[0::2] + (b * cos)"}),
    Mistake("the exponent without its 2", "The frequencies fall half as fast as they should: the exponent is 2i/d.",
        {"np.arange(0, d, 2) / d": "np.arange(0, d, 2) / 2 / d"}),
    Mistake("the exponent doubled", "The frequencies fall twice as fast as they should: the exponent is 2i/d.",
        {"np.arange(0, d, 2) / d": "2 * np.arange(0, d, 2) / d"}),
    Mistake("halves are the pairs", "Number i was paired with i + d/2. Here the pairs are neighbours.",
        {"a, b = q[0::2], q[1::2]": "a, b = q[: d // 2], q[d // 2 :]",
         "@ k[0::2]": "@ k[: d // 2]",
         "@ k[1::2]": "@ k[d // 2 :]"}),
    Mistake("the first distance is 1", "The first score is that of a key at the query's own position.",
        {"np.arange(far + 1)[:, None]": "np.arange(1, far + 2)[:, None]"}),
    Mistake("scaled", "The scores were divided by the root of d. Return them undivided.",
        {"return (a * cos - b * sin) @ k[0::2] + (a * sin + b * cos) @ k[1::2]":
             "return ((a * cos - b * sin) @ k[0::2] + (a * sin + b * cos) @ k[1::2]) / np.sqrt(d)"}),
    Mistake("both at the same position", "Query and key were rotated to the same position, so their distance is 0.",
        {"return (a * cos - b * sin) @ k[0::2] + (a * sin + b * cos) @ k[1::2]": "return 0 * angles[:, 0] + q @ k"}),
    Mistake("twice the distance", "Query and key were rotated in opposite directions, so the distance counts twice.",
        {"np.arange(far + 1)[:, None]": "2 * np.arange(far + 1)[:, None]"}),
)  # fmt: skip
