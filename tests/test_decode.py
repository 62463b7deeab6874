"""Decoding: both twins choose alike, each sequence of a batch ends by itself, and a cache changes nothing."""

import math
from itertools import islice

import numpy as np
import pytest
import torch

from attnlib import decode
from attnlib.data.vocab import BOS, EOS, PAD
from attnlib.models import gpt
from attnlib.models.config import ModelConfig
from attnlib.models.gpt import GPT
from attnlib.models.seq2seq import ATTENTION, Seq2Seq, Seq2SeqConfig
from attnlib.reference import sampling
from attnlib.reference.ops import softmax

B, N, VOCAB = 3, 5, 11
STEPS = 13


@pytest.fixture
def bigrams(rng):
    """Log-probabilities that look at the last two tokens, so that a wrong prefix shows."""
    return np.log(softmax(rng.normal(size=(VOCAB, VOCAB, VOCAB)) * 2))


def of_arrays(table):
    return lambda prefix: table[prefix[:, -2], prefix[:, -1]]


def of_tensors(table):
    return lambda prefix: torch.tensor(table)[prefix[:, -2], prefix[:, -1]]


@pytest.fixture
def prefix(rng):
    return rng.integers(VOCAB, size=(B, N))


def test_greedy_says_what_a_loop_over_one_sequence_says(bigrams, prefix):
    said = decode.tokens(of_arrays(bigrams), prefix, max_new_tokens=STEPS)
    assert said.shape == (B, STEPS)
    for row, chosen in zip(prefix, said, strict=True):
        a, b = row[-2:]
        for token in chosen:
            assert token == bigrams[a, b].argmax()
            a, b = b, token


@pytest.mark.parametrize(
    "options", [{}, {"temperature": 0.7}, {"top_k": 3}, {"nucleus": 0.6, "temperature": 2.0}]
)
def test_both_twins_draw_the_same_from_a_seed(options, bigrams, prefix):
    arrays = decode.tokens(
        of_arrays(bigrams),
        prefix,
        decode.sampler(np.random.default_rng(1), **options),
        max_new_tokens=STEPS,
        stop=[4],
    )
    tensors = decode.tokens(
        of_tensors(bigrams),
        torch.tensor(prefix),
        decode.sampler(np.random.default_rng(1), **options),
        max_new_tokens=STEPS,
        stop=[4],
    )
    assert np.array_equal(arrays, tensors.numpy())
    other = decode.sampler(np.random.default_rng(2), **options)
    assert not np.array_equal(
        arrays, decode.tokens(of_arrays(bigrams), prefix, other, max_new_tokens=STEPS, stop=[4])
    )


def test_the_filters_leave_what_the_sampling_leaves_and_cold_is_greedy(rng):
    S = rng.normal(size=(1, VOCAB)).repeat(4000, axis=0)
    drawn = decode.sampler(rng, temperature=0.5, top_k=4, nucleus=0.9)(S)
    left = sampling.keep_nucleus(sampling.keep_top_k(S[0] / 0.5, 4), 0.9)
    P = softmax(left)
    assert set(drawn) == set(np.flatnonzero(P))
    share, spread = np.bincount(drawn, minlength=VOCAB) / len(drawn), np.sqrt(P * (1 - P) / len(drawn))
    assert (abs(share - P) <= 4 * spread).all()  # four standard errors of 4,000 draws
    assert np.array_equal(decode.sampler(rng, temperature=1e-4)(S), decode.greedy(S))


def rows_that_say(*rows):
    """Says the rows, whatever was said before: by how far the prefix is on."""

    def next_log_probs(prefix):
        chosen = [row[prefix.shape[1] - N] for row in rows]
        return np.log(np.eye(VOCAB)[chosen] + 1e-9)

    return next_log_probs


def test_each_sequence_ends_at_its_own_stop_and_then_says_padding():
    said = decode.tokens(
        rows_that_say([3, 7, 8, 1, 1], [7, 3, 3, 8, 1], [8, 7, 7, 8, 1]),
        np.array([[7, 8, 2, 2, 7]] * 3),  # with a stop in the prefix, and the beginning of one at its end
        max_new_tokens=5,
        stop=[(7, 8)],
        pad=9,
    )
    assert said.tolist() == [[3, 7, 8, 9, 9], [7, 3, 3, 8, 1], [8, 7, 7, 8, 9]]


def test_it_ends_when_all_have_ended_by_a_token_or_by_a_sequence_of_tokens():
    rows = rows_that_say([3, 7, 8, 1, 1], [2, 3, 3, 1, 1])
    said = decode.tokens(rows, np.zeros((2, N), dtype=int), max_new_tokens=5, stop=[2, (3, 7, 8)], pad=9)
    assert said.tolist() == [[3, 7, 8], [2, 9, 9]]
    assert decode.tokens(rows, np.zeros((2, N), dtype=int), max_new_tokens=0).shape == (2, 0)


