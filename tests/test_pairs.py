"""The language of pairs: what can be known of it is what its text says (book: the-block)."""

import numpy as np
import pytest

from attnlib.data.pairs import PairLanguage, best_sum, cross_entropy_bits, floors, pair_language, text

LANGUAGE = pair_language(n_symbols=5, seed=3)


def test_the_text_follows_the_language():
    """n = 40,000 independent pieces; each frequency of their last three symbols within 5 standard errors."""
    a, b, c = text(LANGUAGE, 40_000, 6, seed=1)[:, -3:].T
    pairs, triples = np.zeros((5, 5)), np.zeros((5, 5, 5))
    np.add.at(pairs, (a, b), 1)
    np.add.at(triples, (a, b, c), 1)
    error = np.sqrt(LANGUAGE.pairs * (1 - LANGUAGE.pairs) / 40_000)
    assert (np.abs(pairs / 40_000 - LANGUAGE.pairs) < 5 * error).all()
    error = np.sqrt(LANGUAGE.next * (1 - LANGUAGE.next) / pairs[..., None])
    assert (np.abs(triples / pairs[..., None] - LANGUAGE.next) < 5 * error + 3 / pairs[..., None]).all()


class Last(np.random.Generator):
    """Draws the last number below one, always."""

    def random(self, size=None):
        return np.full(size or (), np.nextafter(1.0, 0.0))


def test_there_is_a_symbol_for_each_number_drawn():
    v = 7
    even = PairLanguage(np.full((v, v, v), 1 / v), np.full((v, v), v**-2.0))
    assert even.next.cumsum(axis=-1).max() < np.nextafter(1.0, 0.0)  # sums of floats
    assert (text(even, 3, 5, Last(np.random.PCG64(0)))[:, 2:] == v - 1).all()


def test_pairs_are_what_a_long_text_has():
    moved = np.einsum("ab,abc->bc", LANGUAGE.pairs, LANGUAGE.next)
    np.testing.assert_allclose(moved, LANGUAGE.pairs, atol=1e-12)


def test_bits_are_a_mean_over_all_that_comes():
    assert cross_entropy_bits(np.full((2, 4), 1 / 8), np.full((2, 4), 1 / 4)) == 2.0


def test_whoever_knows_more_pays_less():
    found = list(floors(LANGUAGE).values())
    assert found == sorted(found, reverse=True) and found[-1] > 0
    assert found[0] == pytest.approx(np.log2(5))


def test_the_floors_are_conditional_entropies():
    """H(c), H(b, c) - H(b), H(a, b, c) - H(a, b), each from its own table."""

    def entropy(table):
        return -(table * np.log2(table)).sum()

    whole = LANGUAGE.pairs[:, :, None] * LANGUAGE.next
    singles, lasts = whole.sum(axis=(0, 1)), whole.sum(axis=0)
    found = floors(LANGUAGE)
    assert found["frequencies"] == pytest.approx(entropy(singles))
    assert found["last symbol"] == pytest.approx(entropy(lasts) - entropy(lasts.sum(axis=1)))
    assert found["both"] == pytest.approx(entropy(whole) - entropy(LANGUAGE.pairs))
    assert found["both, added"] == pytest.approx(cross_entropy_bits(whole, best_sum(whole)))


def test_the_best_sum_is_a_sum_and_no_other_sum_is_better():
    together = LANGUAGE.pairs[:, :, None] * LANGUAGE.next
    guess = best_sum(together)
    scores = np.log(guess)
    mixed = scores - scores[:1] - scores[:, :1] + scores[:1, :1]  # what a pair has of its own
    np.testing.assert_allclose(mixed - mixed.mean(axis=-1, keepdims=True), 0, atol=1e-9)
    rng = np.random.default_rng(0)
    for size in (0.3, 0.03):
        other = np.exp(scores + size * rng.normal(size=(1, 5, 5)) + size * rng.normal(size=(5, 1, 5)))
        assert cross_entropy_bits(together, other / other.sum(axis=-1, keepdims=True)) > cross_entropy_bits(
            together, guess
        )


def test_the_best_sum_says_a_distribution_for_each_pair(rng):
    together = rng.gamma(1.0, size=(3, 3, 3))
    np.testing.assert_allclose(best_sum(together / together.sum()).sum(axis=-1), 1)


def test_a_sum_loses_nothing_where_there_is_nothing_else():
    rng = np.random.default_rng(1)
    after = np.exp(rng.normal(size=(1, 4, 4)) + rng.normal(size=(4, 1, 4)))
    after /= after.sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(best_sum(after / 16), after, atol=1e-8)
