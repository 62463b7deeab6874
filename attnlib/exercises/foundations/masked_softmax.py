"""A softmax that looks only where it may

write · ★★ · 12 min · 01-foundations/9-softmax-in-finite-precision · after foundations.softmax

Write the softmax over the entries where `mask` is True. Hidden entries get exactly zero, and a query that may
look nowhere gets a row of zeros.

1. Which score has weight zero after the exponential?
2. Hide the scores first, then take the maximum. What is the maximum of a row in which all scores are
   hidden?
3. Put minus infinity at the hidden entries. Where a row's maximum is not finite, subtract 0; where its sum
   is 0, divide by 1.

exp(-inf) is exactly 0, so a hidden key takes no part, whatever its score. Only a row without any visible
key needs care: -inf - (-inf) is nan, and 0 / 0 is nan.
"""

import math

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit import laws
from attnlib.reference import ops


def masked_softmax(S, mask):
    """Softmax over the last axis, among the entries where mask is True; zero elsewhere."""
    S = np.where(mask, S, -math.inf)
    top = S.max(axis=-1, keepdims=True)
    E = np.exp(S - np.where(np.isfinite(top), top, 0))
    total = E.sum(axis=-1, keepdims=True)
    return E / np.where(total > 0, total, 1)


def cases(rng):
    mask = rng.random(size=(2, 3, 5)) < 0.6
    mask[..., 0] = True
    mask[..., 1] = False
    empty = np.array([[True, True, False], [False, False, False], [False, True, True]])
    large = 800 * rng.normal(size=(2, 5))
    far = np.array([[-900.0, -902.0, 5.0, 7.0], [3.0, 1.0, 2.0, 4.0], [1.0, -1.0, 0.0, 2.0]])
    low = np.array([[-3e9, -3e9, -3e9 - 1, 0.0], [3.0, 1.0, 2.0, 4.0], [1.0, -1.0, 0.0, 2.0]])
    two = np.array([True, True, False, False])
    return {
        "two sequences": (rng.normal(size=(2, 3, 5)), mask),
        "a query that may look nowhere": (rng.normal(size=(3, 3)), empty),
        "scores around 800": (large, np.array([True, False, True, True, False])),
        "a hidden score far above": (far, two),
        "visible scores of -3e9": (low, two),
        "float32": (rng.normal(size=(3, 3)).astype(np.float32), empty),
    }


def by_indexing(S, mask):
    P = np.zeros_like(S)
    mask = np.broadcast_to(mask, S.shape)
    for where in np.ndindex(S.shape[:-1]):
        seen = S[where][mask[where]]
        if seen.size:
            E = np.exp(seen - seen.max())
            P[where][mask[where]] = E / E.sum()
    return P


reference = ops.masked_softmax


LAWS = (laws.rows_sum_to_one_or_zero, laws.never_negative)
VARIANTS = (
    by_indexing,
    {"np.where(total > 0, total, 1)": "np.maximum(total, 1)"},
    {"-math.inf": "np.float64(-np.inf)"},
    {"return E": "return np.float64(1) * E"},
)  # fmt: skip
MISTAKES = (
    Mistake("normalised over the queries", "Here each column sums to one; each query (a row) should have weights that "
        "sum to one.", {"axis=-1": "axis=-2"}),
    Mistake("nan on a row with nothing to look at", "A query that may look nowhere has the maximum -inf, and -inf - "
        "(-inf) is nan. It should get zeros.",
        {"np.where(np.isfinite(top), top, 0)": "top"}, {"np.where(total > 0, total, 1)": "total"}),
    Mistake("inverted mask", "True means: may look. Here the True entries were hidden.",
        {"np.where(mask, S, -math.inf)": "np.where(mask, -math.inf, S)"}),
    Mistake("mask after the softmax", "The hidden keys still took their share of the sum, so the rest does not sum to "
        "one. Hide the scores before the exponential.",
        {"S = np.where(mask, S, -math.inf)\n": "\n",
         "return E / np.where(total > 0, total, 1)": "return mask * (E / total)"}),
    Mistake("a hidden key wins over a visible one", "Where visible scores are very low, a hidden key got the weight. "
        "A finite number such as -1e9 is only low; minus infinity is hidden.",
        {"-math.inf": "S.dtype.type(-1e9)"},
        {"-math.inf": "S.dtype.type(-1e4)"},
        {"np.where(mask, S, -math.inf)": "S + S.dtype.type(-1e9) * ~mask"},
        {"np.where(mask, S, -math.inf)": "S - 1e9 * (1 - mask)"}),
    Mistake("the mask is not used", "These are the weights without a mask: every key is read.",
        {"S = np.where(mask, S, -math.inf)\n": "\n"}),
    Mistake("scores multiplied by the mask", "A hidden score became 0, and exp(0) is 1: the hidden keys still get "
        "weight.", {"np.where(mask, S, -math.inf)": "S * mask"}),
    Mistake("maximum over hidden scores", "The maximum was taken over all scores. Where a hidden score is far above, "
        "the visible ones underflow to zero.",
        {"S = np.where(mask, S, -math.inf)\n": "\n",
         "E = np.exp(S - np.where(np.isfinite(top), top, 0))": "E = mask * np.exp(S - top)"}),
    Mistake("no maximum subtracted", "exp(800) is larger than the largest float, so it becomes inf, and inf / inf is "
        "nan.", {"S - np.where(np.isfinite(top), top, 0)": "S"}),
    Mistake("scores changed in place", "Writing into S hides the caller's scores for good. Make a new array.",
        {"S = np.where(mask, S, -math.inf)": "S[~np.broadcast_to(mask, S.shape)] = -math.inf"}),
)  # fmt: skip
