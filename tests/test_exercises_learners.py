"""Wrong answers that are in no list of mistakes: none may get a name that is not true.

An answer whose numbers are those of a known mistake may get that name (second entry); all others must stay without one.
If a new mistake names one of them, read the code and decide whether the name is true of it.
"""

import math

import numpy as np
import pytest

from attnlib.exercises.engine.interface import graded
from attnlib.exercises.engine.registry import exercises
from attnlib.exercises.engine.verdict import OUT_OF_RANGE


def weights(S, axis=-1):
    E = np.exp(S - S.max(axis=axis, keepdims=True))
    return E / E.sum(axis=axis, keepdims=True)


def divided(E):
    return E / E.sum(axis=-1, keepdims=True)


def scores(Q, K):
    return Q @ K.swapaxes(-1, -2) / math.sqrt(Q.shape[-1])


def whole_batch(S):
    out = np.zeros_like(S)
    for b in range(S.shape[0]):
        e = np.exp(S[b] - S[b].max())
        out[b] = e / e.sum()
    return out


def all_in_place(S):
    np.exp(S, out=S)
    S /= S.sum(-1, keepdims=True)
    return S


def uniform_where_empty(S, mask):
    E = np.where(mask, np.exp(S - np.where(mask, S, -np.inf).max(-1, keepdims=True)), 0.0)
    E = np.where(mask.any(-1, keepdims=True), E, 0.0)
    total = E.sum(-1, keepdims=True)
    return np.where(total > 0, E / np.where(total > 0, total, 1), 1 / S.shape[-1])


def first_of_batch(Q, K, V):
    return weights(scores(Q, K[:1] if K.ndim > 2 else K)) @ V


