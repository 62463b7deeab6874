"""A calibration error with bins of equal size

write · ★★ · 12 min · 05-training/10-calibration

A model gave n answers: confidence (n,) holds the probability that it gave each of them (no two are equal), and right
(n,) is True where the answer was right. Sort the answers by confidence and cut them into `bins` bins of equally many
answers, the least confident in the first; `bins` divides n. The gap of a bin is the absolute difference between its
mean confidence and its share of right answers. Return the calibration error: the mean of the gaps.

1. Which examples belong together? Confidence and right answers must stay together when the examples are sorted.
2. The gap of a bin is the difference of two means, and the absolute value is taken only after the means.
3. Sort both by confidence, cut into `bins` pieces of equal size, take the absolute difference of the means in each, and
   the mean of these.

With equal sizes the weighted mean is a plain mean. No bin is nearly empty, but where most answers are given with 0.99,
most bins lie there, and the doubtful answers share one. Neither kind of bin is right for every purpose.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def equal_bins(confidence, right, bins):
    """Calibration error; confidence and right (n,)."""
    order = np.argsort(confidence)
    gaps = (confidence - right)[order].reshape(bins, -1).mean(axis=1)
    return np.abs(gaps).mean()


def by_pairs(confidence, right, bins):
    pairs = sorted(zip(confidence, right, strict=True))
    size, total = len(pairs) // bins, 0.0
    for start in range(0, len(pairs), size):
        mine = pairs[start : start + size]
        total += abs(sum(c for c, _ in mine) - sum(r for _, r in mine))
    return total / len(pairs)


def by_ranks(confidence, right, bins):
    rank = (confidence[:, None] > confidence).sum(axis=1)
    which = rank * bins // len(confidence)
    said = np.bincount(which, weights=confidence)
    true = np.bincount(which, weights=right.astype(float))
    return np.abs(said - true).sum() / len(confidence)


def equal_widths(confidence, right, bins):
    which = np.minimum((confidence * bins).astype(int), bins - 1)
    return np.abs(np.bincount(which, weights=confidence - right)).sum() / len(confidence)


def by_the_middle(confidence, right, bins):
    order = np.argsort(confidence)
    said, true = confidence[order].reshape(bins, -1), right[order].reshape(bins, -1)
    return np.abs((said[:, 0] + said[:, -1]) / 2 - true.mean(axis=1)).mean()


def by_the_median(confidence, right, bins):
    order = np.argsort(confidence)
    said, true = confidence[order].reshape(bins, -1), right[order].reshape(bins, -1)
    return np.abs(np.median(said, axis=1) - true.mean(axis=1)).mean()


def cases(rng):
    def answers(bins, each, power):
        confidence = rng.random(bins * each) ** (1 / power)
        return confidence, rng.random(bins * each) < confidence**1.5, bins

    return {
        "six answers, two bins": (
            np.array([0.9, 0.3, 0.6, 0.95, 0.5, 0.8]),
            np.array([True, False, True, True, True, False]),
            2,
        ),
        "one bin": answers(1, 7, 2),
        "most are sure": answers(3, 5, 6),
        "bins of one": answers(5, 1, 2),
        "many answers": answers(4, 11, 1),
        "as many bins as in each": answers(3, 3, 3),
    }


VARIANTS = (by_pairs, by_ranks)
MISTAKES = (
    Mistake("not sorted", "The bins hold answers that are neighbours in the list, not in confidence.",
        {"(confidence - right)[order]": "(confidence - right)"}),
    Mistake("only the confidence is sorted", "The confidences were sorted, and the right answers stayed where they "
        "were.", {"(confidence - right)[order]": "(confidence[order] - right)"}),
    Mistake("each sorted by itself", "Confidences and right answers were sorted apart, so they no longer belong "
        "together.", {"(confidence - right)[order]": "(np.sort(confidence) - np.sort(right))"}),
    Mistake("bins of equal width", "These bins are equally wide, and hold different numbers of examples.",
        equal_widths),
    Mistake("the gap of each answer", "The absolute value was taken for each answer, before the mean of its bin. Then "
        "a doubtful answer has a large gap even if the model is calibrated.",
        {"np.abs(gaps).mean()": "np.abs(confidence - right).mean()"}),
    Mistake("signs cancel", "Without the absolute value, bins with too high and too low confidence cancel.",
        {"np.abs(gaps).mean()": "gaps.mean()"}, {"np.abs(gaps).mean()": "np.abs(gaps.mean())"}),
    Mistake("a sum over the bins", "The gaps of the bins were added. Each bin holds one part in `bins` of all "
        "examples.", {"np.abs(gaps).mean()": "np.abs(gaps).sum()"}),
    Mistake("squared gaps", "The gaps were squared.",
        {"np.abs(gaps).mean()": "(gaps**2).mean()"}, {"np.abs(gaps).mean()": "np.sqrt((gaps**2).mean())"}),
    Mistake("interleaved bins", "The answers were dealt out to the bins in turn. Each bin should hold neighbours in "
        "confidence.", {".reshape(bins, -1).mean(axis=1)": ".reshape(-1, bins).mean(axis=0)"}),
    Mistake("`bins` answers in each", "`bins` is how many bins there are, and not how many examples each holds.",
        {".reshape(bins, -1)": ".reshape(-1, bins)"}),
    Mistake("sums instead of means", "A gap is a difference of means, and these are sums.",
        {".mean(axis=1)": ".sum(axis=1)"}),
    Mistake("the middle instead of the mean", "The confidence of a bin is the mean confidence of its answers.",
        by_the_middle, by_the_median),
    Mistake("one bin alone", "The gaps of all bins count.",
        {"np.abs(gaps).mean()": "np.abs(gaps[-1])"}, {"np.abs(gaps).mean()": "np.abs(gaps[0])"}),
    Mistake("wrong and right exchanged",
        "Where `right` is True, the answer was right. Here it was taken the other way.",
        {"(confidence - right)": "(confidence - ~right)"}, {"(confidence - right)": "(1 - confidence - right)"}),
    Mistake("ordered by right", "The examples are ordered by their confidence, and not by whether they were right.",
        {"np.argsort(confidence)": 'np.argsort(right, kind="stable")'}),
)  # fmt: skip
