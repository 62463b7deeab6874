"""How far does it look?

write · ★ · 8 min · 02-self-attention/6-patterns-and-entropy

P (..., n, n) are weights of self-attention. Return (..., n): for each query the mean distance |i - j| to
the keys, with the weights P.

1. How far is key j from query i, and how much of the attention goes there?
2. Make a table of the distances, in the same shape as one table of weights.
3. Distances times weights, summed over the keys.

A mean distance hides as much as it shows: half on itself and half far away has the same mean as all in the
middle. That is why the histogram of offsets is looked at too.
"""

import numpy as np

from attnlib.exercises.kit.drawing import weights
from attnlib.exercises.kit.given import softmax


def mean_distance(P):
    """(..., m): how many places away each query looks, on average; P (..., n, n)."""
    places = np.arange(P.shape[-1])
    distance = abs(places - places[:, None])
    return (P * distance).sum(axis=-1)


def by_loops(P):
    result = np.zeros(P.shape[:-1])
    for where in np.ndindex(result.shape):
        result[where] = sum(p * abs(where[-1] - j) for j, p in enumerate(P[where]))
    return result


def cases(rng):
    causal = softmax(np.where(np.tri(4, 4, dtype=bool), rng.normal(size=(4, 4)), -np.inf))
    return {
        "three tokens": (weights(rng, 3, 3, sharp=1.5),),
        "two heads": (weights(rng, 2, 4, 4, sharp=1.5),),
        "causal": (causal,),
        "always the token before": (np.eye(5)[np.maximum(np.arange(5) - 1, 0)],),
    }


VARIANTS = """
    by_loops
    abs(places - places[:, None]) => np.abs(np.subtract.outer(places, places))
"""
MISTAKES = """
signed offsets | Left and right cancelled. A distance has no sign.
    abs(places - places[:, None]) => places - places[:, None]
summed over the queries | This is how far away a key is looked at from. Asked for was how far a query looks.
    axis=-1 => axis=-2
squared distances | These are mean squares; the mean of the distance itself was asked for.
    abs(places - places[:, None]) => (places - places[:, None]) ** 2
a root of mean squares | Far keys count too much: the mean of the distance itself was asked for, without
  square and root.
    (P * distance).sum(axis=-1) => np.sqrt((P * distance**2).sum(axis=-1))
divided by n | The weights already sum to one: their sum needs no division.
    .sum( => .mean(
the distance of the largest weight | This is how far away the favourite key is. All keys count, by their
  weights.
    (P * distance).sum(axis=-1) => abs(P.argmax(axis=-1) - places) * 1.0
the distance of the mean position | The positions were averaged before the distance was taken, so left and
  right cancelled.
    (P * distance).sum(axis=-1) => abs(P @ places - places)
the mean position of the keys | This is where the query looks, not how far away from itself.
    abs(places - places[:, None]) => places
"""
