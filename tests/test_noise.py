"""The noise of a gradient from two batch sizes, against a source whose noise is known (book: where-the-time-goes)."""

import numpy as np
import pytest

from attnlib.train.noise import signal_and_noise

D, ROWS, DRAWS = 5, 3, 20_000


def test_from_two_batch_sizes_comes_what_was_put_in():
    """Four standard errors; both results are linear in the two means, so their errors are known."""
    rng = np.random.default_rng(0)
    true, spread = rng.normal(size=D), np.array([0.5, 1.0, 2.0, 3.0, 0.1])

    def mean_square(rows: int) -> tuple[float, float]:
        drawn = true + spread * rng.normal(size=(DRAWS, D)) / np.sqrt(rows)
        found = (drawn**2).sum(axis=1)
        return float(found.mean()), float(found.std() / np.sqrt(DRAWS))

    b, B = ROWS, 8 * ROWS
    (small, off), (large, large_off) = mean_square(b), mean_square(B)
    signal, noise = signal_and_noise(small, large, b, B)
    assert abs(signal - true @ true) < 4 * np.hypot(B * large_off, b * off) / (B - b)
    assert abs(noise - (spread**2).sum()) < 4 * np.hypot(off, large_off) / (1 / b - 1 / B)


@pytest.mark.parametrize("b, B", [(1, 2), (3, 50), (16, 64)])
def test_exact_means_give_exactly_what_they_are_made_of(b, B):
    assert np.allclose(signal_and_noise(2.0 + 7 / b, 2.0 + 7 / B, b, B), (2, 7), rtol=1e-10)


@pytest.mark.bad_input
def test_two_batches_of_one_size_are_refused():
    with pytest.raises(ValueError, match="b must be smaller than B; got b=8 and B=8"):
        signal_and_noise(4.0, 0.5, 8, 8)
