"""Calibration and units of surprise: against direct computations, scikit-learn, and models whose truth is known."""

import math

import numpy as np
import pytest

from attnlib.metrics.calibration import (
    best_temperature,
    expected_calibration_error,
    known_calibration_error,
    reliability,
    top_confidence,
)
from attnlib.metrics.surprise import bits_per_byte, perplexity


@pytest.fixture
def said(rng):
    """Confidences, some of them exactly on a border of ten bins, and whether each was right."""
    confidence = np.concatenate([rng.random(500), np.arange(11) / 10, [0.3, 1.0, 1.0]])
    return confidence, rng.random(confidence.size) < confidence**2


def directly(confidence, right, bins):
    """The definition, one bin at a time, with borders as written in the docstring."""
    total = 0.0
    for k in range(1, bins + 1):
        inside = [
            i for i, p in enumerate(confidence) if (k - 1) / bins < p <= k / bins or (k == 1 and p == 0)
        ]
        if inside:
            gap = sum(right[i] for i in inside) / len(inside) - sum(confidence[i] for i in inside) / len(
                inside
            )
            total += len(inside) / len(confidence) * abs(gap)
    return total


@pytest.mark.parametrize("bins", [1, 2, 10, 15, 100])
def test_the_error_is_that_of_its_definition(bins, said):
    assert abs(expected_calibration_error(*said, bins) - directly(*said, bins)) < 1e-12


@pytest.mark.parametrize("bins", [2, 10, 15])
def test_reliability_is_that_of_scikit_learn(bins, said):
    from sklearn.calibration import calibration_curve  # here: a second, which most who collect need not pay

    confidence, right = said
    accuracy, mean = calibration_curve(right, confidence, n_bins=bins)
    found = reliability(confidence, right, bins)
    np.testing.assert_allclose(found.accuracy, accuracy, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.confidence, mean, rtol=0, atol=1e-12)
    assert found.size.sum() == confidence.size


def test_who_says_what_is_true_has_no_error_and_who_boasts_has_his_boast(rng):
    """n = 100,000 and 10 bins: the standard error of the accuracy in a bin is at most 0.005."""
    p = rng.uniform(0.5, 0.9, 100_000)
    right = rng.random(p.size) < p
    assert expected_calibration_error(p, right, 10) < 4 * 0.005
    assert abs(expected_calibration_error(p + 0.1, right, 10) - 0.1) < 4 * 0.005


def test_in_a_single_bin_too_high_and_too_low_cancel():
    confidence, right = np.array([0.9, 0.1]), np.array([False, True])
    assert expected_calibration_error(confidence, right, 1) == 0.0
    assert abs(expected_calibration_error(confidence, right, 2) - 0.9) < 1e-12


@pytest.mark.parametrize("bins", [1, 10, 15])
def test_where_the_chance_is_known_the_count_comes_to_it(bins, said, rng):
    """The same number for chances of 0 and 1; and with n = 100,000 the count is within 4 standard errors a bin."""
    confidence, right = said
    exact = known_calibration_error(confidence, right.astype(float), bins)
    assert abs(exact - expected_calibration_error(*said, bins)) < 1e-12
    p = rng.uniform(0.2, 1.0, 100_000)
    counted = expected_calibration_error(p, rng.random(p.size) < p**2, bins)
    assert abs(known_calibration_error(p, p**2, bins) - counted) < 4 * 0.5 * math.sqrt(bins / p.size)
    assert known_calibration_error(p, p, bins) < 1e-12


def test_the_best_temperature_is_that_of_a_fine_grid_and_undoes_a_factor(rng):
    S, targets = 3 * rng.normal(size=(200, 5)), rng.integers(5, size=200)
    targets[:120] = S[:120].argmax(axis=1)

    def loss(T):
        L = S / T - np.log(np.exp(S / T).sum(axis=1, keepdims=True))
        return -L[np.arange(200), targets].mean()

    grid = np.geomspace(0.1, 10, 2001)
    T = best_temperature(S, targets)
    assert loss(T) <= min(loss(one) for one in grid)
    assert abs(best_temperature(7 * S, targets) / (7 * T) - 1) < 1e-9


def test_the_likeliest_token_is_what_is_judged(rng):
    P = rng.dirichlet(np.ones(5), size=7)
    confidence, right = top_confidence(P, P.argmax(1))
    assert right.all() and (confidence >= 1 / 5).all()
    assert not top_confidence(P, P.argmin(1))[1].any()


def test_perplexity_of_a_guess_among_equals_is_their_number():
    assert math.isclose(perplexity(math.log(2048)), 2048)
    assert perplexity(0.0) == 1.0


def test_bits_a_byte_do_not_depend_on_how_a_text_is_cut():
    """Bytes that are equally likely, one by one, in pairs, or in fours: 8 bits each."""
    for size in (1, 2, 4):
        assert math.isclose(bits_per_byte(size * math.log(256), tokens=120 // size, n_bytes=120), 8)


@pytest.mark.bad_input
def test_what_is_no_probability_is_named():
    with pytest.raises(ValueError, match="reliability: confidence must lie between 0 and 1; got 1 outside"):
        reliability(np.array([0.5, 1.5]), np.array([True, False]))
    with pytest.raises(ValueError, match="each row of P must sum to one; got a row that sums to 2"):
        top_confidence(np.ones((1, 2)), np.array([0]))
    with pytest.raises(ValueError, match="confidence and correct must have the same shape"):
        reliability(np.array([0.5]), np.array([True, False]))
