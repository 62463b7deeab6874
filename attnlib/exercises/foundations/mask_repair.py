"""A mask that comes too late, and the wrong way round

repair · ★★ · 8 min · 01-foundations/2-the-attention-function · after foundations.attention-loops

This function should average the values V over the keys where `mask` is True, with softmax weights of the
scores S; a query that may attend to no key gets zeros. It has two bugs in how it uses the mask; repair both.

1. Print the weights that meet the values. Which keys are read, and what does each row sum to?
2. One bug is about what True means; the other is about where in the function the mask acts.
3. Hidden scores have to become minus infinity before the maximum is taken, so that they take no part in it.

After the softmax the hidden keys have already taken their share of the sum, so what is left does not sum to
one. The lines around `top` and `total` were right all along: they wait for a row without any key.
"""

import math

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit import laws


def attend(S, V, mask):
    """The average of the values V, with the softmax of the scores S over the keys where mask is True."""
    S = np.where(mask, S, -math.inf)
    top = S.max(axis=-1, keepdims=True)
    E = np.exp(S - np.where(np.isfinite(top), top, 0))
    total = E.sum(axis=-1, keepdims=True)
    P = E / np.where(total > 0, total, 1)
    return P @ V


def reference(S, V, mask):
    from attnlib.reference import attention

    return attention.attend(S, V, mask)[0]


def cases(rng):
    some = np.array([[True, True, False, True], [False, True, True, False], [True, False, False, True]])
    empty = np.array([[True, True, False], [False, False, False], [False, True, True]])
    far = np.array([[-900.0, -902.0, 5.0, 7.0], [3.0, 1.0, 2.0, 4.0], [1.0, -1.0, 0.0, 2.0]])
    low = np.array([[-3e9, -3e9, -3e9 - 1, 0.0], [3.0, 1.0, 2.0, 4.0], [1.0, -1.0, 0.0, 2.0]])
    two = np.array([[True, True, False, False]] * 3)
    return {
        "three queries, four keys": (rng.normal(size=(3, 4)), rng.normal(size=(4, 2)), some),
        "a batch of two": (rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 4, 5)), some),
        "a query that may look nowhere": (rng.normal(size=(3, 3)), rng.normal(size=(3, 2)), empty),
        "a hidden score far above": (far, rng.normal(size=(4, 3)), two),
        "visible scores of -3e9": (low, rng.normal(size=(4, 3)), two),
        "scores of 1 and of 800": (
            rng.normal(size=(3, 4)) + np.array([[0.0], [800.0], [0.0]]),
            rng.normal(size=(4, 3)),
            some,
        ),
        "float32": (
            rng.normal(size=(3, 3)).astype(np.float32),
            rng.normal(size=(3, 2)).astype(np.float32),
            empty,
        ),
    }


def attend_by_indexing(S, V, mask):
    mask = np.broadcast_to(mask, S.shape)
    O = np.zeros((*S.shape[:-1], V.shape[-1]), dtype=V.dtype)
    for where in np.ndindex(S.shape[:-1]):
        seen = mask[where]
        if seen.any():
            E = np.exp(S[where][seen] - S[where][seen].max())
            O[where] = E / E.sum() @ V[where[:-1]][seen]
    return O


GIVEN = ("the mask acts after the softmax", "inverted mask")
LAWS = (laws.separate_batches(0, 1),)
VARIANTS = (
    attend_by_indexing,
    {"np.where(total > 0, total, 1)": "np.maximum(total, 1)"},
    {"-math.inf": "np.float64(-np.inf)"},
    {"return P": "return np.float64(1) * P"},
)  # fmt: skip
MISTAKES = (
    Mistake("normalised over the queries", "Here the weights of each key sum to one over the queries; those of each "
        "query should, over the keys.", {"axis=-1": "axis=-2"}),
    Mistake("the mask acts after the softmax", "The hidden keys still took their share of the sum, so the weights "
        "that are left do not sum to one.",
        {"S = np.where(mask, S, -math.inf)\n    ": "",
         "P = E / np.where(total > 0, total, 1)": "P = np.where(mask, E / np.where(total > 0, total, 1), 0)"}),
    Mistake("inverted mask", "True means: may look. Here the keys with True were hidden, and the others read.",
        {"np.where(mask,": "np.where(~mask,"}),
    Mistake("the mask is not used", "These are the averages without a mask: every query reads every key.",
        {"S = np.where(mask, S, -math.inf)\n    ": ""}),
    Mistake("nan on a row with nothing to look at", "A query that may look nowhere has the maximum -inf, and -inf - "
        "(-inf) is nan. It should get zeros.",
        {"np.where(np.isfinite(top), top, 0)": "top"}, {"np.where(total > 0, total, 1)": "total"}),
    Mistake("a hidden key wins over a visible one", "Where visible scores are very low, a hidden key got the weight. "
        "A finite number such as -1e9 is only low; minus infinity is hidden.",
        {"-math.inf": "S.dtype.type(-1e9)"},
        {"-math.inf": "S.dtype.type(-1e4)"},
        {"np.where(mask, S, -math.inf)": "S + S.dtype.type(-1e9) * ~mask"}),
    Mistake("maximum over hidden scores", "The maximum was taken over all scores. Where a hidden score is far above, "
        "they underflow to 0.",
        {"S = np.where(mask, S, -math.inf)\n    ": "",
         "E = np.exp(S - np.where(np.isfinite(top), top, 0))": "E = mask * np.exp(S - top)"}),
    Mistake("no maximum subtracted", "exp(800) is larger than the largest float, so it becomes inf, and inf / inf is "
        "nan.", {"S - np.where(np.isfinite(top), top, 0)": "S"}),
    Mistake("scores changed in place", "Writing into S hides the caller's scores for good. Make a new array.",
        {"S = np.where(mask, S, -math.inf)": "S[~np.broadcast_to(mask, S.shape)] = -math.inf"}),
)  # fmt: skip
