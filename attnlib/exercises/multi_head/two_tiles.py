"""Half of the keys at a time

write · ★★★ · 25 min · 03-multi-head/3-memory · after foundations.log-sum-exp, foundations.attention-loops

Memory holds only a part of the keys at once. Compute the attention of the query q (d_k) over the first
`cut` keys and over the rest apart, each with its own maximum, and join the two exactly. K is (n, d_k), V
(n, d_v), 0 < cut < n.

1. What must you keep of a part so that it can still be joined with another?
2. The largest score, the sum of the exponentials relative to it, and the values summed with those.
3. Before joining, bring both parts to the larger of the two maxima: multiply a part's sum and values by the
   exponential of its own maximum minus the larger.

Nothing is approximated. With many parts this is the tiling behind fast attention: memory grows with the
size of a tile, not with n².
"""

import math

import numpy as np

from attnlib.exercises.kit.drawing import drawn
from attnlib.exercises.kit.given import softmax


def in_two_parts(q, K, V, cut):
    """Attention of one query, the first `cut` keys and the others apart, joined exactly."""
    parts = []
    for keys, values in ((K[:cut], V[:cut]), (K[cut:], V[cut:])):
        s = keys @ q / math.sqrt(len(q))
        top = s.max()
        e = np.exp(s - top)
        parts.append((top, e.sum(), e @ values))
    (a, total_a, O_a), (b, total_b, O_b) = parts
    top = max(a, b)
    left, right = math.exp(a - top), math.exp(b - top)
    return (left * O_a + right * O_b) / (left * total_a + right * total_b)


def reference(q, K, V, cut):
    return softmax(K @ q / math.sqrt(len(q))) @ V


def cases(rng):
    far = np.array([[0.0, 1.0], [0.1, 0.0], [30.0, 1.0], [30.0, 1.1]])
    return {
        "four keys": (*drawn(rng, (2,), (4, 2), (4, 3)), 2),
        "uneven parts": (*drawn(rng, (3,), (5, 3), (5, 2)), 1),
        "scores far apart": (
            np.array([1.0, 2.0]),
            np.array([[9.0, 1.0], [8.0, 1.5], [-3.0, 0.0], [2.0, 2.0]]),
            *drawn(rng, (4, 2)),
            2,
        ),
        "scores of 0 and 1600 in one part": (
            np.array([40.0, 0.0]),
            np.array([[0.0, 0.0], [56.0, 0.0], [28.0, 1.0], [56.1, 0.0]]),
            *drawn(rng, (4, 2)),
            2,
        ),
        "scores around 900": (
            np.array([40.0, 10.0]),
            np.array([[30.0, 1.0], [30.0, 1.1], [30.1, 0.0]]),
            *drawn(rng, (3, 3)),
            2,
        ),
        "the second part far above": (np.array([40.0, 10.0]), far, *drawn(rng, (4, 3)), 2),
        "the first part far above": (np.array([40.0, 10.0]), far[::-1], *drawn(rng, (4, 3)), 2),
    }


VARIANTS = """
    reference
    left, right = math.exp(a - top), math.exp(b - top) => left, right = np.exp(np.array([a, b]) - top)
"""
MISTAKES = """
a plain mean of the parts | Each part was normalised on its own and both got the same say. The part with the
  larger exponentials counts for more.
    (left * O_a + right * O_b) / (left * total_a + right * total_b) => (O_a / total_a + O_b / total_b) / 2
the parts were added up | Each part is an average already. Two of them added have weights that sum to two.
    (left * O_a + right * O_b) / (left * total_a + right * total_b) => O_a / total_a + O_b / total_b
joined by the number of keys | A part counts by the sum of its exponentials, not by how many keys it has.
    return (left * O_a + right * O_b) / (left * total_a + right * total_b)
        => return (cut * O_a / total_a + (len(K) - cut) * O_b / total_b) / len(K)
the sums were not rescaled | The values were brought to the common maximum, the sums below were not.
    (left * total_a + right * total_b) => (total_a + total_b)
the values were not rescaled | The sums were brought to the common maximum, the values were not.
    (left * O_a + right * O_b) => (O_a + O_b)
√d_k is missing | The scores were not divided by √d_k.
    / math.sqrt(len(q)) =>
the factors are the wrong way round | The part with the lower maximum was made to count for more. Its factor
  should be the one below 1.
    left, right = math => right, left = math
    math.exp(a - top), math.exp(b - top) => math.exp(top - a), math.exp(top - b)
    math.exp(a - top), math.exp(b - top) => np.exp(top - a), np.exp(top - b)
"""
