"""What a head hears at which distance

write · ★★ · 12 min · 04-transformer/3-where-am-i

q (d,) and k (d,) are a query and a key before they are turned; neighbours make pairs, the base is 10,000. Return
(far + 1,): the scores, not scaled, of the query with such a key that stands 0, 1, ..., far places before it.

1. The score depends on the distance alone. So where may you put the query, and where the key?
2. With the key at place 0 nothing of it is turned, and the query stands at the place that is the distance.
3. Turn q by 0, 1, ..., far places, and take the product of each with k.

For every pair this is a cosine of the distance, with an amplitude and a shift of its own: how much of the two vectors
lies in the pair, and by how much one is ahead of the other. A head has d/2 of them to build its curve from.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def score_by_distance(q, k, far):
    """The score of a turned query with a turned key 0, 1, ..., far places before it; (far + 1,)."""
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
        "two hands": (*drawn(rng, 4, 4), 4),
        "one hand": (*drawn(rng, 2, 2), 3),
        "eight hands, far": (*drawn(rng, 16, 16), 200),
        "all sizes equal": (*drawn(rng, 4, 4), 3),
    }


VARIANTS = (both_turned, waves)
MISTAKES = (
    Mistake("the key ahead", "These are the scores with keys *after* the query. The key stands before it.",
        {"cos, sin = np.cos(angles), np.sin(angles)": "cos, sin = np.cos(angles), -np.sin(angles)"}),
    Mistake("only cosines", "The sines are missing: a key ahead would score like a key before.",
        {"(a * cos - b * sin) @ k[0::2] + (a * sin + b * cos)": "(a * cos) @ k[0::2] + (b * cos)"}),
    Mistake("the exponent without its 2", "The hands slow down half as fast as they should: the exponent is 2i/d.",
        {"np.arange(0, d, 2) / d": "np.arange(0, d, 2) / 2 / d"}),
    Mistake("the exponent doubled", "The hands slow down twice as fast as they should: the exponent is 2i/d.",
        {"np.arange(0, d, 2) / d": "2 * np.arange(0, d, 2) / d"}),
    Mistake("halves are the pairs", "Number i was paired with i + d/2. Here neighbours make pairs.",
        {"a, b = q[0::2], q[1::2]": "a, b = q[: d // 2], q[d // 2 :]",
         "@ k[0::2]": "@ k[: d // 2]",
         "@ k[1::2]": "@ k[d // 2 :]"}),
    Mistake("the first distance is 1", "The first score is that of a key at the query's own place.",
        {"np.arange(far + 1)[:, None]": "np.arange(1, far + 2)[:, None]"}),
    Mistake("scaled", "The scores were divided by the root of d. They are wanted as they are.",
        {"return (a * cos - b * sin) @ k[0::2] + (a * sin + b * cos) @ k[1::2]":
             "return ((a * cos - b * sin) @ k[0::2] + (a * sin + b * cos) @ k[1::2]) / np.sqrt(d)"}),
    Mistake("both turned alike", "Query and key were turned to the same place, so no distance is left.",
        {"return (a * cos - b * sin) @ k[0::2] + (a * sin + b * cos) @ k[1::2]": "return 0 * angles[:, 0] + q @ k"}),
    Mistake("twice the distance", "Query and key were turned away from each other, so that the distance counts twice.",
        {"np.arange(far + 1)[:, None]": "2 * np.arange(far + 1)[:, None]"}),
)  # fmt: skip
