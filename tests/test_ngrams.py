"""Counting what came next: distributions that sum to one, and equal to counts by hand."""

import numpy as np
import pytest
import torch

from attnlib.models.ngrams import NGrams

VOCAB = 5


@pytest.fixture
def tokens(rng):
    return rng.integers(VOCAB, size=40)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_each_row_is_a_distribution_whatever_the_prefix(tokens, rng, order):
    model = NGrams(tokens, vocab=VOCAB, order=order)
    for n in (1, 2, 6):
        P = np.exp(model(rng.integers(VOCAB, size=(3, n))))
        np.testing.assert_allclose(P.sum(-1), 1)
        assert (P > 0).all()


def test_a_trigram_is_the_discounted_counts_of_two_contexts_and_of_none(tokens):
    model, d = NGrams(tokens, vocab=VOCAB, order=3, discount=0.6), 0.6
    text, P = tokens[10:12].tolist(), np.full(VOCAB, 1 / VOCAB)
    for n in range(3):
        context = text[2 - n :]
        seen = [tokens[i + n] for i in range(len(tokens) - n) if tokens[i : i + n].tolist() == context]
        counts = np.bincount(seen, minlength=VOCAB)
        P = (np.maximum(counts - d, 0) + d * (counts > 0).sum() * P) / counts.sum()
    np.testing.assert_allclose(np.exp(model(np.array([text]))[0]), P)


def test_both_twins_are_told_the_same(tokens):
    model, prefix = NGrams(tokens, vocab=VOCAB, order=3), tokens[None, :7]
    np.testing.assert_array_equal(model(torch.tensor(prefix)).numpy(), model(prefix))
