"""BLEU, by hand and beside sacrebleu (book: translation, eq-bleu)."""

import math

import numpy as np
import pytest

from attnlib.metrics.bleu import (
    SMOOTHINGS,
    Counts,
    bleu,
    brevity_penalty,
    clipped_matches,
    corpus_bleu,
    counts,
    sentence_bleu,
)

RIGHT = ["le", "petit", "chat", "dort", "dans", "la", "grande", "maison"]


def drawn(rng: np.random.Generator, n_sentences: int, n_references: int):
    """Sentences of few different words, so that n-grams of all sizes match now and then; some are empty."""
    words = np.array(["la", "le", "zone", "accord", "signé"])

    def sentence(shortest: int) -> list[str]:
        return rng.choice(words, size=rng.integers(shortest, 11)).tolist()

    references = [[sentence(1) for _ in range(n_references)] for _ in range(n_sentences)]
    said = [sentence(0) if rng.random() < 0.5 else [*right[0][:6], *sentence(0)[:3]] for right in references]
    return said, references


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
@pytest.mark.parametrize("n_references", [1, 3])
def test_a_corpus_has_the_bleu_of_sacrebleu(smoothing, n_references):
    sacrebleu = pytest.importorskip("sacrebleu")
    rng = np.random.default_rng(n_references)
    for n_sentences in (1, 2, 7, 40):
        said, references = drawn(rng, n_sentences, n_references)
        theirs = sacrebleu.BLEU(tokenize="none", smooth_method=smoothing)
        joined = [[" ".join(right[k]) for right in references] for k in range(n_references)]
        expected = theirs.corpus_score([" ".join(words) for words in said], joined).score
        assert corpus_bleu(said, references, smoothing) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_a_sentence_has_the_bleu_of_sacrebleu(smoothing):
    sacrebleu = pytest.importorskip("sacrebleu")
    said, references = drawn(np.random.default_rng(7), 200, 2)
    theirs = sacrebleu.BLEU(tokenize="none", smooth_method=smoothing, effective_order=True)
    mine = [sentence_bleu(words, right, smoothing) for words, right in zip(said, references, strict=True)]
    expected = [
        theirs.sentence_score(" ".join(words), [" ".join(one) for one in right]).score
        for words, right in zip(said, references, strict=True)
    ]
    np.testing.assert_allclose(mine, expected, rtol=0, atol=1e-9)
    assert len({round(score, 6) for score in mine}) > 20, "many different scores were compared"


def test_by_hand():
    """6 of 6 words are right, 3 of 5 pairs, 2 of 4 triples, 1 of 3 fours; and two words are missing."""
    found = counts(["le", "chat", "dort", "dans", "la", "maison"], [RIGHT])
    assert found == Counts([6, 3, 2, 1], [6, 5, 4, 3], candidate_length=6, reference_length=8)
    shares = [6 / 6, 3 / 5, 2 / 4, 1 / 3]
    assert bleu(found) == pytest.approx(100 * math.exp(1 - 8 / 6) * math.prod(shares) ** 0.25)


def test_a_right_word_said_again_and_again_counts_as_often_as_it_is_right():
    assert clipped_matches(["le"] * 7, [["le", "chat", "le"]], 1) == 2
    assert clipped_matches(["le"] * 7, [["le", "chat", "le"], ["le"] * 3], 1) == 3, "the most generous"
    repeated = corpus_bleu([["le", "chat"] * 4], [[RIGHT]])
    assert repeated < corpus_bleu([RIGHT], [[RIGHT]]) / 4


def test_what_is_left_out_costs():
    assert brevity_penalty(8, 8) == brevity_penalty(9, 8) == 1
    assert brevity_penalty(4, 8) == pytest.approx(math.exp(-1))
    assert corpus_bleu([RIGHT[:5]], [[RIGHT]]) == pytest.approx(100 * math.exp(1 - 8 / 5))


def test_the_nearest_length_counts_and_of_two_the_shorter():
    assert counts(["a"] * 5, [["a"] * 3, ["a"] * 7, ["a"] * 20]).reference_length == 3
    assert counts(["a"] * 6, [["a"] * 3, ["a"] * 7, ["a"] * 20]).reference_length == 7


def test_a_corpus_is_no_mean_of_sentences():
    said, references = [RIGHT, ["chien"]], [[RIGHT], [["chat"]]]
    alone = [sentence_bleu(words, right) for words, right in zip(said, references, strict=True)]
    assert np.mean(alone) == pytest.approx(50)
    assert corpus_bleu(said, references) > 90, "one word in nine is wrong, and no longer n-gram"


def test_nothing_right_is_zero_and_all_right_is_a_hundred():
    for smoothing in SMOOTHINGS:
        assert corpus_bleu([["chien"] * 5], [[RIGHT]], smoothing) == 0
        assert corpus_bleu([[]], [[RIGHT]], smoothing) == 0
        assert corpus_bleu([RIGHT], [[RIGHT]], smoothing) == pytest.approx(100)


def test_wrong_calls_are_told():
    with pytest.raises(ValueError, match="got 2 sentences and 1 lists"):
        corpus_bleu([RIGHT, RIGHT], [[RIGHT]])
    with pytest.raises(ValueError, match="smoothing"):
        corpus_bleu([RIGHT], [[RIGHT]], "laplace")
