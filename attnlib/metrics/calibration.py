"""Whether a model is right as often as it says: reliability, bin by bin, and the expected calibration error.

Chapter 5 draws it (Guo and others, 2017). The bins are of equal width: with 15 of them the k-th holds what is above
(k - 1) / 15 and at most k / 15, and the first one zero, too. A bin that is empty counts for nothing. Where the data
come from a known distribution, nothing has to be counted: `known_calibration_error`.
"""

import math
from typing import NamedTuple

import numpy as np

from attnlib import rules
from attnlib.reference.ops import softmax
from attnlib.shapes import Array, Bool, Float, Int, Number, checked


class Reliability(NamedTuple):
    """One entry for each bin that is not empty, from the lowest to the highest."""

    size: Int[Array, "k"]  # how many are in it
    confidence: Float[Array, "k"]  # what the model said, in the mean
    accuracy: Float[Array, "k"]  # how often it was right


@checked
def top_confidence(
    P: Float[Array, "n vocab"], targets: Int[Array, "n"]
) -> tuple[Float[Array, "n"], Bool[Array, "n"]]:
    """The probability of the token that is said to be likeliest, and whether it is the right one.

    >>> top_confidence(np.array([[0.25, 0.75], [0.75, 0.25]]), np.array([1, 1]))
    (array([0.75, 0.75]), array([ True, False]))
    """
    rules.distributions("top_confidence", P)
    return P.max(axis=-1), P.argmax(axis=-1) == targets


@checked
def reliability(
    confidence: Float[Array, "n"], right: Bool[Array, "n"], bins: Number[int, "1.."] = 15
) -> Reliability:
    """What was said and what was true, bin by bin: the two columns of a reliability diagram.

    >>> reliability(np.array([0.1, 0.6, 0.8]), np.array([False, True, False]), bins=2)
    Reliability(size=array([1, 2]), confidence=array([0.1, 0.7]), accuracy=array([0. , 0.5]))
    """
    count, said, true = _sums("reliability", confidence, right, bins)
    full = count > 0
    return Reliability(count[full].astype(int), said[full] / count[full], true[full] / count[full])


@checked
def expected_calibration_error(
    confidence: Float[Array, "n"], right: Bool[Array, "n"], bins: Number[int, "1.."] = 15
) -> float:
    """How far confidence and accuracy lie apart, bin by bin, weighted by how much is in the bin.

    It depends on the bins: with a single one, too high and too low cancel.

    >>> sure, right = np.array([0.1, 0.6, 0.8]), np.array([False, True, False])
    >>> round(expected_calibration_error(sure, right, bins=2), 4)  # (1 x 0.1 + 2 x 0.2) / 3
    0.1667
    """
    size, said, true = reliability(confidence, right, bins)
    return float((size * abs(said - true)).sum() / size.sum())


@checked
def known_calibration_error(
    confidence: Float[Array, "n"], chance: Float[Array, "n"], bins: Number[int, "1.."] = 15
) -> float:
    """The same error where it is known how probable each answer was to be right, so that no luck is left in it.

    >>> said, chance = np.array([0.6, 0.8]), np.array([0.5, 0.5])
    >>> round(known_calibration_error(said, chance, bins=2), 4)
    0.2
    """
    _, said, true = _sums("known_calibration_error", confidence, chance, bins)
    return float(abs(said - true).sum() / confidence.size)


def _sums(who: str, confidence: Array, right: Array, bins: int) -> tuple[Array, Array, Array]:
    """For each bin how many are in it, what was said and what was right, summed."""
    outside = ~((confidence >= 0) & (confidence <= 1))
    rules.refuse_where(outside, who, "confidence must lie between 0 and 1", "outside or NaN")
    borders = np.arange(1, bins) / bins
    which = np.searchsorted(borders, confidence)  # a number on a border belongs to the bin below it
    count, said, true = (
        np.bincount(which, weights=one, minlength=bins)
        for one in (np.ones_like(confidence), confidence, right)
    )
    return count, said, true


@checked
def best_temperature(S: Float[Array, "n vocab"], targets: Int[Array, "n"]) -> float:
    """By which number, from 0.01 to 100, all scores are to be divided so that the right answers surprise least.

    The loss is convex in one over the temperature. Its slope is the score that the model expects of the right answer,
    minus the one that it has.

    >>> S = np.array([[4.0, 0.0], [4.0, 0.0], [4.0, 0.0], [0.0, 4.0]])  # sure at 0.98, right in three cases of four
    >>> round(best_temperature(S, np.zeros(4, dtype=int)), 4), round(4 / math.log(3), 4)
    (3.641, 3.641)
    """
    rules.between("best_temperature", "targets", targets, "vocab - 1", S.shape[-1] - 1)
    came = S[np.arange(len(S)), targets].mean()
    low, high = -math.log(100), math.log(100)
    for _ in range(40):
        middle = (low + high) / 2  # the logarithm of one over the temperature
        expected = (softmax(math.exp(middle) * S) * S).sum(axis=-1).mean()
        low, high = (middle, high) if expected < came else (low, middle)
    return math.exp(-(low + high) / 2)
