"""Calibration: are 80 % of the predictions right that a model gives a probability of 80 %?

Chapter 5 draws it (Guo and others, 2017). Predictions are sorted by confidence into bins of equal width: of 15
bins the k-th has confidences above (k - 1) / 15 and at most k / 15, and the first one zero too. Empty bins are ignored.
If the data come from a known distribution, `known_calibration_error` uses true probabilities in place of counts.
"""

import math
from typing import NamedTuple

import numpy as np

from attnlib import rules
from attnlib.reference.ops import softmax
from attnlib.shapes import Array, Bool, Float, Int, Number, checked


class Reliability(NamedTuple):
    """One entry for each bin that is not empty, from the lowest to the highest."""

    size: Int[Array, "k"]  # the number of predictions in the bin
    confidence: Float[Array, "k"]  # their mean confidence
    accuracy: Float[Array, "k"]  # the share of them that is correct


@checked
def top_confidence(
    P: Float[Array, "n vocab"], targets: Int[Array, "n"]
) -> tuple[Float[Array, "n"], Bool[Array, "n"]]:
    """The probability of each row's likeliest token, and whether that token is the correct one.

    >>> top_confidence(np.array([[0.25, 0.75], [0.75, 0.25]]), np.array([1, 1]))
    (array([0.75, 0.75]), array([ True, False]))
    """
    rules.distributions("top_confidence", P)
    return P.max(axis=-1), P.argmax(axis=-1) == targets


@checked
def reliability(
    confidence: Float[Array, "n"], correct: Bool[Array, "n"], bins: Number[int, "1.."] = 15
) -> Reliability:
    """Mean confidence and accuracy in each bin: the two columns of a reliability diagram.

    >>> reliability(np.array([0.1, 0.6, 0.8]), np.array([False, True, False]), bins=2)
    Reliability(size=array([1, 2]), confidence=array([0.1, 0.7]), accuracy=array([0. , 0.5]))
    """
    size, sure, true = _sums("reliability", confidence, correct, bins)
    full = size > 0
    return Reliability(size[full].astype(int), sure[full] / size[full], true[full] / size[full])


@checked
def expected_calibration_error(
    confidence: Float[Array, "n"], correct: Bool[Array, "n"], bins: Number[int, "1.."] = 15
) -> float:
    """The mean difference between confidence and accuracy over the bins, weighted by their size (ECE).

    It depends on the number of bins: in a single one, confidences that are too high and too low cancel.

    >>> confidence, correct = np.array([0.1, 0.6, 0.8]), np.array([False, True, False])
    >>> round(expected_calibration_error(confidence, correct, bins=2), 4)  # (1 x 0.1 + 2 x 0.2) / 3
    0.1667
    """
    size, sure, accuracy = reliability(confidence, correct, bins)
    return float((size * abs(sure - accuracy)).sum() / size.sum())


@checked
def known_calibration_error(
    confidence: Float[Array, "n"], chance: Float[Array, "n"], bins: Number[int, "1.."] = 15
) -> float:
    """The same error from `chance`, the true probability that each prediction is correct: it has no sampling noise.

    >>> confidence, chance = np.array([0.6, 0.8]), np.array([0.5, 0.5])
    >>> round(known_calibration_error(confidence, chance, bins=2), 4)
    0.2
    """
    _, sure, true = _sums("known_calibration_error", confidence, chance, bins)
    return float(abs(sure - true).sum() / confidence.size)


def _sums(who: str, confidence: Array, correct: Array, bins: int) -> tuple[Array, Array, Array]:
    """For each bin: its size, the sum of its confidences, and how many of its predictions are correct."""
    outside = ~((confidence >= 0) & (confidence <= 1))
    rules.refuse_where(outside, who, "confidence must lie between 0 and 1", "outside or NaN")
    borders = np.arange(1, bins) / bins
    which = np.searchsorted(borders, confidence)  # a confidence on a border is in the bin below it
    size, sure, true = (
        np.bincount(which, weights=one, minlength=bins)
        for one in (np.ones_like(confidence), confidence, correct)
    )
    return size, sure, true


@checked
def best_temperature(S: Float[Array, "n vocab"], targets: Int[Array, "n"]) -> float:
    """The temperature, from 0.01 to 100, at which the cross-entropy of the targets is least: temperature scaling.

    The loss is convex in one over the temperature. Its derivative by that is the mean score under the softmax minus the
    mean score of the targets, and bisection finds where it is zero.

    >>> S = np.array([[4.0, 0.0], [4.0, 0.0], [4.0, 0.0], [0.0, 4.0]])  # confidence 0.98, correct in 3 of 4
    >>> round(best_temperature(S, np.zeros(4, dtype=int)), 4), round(4 / math.log(3), 4)
    (3.641, 3.641)
    """
    rules.between("best_temperature", "targets", targets, "vocab - 1", S.shape[-1] - 1)
    target_score = S[np.arange(len(S)), targets].mean()
    low, high = -math.log(100), math.log(100)
    for _ in range(40):
        middle = (low + high) / 2  # the logarithm of one over the temperature
        expected = (softmax(math.exp(middle) * S) * S).sum(axis=-1).mean()
        low, high = (middle, high) if expected < target_score else (low, middle)
    return math.exp(-(low + high) / 2)