SOFTMAX = {
    "L2 norm": (
        lambda S: (E := np.exp(S - S.max(-1, keepdims=True))) / np.sqrt((E**2).sum(-1, keepdims=True)),
        "",
    ),
    "clipped at 50": (lambda S: divided(np.exp(np.minimum(S, 50))), ""),
    "softmin": (lambda S: weights(-S), "sign of the scores turned"),
    "epsilon": (
        lambda S: (E := np.exp(S - S.max(-1, keepdims=True))) / (E.sum(-1, keepdims=True) + 1e-3),
        "a small number was added",
    ),
    "flattened": (whole_batch, ""),
    "nan_to_num": (lambda S: np.nan_to_num(divided(np.exp(S))), ""),
    "rounded": (lambda S: np.round(weights(S), 3), "rounded"),
    "log softmax": (lambda S: np.log(weights(S) + 1e-300), ""),
    "maximum of columns": (
        lambda S: divided(np.exp(S - S.max(axis=0, keepdims=True))),
        "the maximum over another axis",
    ),
    "by the largest": (lambda S: (W := weights(S)) / W.max(-1, keepdims=True), "not normalised"),
    "S / max": (lambda S: weights(S / S.max(-1, keepdims=True)), ""),
    "temperature": (lambda S: weights(S / 2), ""),
    "twice": (lambda S: weights(weights(S)), "a softmax of the result"),
    "float32 inside": (lambda S: weights(S.astype(np.float32)).astype(float), ""),
    "minimum": (lambda S: divided(np.exp(S - S.min(-1, keepdims=True))), OUT_OF_RANGE),
    "minus 700": (lambda S: divided(np.exp(S - 700)), OUT_OF_RANGE),
    "plain": (divided, ""),
    "one-hot": (lambda S: np.eye(S.shape[-1])[S.argmax(-1)], ""),
    "uniform": (
        lambda S: np.full(S.shape, 1 / S.shape[-1]),
        "`S` counts as zero|`S` counts as one|the maximum was left out",
    ),
    "zeros": (np.zeros_like, ""),
    "nan": (lambda S: np.full(S.shape, np.nan), ""),
    "unchanged": (lambda S: S, "`S` is unchanged"),
    "in place": (all_in_place, "no maximum subtracted"),
}
MASKED = {
    "renormalised": (
        lambda S, mask: divided(weights(S) * mask),
        "nan on a row with nothing to look at|maximum over hidden scores",
    ),
    "plus one": (lambda S, mask: weights(S + mask), ""),
    "uniform where empty": (uniform_where_empty, "a finite number in place of minus infinity"),
    "scores": (lambda S, mask: np.where(mask, S, -np.inf), ""),
    "-100": (
        lambda S, mask: weights(np.where(mask, S, S.dtype.type(-100))),
        "a finite number in place of minus infinity",
    ),
    "-1e30": (
        lambda S, mask: weights(np.where(mask, S, S.dtype.type(-1e30))),
        "a finite number in place of minus infinity",
    ),
    "first mask": (lambda S, mask: weights(np.where(mask[0], S, -np.inf)), ""),
}
ATTENTION = {
    "cosine": (lambda Q, K, V: weights(divided_by_length(Q) @ divided_by_length(K).swapaxes(-1, -2)) @ V, ""),
    "hard": (lambda Q, K, V: np.take_along_axis(V, scores(Q, K).argmax(-1)[..., None], axis=-2), ""),
    "P @ K": (lambda Q, K, V: weights(scores(Q, K)) @ K, "`K` in place of `V`"),
    "softmax twice": (lambda Q, K, V: weights(weights(scores(Q, K))) @ V, ""),
    "mean": (lambda Q, K, V: np.repeat(V.mean(-2, keepdims=True), Q.shape[-2], -2), ""),
    "fourth root": (
        lambda Q, K, V: weights(Q @ K.swapaxes(-1, -2) / Q.shape[-1] ** 0.25) @ V,
        "the root was taken twice",
    ),
    "two roots": (lambda Q, K, V: weights(scores(Q, K) / math.sqrt(K.shape[-2])) @ V, ""),
    "rolled": (lambda Q, K, V: weights(scores(Q, K)) @ np.roll(V, 1, -2), ""),
    "by 8": (lambda Q, K, V: weights(Q @ K.swapaxes(-1, -2) / 8) @ V, ""),
    "transposed": (lambda Q, K, V: (weights(scores(Q, K)) @ V).swapaxes(-1, -2), "a product is transposed"),
    "both": (lambda Q, K, V: (weights(scores(Q, K)) @ V, weights(scores(Q, K))), ""),
    "first of batch": (first_of_batch, ""),
    "three mistakes": (
        lambda Q, K, V: (E := np.exp(Q @ K.swapaxes(-1, -2))) / E.sum(-2, keepdims=True) @ V,
        "",
    ),
}
BACKWARD = {
    "P (1 - P)": (lambda dP, P: P * (1 - P), ""),
    "P as scores": (lambda dP, P: (W := weights(P)) * (dP - (dP * W).sum(-1, keepdims=True)), ""),
    "log softmax": (lambda dP, P: dP - P * dP.sum(-1, keepdims=True), ""),
    "cross entropy": (lambda dP, P: P - dP, ""),
    "half": (lambda dP, P: P * (dP - (dP * P).sum(-1, keepdims=True)) / 2, "half the result"),
    "mean over the batch": (lambda dP, P: P * (dP - (dP * P).sum(-1, keepdims=True)) / len(P), ""),
    "P squared": (lambda dP, P: P * dP - P * P * dP.sum(-1, keepdims=True), ""),
}
SCALE = {
    "by 8": (lambda Q, K: Q @ K.swapaxes(-1, -2) / 8, ""),
    "d_k + 1": (lambda Q, K: Q @ K.swapaxes(-1, -2) / math.sqrt(Q.shape[-1] + 1), ""),
    "one bug left": (lambda Q, K: Q @ K.swapaxes(-1, -2) / Q.shape[-1], "divided by d_k, not by its root"),
}
ANSWERS = {
    "foundations.softmax": SOFTMAX,
    "foundations.masked-softmax": MASKED,
    "foundations.attention-matrices": ATTENTION,
    "foundations.softmax-backward": BACKWARD,
    "foundations.scale-repair": SCALE,
}


def divided_by_length(X):
    return X / np.linalg.norm(X, axis=-1, keepdims=True)


@pytest.mark.parametrize(("id", "what"), [(id, what) for id, answers in ANSWERS.items() for what in answers])
def test_no_wrong_answer_gets_a_wrong_name(id, what):
    answer, names = ANSWERS[id][what]
    found = graded(exercises()[id], answer)
    assert not found.passed and found.status == "wrong"
    assert "|".join(found.named) == names
