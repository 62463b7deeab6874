"""The course's translator: what it can do, what it refuses, where it looks, and what a wrong word does to it."""

from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from attnlib.data.bilingual import Pair, corpus, economic_area, source_vocab, target_vocab
from attnlib.data.results import load_result
from attnlib.data.vocab import BOS, EOS, PAD, batch
from attnlib.decode import tokens
from attnlib.interpret.cross import cross_weights
from attnlib.interpret.exposure_bias import continue_after, likely_words, random_words, reference_words
from attnlib.metrics.alignment import diagonal_links, links_from_weights
from attnlib.metrics.bleu import corpus_bleu
from attnlib.models import translator as translator_module
from attnlib.models.encoder_decoder import EncoderDecoder, n_parameters
from attnlib.models.translator import FOLDER, LENGTHS, translate, translator, translator_config
from attnlib.train.translation import accuracy, sequence_loss, tensors


@cache
def trained() -> EncoderDecoder:
    return translator()


@cache
def unseen(size: int = 300, lengths: tuple[int, int] = LENGTHS) -> list[Pair]:
    return corpus(size, lengths=lengths, split="test", seed=11)


def encoded(pairs: list[Pair]):
    return batch(pairs, source_vocab(), target_vocab())


def test_it_is_as_small_as_its_card_says():
    size = n_parameters(translator_config())
    assert size <= 1_000_000 and (FOLDER / "model.safetensors").stat().st_size <= 2_000_000
    assert f"{size:,}" in (FOLDER / "MODEL_CARD.md").read_text()


def test_it_is_loaded_whole_and_tied():
    model = trained()
    assert model.unembed.weight is model.embed_target.table.weight
    assert all(torch.equal(p, p.bfloat16().float()) for p in model.parameters()), "stored in bfloat16"


def test_it_translates_99_of_100_unseen_sentences_exactly():
    by_length = [
        accuracy(trained(), encoded(corpus(40, lengths=(n, n), split="test", seed=12)))
        for n in range(LENGTHS[0], LENGTHS[1] + 1)
    ]
    assert np.mean([one.exact for one in by_length]) >= 0.99
    assert load_result("translation")["held_out"]["exact"] >= 0.99


def test_what_it_says_is_as_good_as_what_it_ranks_first():
    """Exact match with the right words before, and exact match of what it says by itself, are one figure."""
    t = tensors(encoded(unseen()))
    start = torch.full_like(t.source[:, :1], BOS)
    said = tokens(trained().predictor(t.source, t.source_mask), start, max_new_tokens=40, stop=[EOS], pad=PAD)
    rows = [target_vocab().decode(row) for row in said.tolist()]
    exact = [row == pair.target for row, pair in zip(rows, unseen(), strict=True)]
    assert np.mean(exact) == pytest.approx(accuracy(trained(), encoded(unseen())).exact)
    assert corpus_bleu(rows, [[pair.target] for pair in unseen()]) > 99


def test_the_translator_was_trained_on_the_lengths_that_its_page_names():
    assert LENGTHS == (3, 16)


def test_a_translation_begins_behind_one_mark(monkeypatch):
    begun = []

    def begins(predictor, prefix, **options):
        begun.append(prefix.tolist())
        return tokens(predictor, prefix, **options)

    monkeypatch.setattr("attnlib.decode.tokens", begins)
    translate(trained(), "The old cat sleeps.")
    assert begun == [[[BOS]]]


def test_a_typed_sentence_is_translated_and_a_strange_word_is_named():
    assert translate(trained(), "The old cat sleeps.") == "le vieux chat dort"
    with pytest.raises(ValueError, match=r"got 'elephant', 'sleps'\. It does know .*sleeps"):
        translate(trained(), "the elephant sleps")
    with pytest.raises(ValueError, match="no word at all"):
        translate(trained(), " . ")


