"""To where, seen from here?

write · ★★ · 12 min · 02-self-attention/6-patterns-and-entropy · after self-attention.mean-distance

P (n, n) are weights. Return 2n - 1 numbers: the share of all attention that goes to offset key - query =
-(n - 1), ..., n - 1. They sum to one.

1. Where in the table are the entries whose key is one place before the query?
2. An offset is a diagonal of the table: add up each of them.
3. For each offset from 1 - n to n - 1 the trace of that diagonal; then divide by the sum of all weights,
   which is the number of queries.

A positional head has one tall bar, whatever the words are. Far offsets have fewer places where they can
occur, so even uniform attention gives a tent, not a plain: compare with that.
"""

import numpy as np

from attnlib.exercises.kit.drawing import weights
from attnlib.exercises.kit.given import softmax


def offset_histogram(P):
    """(2n - 1): the mean weight on each offset key - query, from -(n - 1) to n - 1; sums to one."""
    n = len(P)
    return np.array([np.trace(P, offset=o) for o in range(1 - n, n)]) / n


def offsets_by_index(P):
    n = len(P)
    offset = np.arange(n) - np.arange(n)[:, None]
    return np.bincount((offset + n - 1).ravel(), weights=P.ravel(), minlength=2 * n - 1) / n


def cases(rng):
    return {
        "three tokens": (weights(rng, 3, 3, sharp=1.5),),
        "five tokens": (weights(rng, 5, 5, sharp=1.5),),
        "always the token before": (np.eye(5)[np.maximum(np.arange(5) - 1, 0)],),
        "causal": (softmax(np.where(np.tri(4, 4, dtype=bool), rng.normal(size=(4, 4)), -np.inf)),),
    }


VARIANTS = """
    offsets_by_index
    np.trace(P, offset=o) => np.diagonal(P, o).sum()
"""
MISTAKES = """
query minus key | The histogram is mirrored: the token before has the offset -1.
    offset=o => offset=-o
not divided by the number of queries | The shares sum to n, not to one.
    ) / n => )
the mean of each diagonal | Each offset was divided by how often it can occur. Asked for was its share of
  all attention.
    np.trace(P, offset=o) => np.diagonal(P, o).mean() ;; ) / n => )
    np.trace(P, offset=o) => np.diagonal(P, o).mean() * 1
divided by the number of offsets | The weights of n queries sum to n.
    ) / n => ) / (2 * n - 1)
distances, not offsets | Left and right were put together.
    np.trace(P, offset=o) => (np.trace(P, offset=o) + np.trace(P, offset=-o)) / 2
negative offsets at the end | The numbers are right and stand at other places: offset o belongs at place o +
  n - 1. (In Python a negative index counts from the end.)
    range(1 - n, n) => [*range(n), *range(1 - n, 0)]
one end is missing | There are 2n - 1 offsets; the far one on the right is missing.
    range(1 - n, n) => range(1 - n, n - 1)
"""
