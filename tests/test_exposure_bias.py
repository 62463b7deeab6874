"""A translator that has to go on from other words: what it is given to read (book: translation)."""

from types import SimpleNamespace

import numpy as np
import pytest

from attnlib.data.bilingual import corpus, target_vocab
from attnlib.data.vocab import BOS, SPECIAL
from attnlib.interpret import exposure_bias

PLACE = 2


@pytest.fixture
def pairs():
    return corpus(4, lengths=(6, 9))


def test_a_model_reads_the_right_words_and_then_the_one_it_is_given(pairs, monkeypatch):
    read = []
    monkeypatch.setattr(
        exposure_bias.decode, "tokens", lambda predictor, given, **_: read.append(given) or given[:, :0]
    )
    mute = SimpleNamespace(predictor=lambda source, mask: None)
    words = exposure_bias.random_words(exposure_bias.reference_words(pairs, PLACE), np.random.default_rng(1))
    exposure_bias.continue_after(mute, pairs, PLACE, words)
    for row, pair, word in zip(read[0].tolist(), pairs, words, strict=True):
        assert row == [BOS, *target_vocab().encode(pair.target)[:PLACE], word]


def test_another_word_is_any_other_word():
    words = len(target_vocab()) - len(SPECIAL)
    drawn = exposure_bias.random_words(np.full(40 * words, len(SPECIAL)), np.random.default_rng(0))
    assert set(drawn) == set(range(len(SPECIAL) + 1, len(SPECIAL) + words))