def test_one_pass_asks_at_every_place_what_as_many_passes_would():
    torch.manual_seed(0)
    model = EncoderDecoder(translator_config()).double()
    t = tensors(encoded([economic_area()]))
    with torch.no_grad():
        at_once = model(t.source, t.source_mask, t.target_in)
        for n in range(1, t.target_in.shape[1] + 1):
            alone = model(t.source, t.source_mask, t.target_in[:, :n])[:, -1]
            torch.testing.assert_close(alone, at_once[:, n - 1], rtol=0, atol=1e-12)


def test_the_loss_does_not_hear_of_padding():
    """A short sentence beside a long one: what is written in place of its padding changes nothing."""
    torch.manual_seed(0)
    model = EncoderDecoder(translator_config()).double()
    data = encoded([*corpus(1, lengths=(3, 3)), *corpus(1, lengths=(9, 9))])
    other = data._replace(
        source=np.where(data.source_mask, data.source, 7),
        target_out=np.where(data.target_mask, data.target_out, 7),
    )
    losses = [sequence_loss(model, one).item() for one in (data, other)]
    assert losses[0] == pytest.approx(losses[1], abs=1e-12)


# ---- Where it looks --------------------------------------------------------------------------------------------------


def test_one_head_finds_the_true_links_far_better_than_the_diagonal():
    def wrong(links, pair):
        return len(set(links) - set(pair.possible)) / len(links)

    weights = cross_weights(trained(), unseen())
    heads = np.array(
        [
            [[wrong(links_from_weights(head[:-1]), pair) for head in layer] for layer in P]
            for P, pair in zip(weights, unseen(), strict=True)
        ]
    ).mean(axis=0)
    diagonal = np.mean([wrong(diagonal_links(len(p.source), len(p.target)), p) for p in unseen()])
    assert heads.shape == (2, 4) and heads.min() < diagonal / 2


def test_cross_weights_are_shares_of_the_words_of_each_sentence():
    for P, pair in zip(cross_weights(trained(), unseen()[:20]), unseen(), strict=False):
        assert P.shape == (2, 4, len(pair.target) + 1, len(pair.source) + 1)
        np.testing.assert_allclose(P.sum(axis=-1), 1, atol=1e-5)


# ---- One wrong word --------------------------------------------------------------------------------------------------

PLACE = 3


def test_a_translation_may_have_twice_as_many_words_as_its_sentence_and_eight_more(monkeypatch):
    asked = []
    speaks = SimpleNamespace(predictor=lambda source: source.shape)

    def tokens(shape, start, max_new_tokens, **_):
        asked.append((tuple(shape), start.tolist(), max_new_tokens))
        return torch.tensor([target_vocab().encode(["la", "zone"])])

    monkeypatch.setattr(translator_module.decode, "tokens", tokens)
    assert translate(speaks, "the area") == "la zone"
    assert asked == [((1, 3), [[BOS]], 2 * 2 + 8)] and translator_config().context == 64


def exact_behind(words: np.ndarray, pairs: list[Pair]) -> float:
    rests = continue_after(trained(), pairs, PLACE, words)
    return float(np.mean([r == p.target[PLACE + 1 :] for r, p in zip(rests, pairs, strict=True)]))


def test_behind_a_wrong_word_more_goes_wrong_than_behind_a_right_one():
    pairs = unseen(lengths=(8, 16))
    right = reference_words(pairs, PLACE)
    clean = exact_behind(right, pairs)
    plausible = exact_behind(likely_words(trained(), pairs, PLACE), pairs)
    random = exact_behind(random_words(right, np.random.default_rng(0)), pairs)
    assert clean > 0.97 and random < plausible < clean - 0.05 and random < 0.6


def test_wrong_words_are_wrong_and_words():
    pairs = unseen(lengths=(8, 16))
    right = reference_words(pairs, PLACE)
    drawn = random_words(np.repeat(right, 50), np.random.default_rng(1))
    for words, others in ((drawn, np.repeat(right, 50)), (likely_words(trained(), pairs, PLACE), right)):
        assert (words != others).all() and words.min() >= 3 and words.max() < len(target_vocab())
    assert len(set(drawn)) > 0.9 * len(target_vocab())
