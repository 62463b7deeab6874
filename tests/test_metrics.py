"""Alignment error rate (book: the-bottleneck, eq-aer)."""

import numpy as np
import pytest

from attnlib.metrics.alignment import alignment_error_rate, diagonal_links, links_from_weights
from attnlib.metrics.curves import first_below, first_reached
from attnlib.metrics.seeds import mean_and_sd


def test_error_rate_by_hand():
    """|A|=3, |S|=2, A∩S = {a}, A∩P = {a, c}: 1 - (1 + 2) / (3 + 2) = 0.4."""
    assert alignment_error_rate("acx", sure="ab", possible="abc") == pytest.approx(0.4)


def test_sure_links_are_possible_even_if_not_listed_again():
    assert alignment_error_rate("acx", "ab", "c") == alignment_error_rate("acx", "ab", "abc")


def test_perfect_wrong_and_empty_alignments():
    assert alignment_error_rate({(0, 0)}, {(0, 0)}) == 0
    assert alignment_error_rate({(0, 1)}, {(0, 0)}) == 1
    assert alignment_error_rate(set(), {(0, 0)}) == 1
    with pytest.raises(ValueError, match="got none of either"):
        alignment_error_rate([], [])


def test_without_possible_links_it_is_one_minus_f1():
    rng = np.random.default_rng(0)
    A, S = ({(int(j), int(i)) for j, i in rng.integers(5, size=(11, 2))} for _ in range(2))
    precision, recall = len(A & S) / len(A), len(A & S) / len(S)
    f1 = 2 * precision * recall / (precision + recall)
    assert alignment_error_rate(A, S) == pytest.approx(1 - f1, rel=1e-12)


def test_guessing_a_possible_link_never_hurts_and_missing_a_sure_one_does():
    assert alignment_error_rate("abc", "ab", "abc") == 0
    assert alignment_error_rate("a", "ab", "abc") > 0


def test_a_corpus_weighs_links_not_sentences():
    long, short = {(0, k, k) for k in range(9)}, {(1, 0, 0)}
    assert alignment_error_rate(long | {(1, 1, 0)}, long | short) == pytest.approx(0.1)


def test_links_are_source_first_and_thresholds_keep_several():
    P = np.array([[0.1, 0.2, 0.7], [0.5, 0.45, 0.05]])
    assert links_from_weights(P) == {(2, 0), (0, 1)}
    assert links_from_weights(P, threshold=0.45) == {(2, 0), (0, 1), (1, 1)}
    with pytest.raises((ValueError, TypeError), match=r"got 3 axes, shape \(1, 2, 3\)|Type-check error"):
        links_from_weights(P[None])


def test_the_diagonal_stays_inside_and_is_the_identity_for_equal_lengths():
    assert diagonal_links(7, 7) == {(k, k) for k in range(7)}
    assert diagonal_links(5, 2) == {(1, 0), (3, 1)}  # the middle of each half
    for n, m in [(2, 11), (11, 2), (3, 5)]:
        links = diagonal_links(n, m)
        assert {i for _, i in links} == set(range(m)) and {j for j, _ in links} <= set(range(n))


def test_a_curve_gives_the_first_place_below_and_the_first_place_reached():
    assert first_below([4, 6, 8, 10], [0.95, 0.9, 0.89, 0.99]) == 8
    assert first_below([4, 6], [1.0, 0.9]) is None
    assert first_reached([50, 100, 150], [0.1, 0.9, 0.2]) == 100
    assert first_reached([50, 100], [0.1, 0.2]) is None
    with pytest.raises(ValueError, match=r"first_below: every x needs its y; got 2 x and 1 y"):
        first_below([1, 2], [0.5])


def test_spread_needs_two_trials():
    with pytest.raises(ValueError, match="two trials or more for a standard deviation; got 1"):
        mean_and_sd([0.5])
