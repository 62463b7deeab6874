"""The distant language: its text follows it, and its entropy is what its text says (Chapter 5)."""

import numpy as np
import pytest

from attnlib.data.distant import distant_language, entropy_rate, floor, joint_distribution, text

LANGUAGE = distant_language(n_symbols=3, back=3, seed=2)


def test_a_window_that_moves_on_comes_as_often():
    moved = joint_distribution(LANGUAGE).sum(axis=0)
    np.testing.assert_allclose(moved, LANGUAGE.windows, atol=1e-12)
    assert LANGUAGE.windows.sum() == pytest.approx(1)


def test_the_text_follows_the_language():
    """n = 60,000 independent pieces; each frequency of their last four symbols within 5 standard errors."""
    n = 60_000
    found = np.zeros((3,) * 4)
    np.add.at(found, tuple(text(LANGUAGE, n, 9, seed=1)[:, -4:].T), 1)
    expected = joint_distribution(LANGUAGE)
    error = np.sqrt(expected * (1 - expected) / n)
    assert (np.abs(found / n - expected) < 5 * error).all()


def test_the_rate_is_the_mean_surprise_at_a_long_text():
    """n = 200,000 symbols; the mean surprise within 5 standard errors, its terms taken as if each stood alone."""
    symbols = text(LANGUAGE, 1000, 203, seed=3)
    surprise = -np.log(LANGUAGE.next[symbols[:, :-3], symbols[:, 2:-1], symbols[:, 3:]])
    by_text = surprise.mean(axis=1)
    assert abs(by_text.mean() - entropy_rate(LANGUAGE)) < 5 * by_text.std(ddof=1) / np.sqrt(1000)


def test_whoever_sees_more_pays_less_down_to_the_rate():
    floors = [floor(LANGUAGE, seen) for seen in range(6)]
    assert floors[0] > floors[1] > floors[2] > floors[3]
    assert floors[3:] == pytest.approx([entropy_rate(LANGUAGE)] * 3)


def test_a_short_text_is_the_beginning_of_a_long_one():
    assert (text(LANGUAGE, 4, 2, seed=5) == text(LANGUAGE, 4, 9, seed=5)[:, :2]).all()