def test_a_stream_has_asked_for_no_more_than_it_has_said(bigrams, prefix):
    asked = []

    def next_log_probs(prefix):
        asked.append(prefix.shape[1])
        return of_arrays(bigrams)(prefix)

    first = list(islice(decode.stream(next_log_probs, prefix, max_new_tokens=STEPS), 3))
    assert asked == [N, N + 1, N + 2]
    assert np.array_equal(np.stack(first, 1), decode.tokens(of_arrays(bigrams), prefix, max_new_tokens=3))


@pytest.mark.parametrize("text", ["one\n\ntwo", "\n\ntwo", "one\ntwo\n", "oneEND\n\n", "one\nENDED"])
@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_a_stop_in_the_text_ends_it_wherever_the_pieces_are_cut(text, size):
    stop = ["\n\n", "END"]
    pieces = [text[i : i + size] for i in range(0, len(text), size)]
    expected = text[: min((text.find(one) for one in stop if one in text), default=len(text))]
    said = list(decode.until(pieces, stop))
    assert "".join(said) == expected and all(said)


@pytest.mark.parametrize("positions", ("learned", "rotary", "none"))
@pytest.mark.parametrize("capacity", [None, 32])
@pytest.mark.parametrize("choose", [None, {"temperature": 0.8, "nucleus": 0.9}])
def test_a_gpt_with_its_cache_says_what_it_says_without(positions, capacity, choose):
    torch.manual_seed(0)
    model = GPT(
        ModelConfig(
            vocab=VOCAB, context=32, d_model=8, n_heads=2, n_layers=2, positions=positions, layout="halves"
        )
    ).double()
    gpt.initialise(model, spread=0.5)
    prefix = torch.randint(VOCAB, (B, N))

    def said(next_log_probs):
        chosen = decode.greedy if choose is None else decode.sampler(np.random.default_rng(3), **choose)
        return decode.tokens(next_log_probs, prefix, chosen, max_new_tokens=STEPS, stop=[EOS])

    with torch.no_grad():
        plain = said(lambda tokens: model(tokens)[:, -1].log_softmax(-1))
    assert torch.equal(said(model.predictor(model.new_kv_cache(capacity))), plain)


def test_with_its_cache_a_gpt_reads_each_token_once():
    model, read = GPT(ModelConfig(vocab=VOCAB, context=32, d_model=8, n_heads=2, n_layers=2)), []
    model.embed.register_forward_hook(lambda module, args, out: read.append(args[0].shape[1]))
    decode.tokens(model.predictor(), torch.zeros(B, N, dtype=torch.long), max_new_tokens=4)
    assert read == [N, 1, 1, 1]


@pytest.mark.parametrize("attention", ATTENTION)
def test_a_translation_is_the_loop_that_always_takes_the_likeliest_token(attention):
    torch.manual_seed(0)
    model = Seq2Seq(Seq2SeqConfig(VOCAB, VOCAB, attention, d_embedding=7, d_hidden=6, d_attention=5)).double()
    torch.nn.utils.vector_to_parameters(
        4 * torch.nn.utils.parameters_to_vector(model.parameters()), model.parameters()
    )
    source, mask = torch.randint(3, VOCAB, (20, N)), torch.ones(20, N, dtype=torch.bool)
    said = decode.tokens(
        model.predictor(source, mask), torch.full((20, 1), BOS), max_new_tokens=STEPS, stop=[EOS], pad=PAD
    )
    with torch.no_grad():
        for one, row in zip(source, said.tolist(), strict=True):
            words = [BOS]
            while len(words) <= STEPS and words[1:][-1:] != [EOS]:
                logits = model(one[None], mask[:1], torch.tensor([words]))
                words.append(int(logits[0, -1].argmax()))
            assert row == words[1:] + [PAD] * (len(row) - len(words) + 1)
    ended = (said == EOS).any(1)
    assert ended.any() and not ended.all()


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda rng: decode.sampler(rng, temperature=0.0),
            "temperature must be above zero; got temperature=0.0",
        ),
        (lambda rng: decode.sampler(rng, temperature=math.nan), "temperature must be above zero"),
        (
            lambda rng: decode.sampler(rng, nucleus=1.5)(np.zeros((1, 3))),
            "keep_nucleus: p must be between 0 and 1",
        ),
        (
            lambda rng: decode.stream(of_arrays(None), np.zeros((1, 2)), max_new_tokens=1, stop=[()]),
            "a stop sequence must have one token or more",
        ),
    ],
)
def test_wrong_calls_get_a_sentence_before_anything_is_said(call, sentence, rng):
    with pytest.raises(ValueError, match=sentence):
        call(rng)
