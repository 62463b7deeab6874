"""Four clouds whose truth is known: by Bayes' rule from the densities, and by counting (book: calibration)."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from attnlib.data.clouds import SIGNS, best_accuracy, clouds, posterior


@pytest.mark.parametrize("apart", [0.0, 0.5, 1.0, 3.0])
def test_the_posterior_is_that_of_bayes(apart, rng):
    X = 2 * rng.normal(size=(50, 2))
    density = np.stack([multivariate_normal(apart * sign).pdf(X) for sign in SIGNS], axis=1)
    np.testing.assert_allclose(
        posterior(X, apart), density / density.sum(axis=1, keepdims=True), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("apart", [0.0, 1.0, 2.0])
def test_the_best_accuracy_is_counted(apart):
    """n = 100,000; within 4 standard errors, of the clouds that came and of their probabilities alike."""
    drawn = clouds(100_000, apart, seed=1)
    best = best_accuracy(apart)
    error = np.sqrt(best * (1 - best) / 100_000) + 1e-12
    assert abs((drawn.true.argmax(axis=1) == drawn.cloud).mean() - best) < 4 * error
    assert abs(drawn.true.max(axis=1).mean() - best) < 4 * error


def test_a_seed_is_a_sample():
    assert (clouds(7, 1.0, seed=3).X == clouds(7, 1.0, seed=3).X).all()
    assert not (clouds(7, 1.0, seed=3).X == clouds(7, 1.0, seed=4).X).any()
