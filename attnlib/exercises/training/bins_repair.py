"""A calibration error that is too large

repair · ★★ · 8 min · 05-training/10-calibration

This should be the expected calibration error with bins of equal width, the k-th from (k - 1) / bins up to k / bins:
confidence (n,) lies strictly between the borders, right (n,) is True where the answer was right. For a perfectly
calibrated model it is far above zero, even with a million examples. Two lines are wrong; repair both.

1. Try one bin with two examples and one with two thousand. How much should each count?
2. In a bin from 0.9 to 1, a calibrated model may have a confidence of 0.99 nearly always. How often is it right there?
3. One line takes the middle of the bin for the mean confidence in it. Another gives every bin the same weight.

Both faults grow where most answers are very sure: then most bins are nearly empty, and the last one is full near its
upper end. Small test sets show it most.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def error(confidence, right, bins):
    """Expected calibration error; confidence and right (n,)."""
    which = (confidence * bins).astype(int)
    gaps, sizes = [], []
    for k in range(bins):
        mine = which == k
        if mine.any():
            said = confidence[mine].mean()
            gaps.append(abs(said - right[mine].mean()))
            sizes.append(mine.sum())
    return np.average(gaps, weights=sizes)


def by_counting(confidence, right, bins):
    which = np.floor(confidence * bins).astype(int)
    return np.abs(np.bincount(which, weights=confidence - right)).sum() / len(right)


def one_by_one(confidence, right, bins):
    total = 0.0
    for k in range(bins):
        mine = [i for i, c in enumerate(confidence) if k / bins < c < (k + 1) / bins]
        total += abs(sum(confidence[i] - right[i] for i in mine))
    return total / len(confidence)


def equal_sizes(confidence, right, bins):
    parts = np.array_split(np.argsort(confidence), bins)
    return sum(abs((confidence - right)[part].sum()) for part in parts) / len(right)


def cases(rng):
    def answers(n, bins, power):
        confidence = rng.random(n) ** (1 / power)
        return confidence, rng.random(n) < confidence, bins

    return {
        "two bins": (
            np.array([0.3, 0.9, 0.95, 0.7, 0.6]), np.array([True, True, False, True, True]), 2,
        ),
        "nearly all are sure": (
            np.array([0.97, 0.98, 0.99, 0.96, 0.15, 0.98, 0.42, 0.99]),
            np.array([True, True, True, False, True, True, False, True]),
            10,
        ),
        "one bin": answers(6, 1, 2),
        "many bins, few answers": answers(5, 15, 3),
        "many answers": answers(60, 7, 4),
    }  # fmt: skip


GIVEN = ("the middle of the bin", "every bin counts the same")
VARIANTS = (by_counting, one_by_one)
MISTAKES = (
    Mistake("the middle of the bin", "The middle of each bin was taken for its confidence. Take the mean confidence of "
        "its examples.", {"said = confidence[mine].mean()": "said = (k + 0.5) / bins"}),
    Mistake("every bin counts the same", "Each bin counts the same here, however few examples it holds.",
        {"return np.average(gaps, weights=sizes)": "return np.mean(gaps)"}),
    Mistake("empty bins count", "The sum of the gaps was divided by the number of all bins, the empty ones, too.",
        {"return np.average(gaps, weights=sizes)": "return np.sum(gaps) / bins"}),
    Mistake("not divided", "The gaps are weighted by sizes, and the sum is not divided by the number of examples.",
        {"return np.average(gaps, weights=sizes)": "return np.dot(gaps, sizes)"}),
    Mistake("the upper border", "The upper border of each bin was taken for the mean confidence in it.",
        {"said = confidence[mine].mean()": "said = (k + 1) / bins"}),
    Mistake("the lower border", "The lower border of each bin was taken for the mean confidence in it.",
        {"said = confidence[mine].mean()": "said = k / bins"}),
    Mistake("signs cancel", "Without the absolute value, bins with too high and too low confidence cancel.",
        {"abs(said - right[mine].mean())": "said - right[mine].mean()"},
        {"return np.average(gaps, weights=sizes)": "return abs(confidence.mean() - right.mean())"}),
    Mistake("the largest gap", "This is the gap of the worst bin.",
        {"return np.average(gaps, weights=sizes)": "return np.max(gaps)"}),
    Mistake("a sum over the bins", "The gaps of the bins were added. They are to be weighted with the share of "
        "examples in each.", {"return np.average(gaps, weights=sizes)": "return np.sum(gaps)"}),
    Mistake("the mean of all bins", "A bin's accuracy is compared with the mean confidence of that bin, not of all "
        "examples.",
        {"said = confidence[mine].mean()": "said = confidence.mean()"}),
    Mistake("the median", "This is the median confidence of a bin. Take the mean.",
        {"said = confidence[mine].mean()": "said = np.median(confidence[mine])"}),
    Mistake("squared gaps", "The gaps were squared.",
        {"return np.average(gaps, weights=sizes)": "return np.average(np.square(gaps), weights=sizes)"},
        {"return np.average(gaps, weights=sizes)": "return np.sqrt(np.average(np.square(gaps), weights=sizes))"}),
    Mistake("bins of equal size", "These bins hold equally many examples. They should be equally wide.", equal_sizes),
    Mistake("borders half a bin too early", "The number of a bin is rounded down. Here it was rounded to the nearest.",
        {"(confidence * bins).astype(int)": "np.round(confidence * bins).astype(int)",
         "range(bins)": "range(bins + 1)"}),
    Mistake("a bin is left out", "All bins count, the first and the last one, too.",
        {"range(bins)": "range(1, bins)",
         "return np.average(gaps, weights=sizes)": "return np.dot(gaps, sizes) / len(right)"},
        {"range(bins)": "range(bins - 1)",
         "return np.average(gaps, weights=sizes)": "return np.dot(gaps, sizes) / len(right)"}),
)  # fmt: skip
