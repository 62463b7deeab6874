"""Choosing the next token: filters of scores, and sampling.

Chapter 4 compares them. The twin is `attnlib.nn.sampling`. A filter sets scores to -inf, so that their
probability is zero, and leaves the others as they are; filters can be applied one after the other.
"""

import numpy as np

from attnlib.reference.ops import softmax
from attnlib.shapes import Array, Float, Int, Number, checked


@checked
def keep_top_k(S: Float[Array, "*b vocab"], k: Number[int, "1.."]) -> Float[Array, "*b vocab"]:
    """Keep the k highest scores and those equal to the k-th; the others become -inf.

    >>> keep_top_k(np.array([1.0, 3.0, 2.0]), k=2)
    array([-inf,   3.,   2.])
    """
    k = min(k, S.shape[-1])
    border = np.partition(S, -k, axis=-1)[..., -k : -k + 1 or None]
    return np.where(border <= S, S, -np.inf).astype(S.dtype)


@checked
def keep_nucleus(S: Float[Array, "*b vocab"], p: Number[float, "0<..1"]) -> Float[Array, "*b vocab"]:
    """Keep the fewest tokens that together have probability p or more; the others become -inf.

    >>> keep_nucleus(np.log(np.array([0.5, 0.3, 0.2])), p=0.6).round(3)
    array([-0.693, -1.204,   -inf])
    """
    order = np.argsort(-S, axis=-1, kind="stable")
    P = np.take_along_axis(softmax(S), order, axis=-1)
    before = np.cumsum(P, axis=-1) - P  # the probability of all likelier tokens together
    kept = np.empty_like(S)
    np.put_along_axis(
        kept, order, np.where(before < p, np.take_along_axis(S, order, axis=-1), -np.inf), axis=-1
    )
    return kept


@checked
def keep_min_p(S: Float[Array, "*b vocab"], p: Number[float, "0..1"]) -> Float[Array, "*b vocab"]:
    """Keep tokens at least p times as probable as the likeliest one; the others become -inf.

    >>> keep_min_p(np.log(np.array([0.5, 0.3, 0.2])), p=0.5).round(3)
    array([-0.693, -1.204,   -inf])
    """
    kept = np.exp(S - S.max(axis=-1, keepdims=True)) >= p
    return np.where(kept, S, -np.inf).astype(S.dtype)


@checked
def sample(S: Float[Array, "*b vocab"], u: Float[Array, "*b"]) -> Int[Array, "*b"]:
    """A token for each row, from uniform random numbers u: the first at which the cumulative probability exceeds u.

    >>> sample(np.log(np.array([[0.5, 0.3, 0.2], [0.5, 0.3, 0.2]])), np.array([0.4, 0.9]))
    array([0, 2])
    """
    below = np.cumsum(softmax(S), axis=-1) <= u[..., None]
    return np.minimum(below.sum(axis=-1), np.where(-np.inf < S, np.arange(S.shape[-1]), 0).max(axis=-1))
