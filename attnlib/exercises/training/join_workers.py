"""Join the attention of several workers

write · ★★ · 10 min · 05-training/13-attention-across-workers

The keys and values of a text are split over p workers. All workers have the same m queries, and worker r attends with
them to its own keys only. For each query it returns three things: largest[r], its largest score; total[r], the sum of
exp(score - largest[r]) over its keys; and summed[r], the sum of its values with these exponentials as factors. So
largest and total are (p, m), and summed is (p, m, d_v). Where a mask leaves a worker no key for a query, these are
-inf, 0 and zeros. Return the output of softmax attention over the keys of all workers, (m, d_v), with zeros for a
query that no worker has a key for.

1. Which largest score has each worker subtracted, and which one should all of them subtract?
2. Multiply each worker's total and sum with the exponential of its largest score less the largest of all.
3. Sum both over the workers and divide. Where all of them have -inf, take 0 for the largest of all, and 1 for the sum.

Two small all-reduces do this: one that takes the maximum, and one that sums. Nothing of the cache is sent, and what is
sent does not grow with the text.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def join_workers(largest, total, summed):
    """Attention over the keys of all workers, (m, d_v)."""
    top = largest.max(axis=0)
    weight = np.exp(largest - np.where(np.isneginf(top), 0, top))
    whole = (weight * total).sum(axis=0)
    out = (weight[..., None] * summed).sum(axis=0)
    return out / np.where(whole > 0, whole, 1)[:, None]


def one_after_the_other(largest, total, summed):
    out = np.zeros(summed.shape[1:])
    for i in range(largest.shape[1]):
        mu, ell, a = -np.inf, 0.0, np.zeros(summed.shape[2])
        for r in range(len(largest)):
            if total[r, i] > 0:
                new = max(mu, largest[r, i])
                old, now = np.exp(mu - new), np.exp(largest[r, i] - new)
                mu, ell, a = new, old * ell + now * total[r, i], old * a + now * summed[r, i]
        if ell > 0:
            out[i] = a / ell
    return out


def by_their_outputs(largest, total, summed):
    with np.errstate(divide="ignore", invalid="ignore"):
        lam = largest + np.log(total)
        weight = np.exp(lam - lam.max(axis=0))
        weight = np.nan_to_num(weight / weight.sum(axis=0))
        return np.nan_to_num(weight[..., None] * np.nan_to_num(summed / total[..., None])).sum(axis=0)


def mean_of_outputs(largest, total, summed):
    return (summed / np.where(total > 0, total, 1)[..., None]).mean(axis=0)


def mean_of_those_that_saw(largest, total, summed):
    each = summed / np.where(total > 0, total, 1)[..., None]
    return each.sum(axis=0) / np.maximum((total > 0).sum(axis=0), 1)[:, None]


def weighted_by_total(largest, total, summed):
    whole = total.sum(axis=0)
    return summed.sum(axis=0) / np.where(whole > 0, whole, 1)[:, None]


def weighted_by_largest(largest, total, summed):
    top = largest.max(axis=0)
    weight = np.exp(largest - np.where(np.isneginf(top), 0, top))
    each = summed / np.where(total > 0, total, 1)[..., None]
    whole = weight.sum(axis=0)
    return (weight[..., None] * each).sum(axis=0) / np.where(whole > 0, whole, 1)[:, None]


def of_the_largest(largest, total, summed):
    best, i = largest.argmax(axis=0), np.arange(largest.shape[1])
    return summed[best, i] / np.where(total[best, i] > 0, total[best, i], 1)[:, None]


def larger_for_smaller(largest, total, summed):
    seen = np.isfinite(largest)
    top = np.where(seen, largest, -np.inf).max(axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        weight = np.where(seen, np.exp(np.where(np.isneginf(top), 0, top) - largest), 0)
    whole = (weight * total).sum(axis=0)
    return (weight[..., None] * summed).sum(axis=0) / np.where(whole > 0, whole, 1)[:, None]


def cases(rng):
    def sums(p, m, n, d_v, size=1.0):
        S, V = size * rng.normal(size=(p, m, n)), drawn(rng, (p, n, d_v))[0]
        E = np.exp(S - S.max(axis=2, keepdims=True))
        return S.max(axis=2), E.sum(axis=2), E @ V

    def blind(of, *where):
        largest, total, summed = (one.copy() for one in of)
        for r, i in where:
            largest[r, i], total[r, i], summed[r, i] = -np.inf, 0, 0
        return largest, total, summed

    far = sums(3, 2, 4, 2)
    return {
        "two workers": sums(2, 3, 4, 2),
        "three workers, two queries": sums(3, 2, 5, 4),
        "all sizes equal": sums(3, 3, 3, 3),
        "one worker": sums(1, 2, 3, 2),
        "scores around 800": (far[0] + 800, far[1], far[2]),
        "queries with scores around 800 and -800": (far[0] + np.array([800, -800]), far[1], far[2]),
        "a worker that saw nothing for a query": blind(sums(3, 2, 4, 3), (1, 0)),
        "a query that saw nothing anywhere": blind(sums(2, 3, 4, 2), (0, 1), (1, 1)),
    }


VARIANTS = (one_after_the_other, by_their_outputs)
MISTAKES = (
    Mistake("the outputs averaged", "These are the means of the workers' outputs. A worker whose keys have little "
        "weight counts as much as the others.",
        mean_of_outputs, mean_of_those_that_saw),
    Mistake("added without rescaling", "The workers have subtracted different largest scores. Rescale totals "
        "and sums to the same one before you add.",
        weighted_by_total),
    Mistake("only one of two sums is rescaled", "Totals and summed values both have each worker's own largest score "
        "subtracted. One of them was rescaled, and the other was not.",
        {"(weight * total).sum(axis=0)": "total.sum(axis=0)"},
        {"(weight[..., None] * summed).sum(axis=0)": "summed.sum(axis=0)"}),
    Mistake("the largest score alone", "A worker's share is its sum of exponentials, not only that of its largest "
        "score.",
        weighted_by_largest),
    Mistake("not divided", "These are sums still; the division by the total is missing.",
        {"out / np.where(whole > 0, whole, 1)[:, None]": "out"}),
    Mistake("no largest score subtracted", "Scores of 800 overflow, unless the largest of all is subtracted first.",
        {"largest - np.where(np.isneginf(top), 0, top)": "largest"}),
    Mistake("nothing divided by nothing", "A query without any key has the sum zero. Its output is zeros.",
        {"np.where(np.isneginf(top), 0, top)": "top"}, {"np.where(whole > 0, whole, 1)": "whole"}),
    Mistake("one worker alone", "The keys of all workers count.",
        of_the_largest, lambda largest, total, summed: summed[0] / np.where(total[0] > 0, total[0], 1)[:, None]),
    Mistake("the sign of the exponent", "The factor is the exponential of a worker's largest score less the largest of "
        "all, so it is at most one.",
        larger_for_smaller),
    Mistake("one output for each worker", "Return one output for each query, over the keys of all workers.",
        lambda largest, total, summed: summed / np.where(total > 0, total, 1)[..., None]),
)  # fmt: skip
