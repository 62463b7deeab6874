"""From weights back to scores

write · ★★ · 12 min · 02-self-attention/5-gradients-by-hand · after foundations.softmax-jacobian

P (..., m, n) are the weights, dP the gradient of a loss by them. Return the gradient by the scores, without
building a Jacobian.

1. One score moves all weights of its row. How much does weight k answer to score j?
2. Write the sum over k with the two kinds of derivatives, and collect the terms that belong to j.
3. Each entry of dP, minus the P-weighted sum of its row of dP, times P.

The P-weighted mean of dP is the baseline: scores whose weight is worth more than the mean rise. In each row
the result sums to zero, and where P is 0 or 1 it is zero: nothing is learned there.
"""

import numpy as np

from attnlib.exercises.kit.given import softmax
from attnlib.reference import ops


def scores_gradient(dP, P):
    """The gradient by the scores, from the gradient dP by the weights P; the last axis counts keys."""
    inner = (P * dP).sum(axis=-1, keepdims=True)
    return P * (dP - inner)


def cases(rng):
    def case(*size, sharp: float = 1.0):
        return rng.normal(size=size), softmax(sharp * rng.normal(size=size))

    saturated = softmax(np.array([[60.0, 0.0, -3.0, 0.0], [1.0, 0.0, 2.0, -1.0]]))
    hidden = softmax(np.where(np.tri(3, 3, dtype=bool), rng.normal(size=(3, 3)), -np.inf))
    return {
        "two queries, three keys": case(2, 3),
        "a batch of two": case(2, 3, 5),
        "as many queries as keys": case(4, 4),
        "a weight of nearly one": (rng.normal(size=(2, 4)), saturated),
        "hidden keys": (rng.normal(size=(3, 3)), hidden),
    }


def score_by_jacobian(dP, P):
    J = P[..., :, None] * (np.eye(P.shape[-1]) - P[..., None, :])
    return (J @ dP[..., None])[..., 0]


reference = ops.masked_softmax_backward


VARIANTS = """
    score_by_jacobian
    return P * (dP - inner) => return P * dP - P * inner
"""
MISTAKES = """
the sum term is missing | The row keeps its sum of one, so raising one weight lowers the others: that is the
  term with the sum.
    - inner =>
only the diagonal of the Jacobian | P (1 - P) is how a weight answers its own score. It also answers the
  others.
    (dP - inner) => dP * (1 - P)
the plain mean, not the weighted one | What is subtracted is the mean of dP with the weights P.
    (P * dP).sum(axis=-1, keepdims=True) => dP.mean(axis=-1, keepdims=True)
summed over the queries | The sum runs over the keys of one query, the last axis.
    axis=-1 => axis=-2
one sum for all queries | Each query has a sum of its own, over its keys. Here all rows went into one
  number.
    (P * dP).sum(axis=-1, keepdims=True) => (P * dP).sum()
the sign of the sum is wrong | The off-diagonal entries of the Jacobian are negative.
    dP - inner => dP + inner
the sum has no weights | What is subtracted is the sum of dP weighted with P. Here all entries of the row
  counted fully.
    (P * dP).sum => dP.sum
P multiplies the first term alone | The sum that is subtracted counts as much as the weight it belongs to: P
  multiplies both terms.
    P * (dP - inner) => P * dP - inner
a mean where a sum belongs | The products P dP were averaged. The weights already sum to one: the products
  are added up.
    (P * dP).sum => (P * dP).mean
P is missing in front | The whole bracket is multiplied by the weight.
    return P * (dP - inner) => return dP - inner
the index of the printed formula | This is the Jacobian with one index wrong, -a_ik a_il in place of -a_ij
  a_il.
    (dP - inner) => (dP - P * dP.sum(axis=-1, keepdims=True))
"""
