"""Searching for the best text: beam search against enumeration, one by one, with its memory, and Hugging Face's."""

import itertools
import math

import numpy as np
import pytest
import torch
import transformers

from attnlib import decode
from attnlib.beam import beam_search, best_score, exact_search, gnmt, power
from attnlib.models import gpt
from attnlib.models.config import ModelConfig
from attnlib.models.gpt import GPT
from attnlib.models.seq2seq import ATTENTION, Seq2Seq, Seq2SeqConfig
from attnlib.reference.ops import softmax

VOCAB, LONGEST, STOP = 3, 5, 2
PENALTIES = {
    "sum": power(0),
    "root": power(0.6),
    "mean": power(1),
    "published": gnmt(0.6),
    "short": power(-0.5),
}


@pytest.fixture
def table(rng):
    """Log-probabilities that look at the last two tokens."""
    return np.log(softmax(1.5 * rng.normal(size=(VOCAB, VOCAB, VOCAB))))


def of_arrays(table):
    return lambda prefix: table[prefix[:, -2], prefix[:, -1]]


def of_tensors(table):
    return lambda prefix: torch.tensor(table)[prefix[:, -2], prefix[:, -1]]


def every_text(table, start, most=LONGEST, stop=STOP):
    """All that can be said after two tokens, by enumeration: {tokens: sum of log-probabilities}."""
    texts = {}
    for length in range(1, most + 1):
        for said in itertools.product(range(VOCAB), repeat=length):
            ends = stop in said
            if said.index(stop) == length - 1 if ends else length == most:
                whole = (*start, *said)
                texts[said] = sum(table[whole[i], whole[i + 1], whole[i + 2]] for i in range(length))
    return texts


def ranked(texts, penalty):
    return sorted(texts, key=lambda said: -texts[said] / penalty(len(said)))


def test_the_texts_are_all_there_are(table):
    assert math.isclose(sum(map(math.exp, every_text(table, (0, 1)).values())), 1)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_as_wide_as_the_tree_the_beam_is_exact_and_so_is_the_search_that_judges(table, penalty):
    penalty = PENALTIES[penalty]
    texts = every_text(table, (0, 1))
    best = ranked(texts, penalty)[:7]
    options = {"max_new_tokens": LONGEST, "stop": [STOP], "penalty": penalty, "n_best": 7}
    start = np.array([[0, 1]])
    (wide,) = beam_search(of_arrays(table), start, width=VOCAB**LONGEST, **options)
    judged = exact_search(of_arrays(table), start, **options)
    for found in (wide, judged):
        assert [one.tokens for one in found] == best
        for one in found:
            assert math.isclose(one.log_prob, texts[one.tokens])
            assert math.isclose(one.score, texts[one.tokens] / penalty(len(one.tokens)))
            assert one.ended == (one.tokens[-1] == STOP)


def test_the_probabilities_of_all_that_can_be_said_sum_to_one(table):
    options = {"width": VOCAB**LONGEST, "max_new_tokens": LONGEST, "stop": [STOP], "n_best": VOCAB**LONGEST}
    (found,) = beam_search(of_arrays(table), np.array([[0, 1]]), **options)
    assert len(found) == len(every_text(table, (0, 1)))
    assert math.isclose(sum(math.exp(one.log_prob) for one in found), 1)


def slow_beam(table, start, width, penalty, n_best):
    """A beam for one sentence that goes on to the end, whatever has ended."""
    going, over = [((), 0.0)], []
    for _ in range(LONGEST):
        grown = [
            ((*said, w), total + table[(*start, *said)[-2], (*start, *said)[-1], w])
            for said, total in going
            for w in range(VOCAB)
        ]
        grown.sort(key=lambda one: -one[1])
        over += [one for one in grown[:width] if one[0][-1] == STOP]
        going = [one for one in grown if one[0][-1] != STOP][:width]
    return sorted(over + going, key=lambda one: -one[1] / penalty(len(one[0])))[:n_best]


@pytest.mark.parametrize("width", [1, 2, 3, 5])
@pytest.mark.parametrize("penalty", PENALTIES)
def test_it_stops_early_and_finds_what_it_would_have_found_later(rng, width, penalty):
    penalty, saved = PENALTIES[penalty], 0
    for _ in range(30):
        table = np.log(softmax(2 * rng.normal(size=(VOCAB, VOCAB, VOCAB))))
        asked = []

        def counted(prefix, table=table, asked=asked):
            asked.append(1)
            return of_arrays(table)(prefix)

        n_best = min(width, 2)
        (found,) = beam_search(
            counted,
            np.array([[0, 1]]),
            width=width,
            max_new_tokens=LONGEST,
            stop=[STOP],
            penalty=penalty,
            n_best=n_best,
        )
        expected = slow_beam(table, (0, 1), width, penalty, n_best)
        assert [one.tokens for one in found] == [tokens for tokens, _ in expected]
        saved += len(asked) < LONGEST
    assert saved


def test_nothing_that_goes_on_can_pass_the_bound(table):
    texts = every_text(table, (0, 1))
    for penalty in PENALTIES.values():
        for tokens, total in texts.items():
            beginning = beam_search(of_arrays(table), np.array([[0, 1]]), width=1, max_new_tokens=1)[0][0]
            if tokens[:1] == beginning.tokens and len(tokens) > 1:
                assert best_score(beginning, LONGEST, penalty) >= total / penalty(len(tokens))


def test_a_beam_of_one_is_greedy(table):
    start = np.array([[0, 1], [1, 2], [2, 0]])
    greedy = decode.tokens(of_arrays(table), start, max_new_tokens=LONGEST, stop=[STOP], pad=9)
    for row, (one,) in zip(
        greedy.tolist(),
        beam_search(of_arrays(table), start, width=1, max_new_tokens=LONGEST, stop=[STOP]),
        strict=True,
    ):
        assert list(one.tokens) == [token for token in row if token != 9]


@pytest.mark.parametrize("width", [2, 4])
def test_a_batch_says_what_each_sentence_says_alone_in_both_twins(rng, width):
    table = np.log(softmax(2 * rng.normal(size=(VOCAB, VOCAB, VOCAB))))
    start = rng.integers(VOCAB, size=(7, 2))
    options = {"width": width, "max_new_tokens": LONGEST, "stop": [STOP], "penalty": power(0.6), "n_best": 2}
    together = beam_search(of_arrays(table), start, **options)
    assert [beam_search(of_arrays(table), row[None], **options)[0] for row in start] == together
    tensors = beam_search(of_tensors(table), torch.tensor(start), **options)
    assert [[one.tokens for one in beam] for beam in tensors] == [[one.tokens for one in b] for b in together]
    lengths = {len(beam[0].tokens) for beam in together}
    assert len(lengths) > 1, "or nobody waited for anybody"


def test_what_has_ended_is_asked_for_nothing_more(table):
    def watched(prefix):
        assert not (prefix[:, 2:] == STOP).any()
        return of_arrays(table)(prefix)

    beam_search(
        watched, np.array([[0, 1], [STOP, STOP]]), width=4, max_new_tokens=LONGEST, stop=[STOP], n_best=4
    )


@pytest.mark.parametrize("positions", ["learned", "rotary"])
@pytest.mark.parametrize("capacity", [None, 32])
def test_with_its_memory_reordered_a_gpt_says_what_it_says_without(positions, capacity):
    torch.manual_seed(0)
    config = ModelConfig(
        vocab=11, context=32, d_model=8, n_heads=2, n_layers=2, positions=positions, layout="halves"
    )
    model = GPT(config).double()
    gpt.initialise(model, spread=0.5)
    start = torch.randint(11, (3, 5))
    options = {"width": 4, "max_new_tokens": 9, "stop": [2], "penalty": gnmt(0.6), "n_best": 3}

    @torch.no_grad()
    def plain(prefix):
        return model(prefix)[:, -1].log_softmax(-1)

    orders = []
    predictor = model.predictor(model.new_kv_cache(capacity))
    inner = predictor.reorder
    predictor.reorder = lambda order: (orders.append(order.tolist()), inner(order))
    found, expected = beam_search(predictor, start, **options), beam_search(plain, start, **options)
    for ours, theirs in zip(found, expected, strict=True):
        assert [one.tokens for one in ours] == [one.tokens for one in theirs]
        np.testing.assert_allclose([one.score for one in ours], [one.score for one in theirs], rtol=1e-10)
    assert any(sorted(order) != order for order in orders), "or nothing was reordered"
    assert not any(order == list(range(len(order))) for order in orders[1:]), "the identity copies nothing"


@pytest.mark.parametrize("attention", ATTENTION)
def test_a_translation_remembers_in_the_order_of_its_beam(attention):
    torch.manual_seed(0)
    model = Seq2Seq(Seq2SeqConfig(11, 11, attention, d_embedding=7, d_hidden=6, d_attention=5)).double()
    torch.nn.utils.vector_to_parameters(
        4 * torch.nn.utils.parameters_to_vector(model.parameters()), model.parameters()
    )
    source, mask = torch.randint(3, 11, (5, 4)), torch.ones(5, 4, dtype=torch.bool)
    options = {"width": 3, "max_new_tokens": 6, "stop": [2]}
    found = beam_search(model.predictor(source, mask), torch.ones(5, 1, dtype=torch.long), **options)
    for row, beam in enumerate(found):
        lone = source[row : row + 1]

        @torch.no_grad()
        def plain(prefix, lone=lone):
            many = lone.expand(len(prefix), -1)
            return model(many, torch.ones_like(many, dtype=torch.bool), prefix)[:, -1].log_softmax(-1)

        (expected,) = beam_search(plain, torch.ones(1, 1, dtype=torch.long), **options)
        assert [one.tokens for one in beam] == [one.tokens for one in expected]


@pytest.mark.parametrize("width", [2, 4])
@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
def test_it_finds_what_hugging_face_finds(width, alpha):
    """With early_stopping="never", their name for a stop that is sure; their other settings stop by a guess."""
    torch.manual_seed(3)
    theirs = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=11,
            n_positions=32,
            n_embd=8,
            n_layer=2,
            n_head=2,
            initializer_range=0.8,
            bos_token_id=1,
            eos_token_id=2,
        )
    ).eval()
    start = torch.randint(3, 11, (12, 3))
    generated = theirs.generate(
        start,
        attention_mask=torch.ones_like(start),
        num_beams=width,
        num_return_sequences=width,
        max_new_tokens=7,
        length_penalty=alpha,
        early_stopping="never",
        eos_token_id=2,
        pad_token_id=0,
        do_sample=False,
        output_scores=True,
        return_dict_in_generate=True,
    )

    @torch.no_grad()
    def plain(prefix):
        return theirs(prefix).logits[:, -1].log_softmax(-1)

    found = beam_search(
        plain, start, width=width, max_new_tokens=7, stop=[2], penalty=power(alpha), n_best=width
    )
    said = [one.tokens for beam in found for one in beam]
    theirs_said = [
        row[: row.index(2) + 1] if 2 in row else row for row in generated.sequences[:, 3:].tolist()
    ]
    assert [list(one) for one in said] == theirs_said
    scores = [one.score for beam in found for one in beam]
    np.testing.assert_allclose(scores, generated.sequences_scores, rtol=1e-4)
    assert {len(one) for one in said} != {7}


def test_greedy_loses_where_the_first_step_looks_best(rng):
    """0.6 · 0.4 against 0.4 · 0.9: a beam of two, and the judge, find what greedy has thrown away."""
    after = np.log([[0.01, 0.59, 0.40], [0.4, 0.3, 0.3], [0.9, 0.05, 0.05]])

    def next_log_probs(prefix):
        return after[prefix[:, -1]]

    start = np.array([[0]])
    greedy, beam = (beam_search(next_log_probs, start, width=w, max_new_tokens=2)[0][0] for w in (1, 2))
    best = exact_search(next_log_probs, start, max_new_tokens=2)[0]
    assert beam.tokens == best.tokens == (2, 0) != greedy.tokens
    assert math.isclose(math.exp(best.log_prob), 0.36) and greedy.log_prob < best.log_prob


def test_greedy_is_never_above_the_best_text(rng):
    gaps = []
    for _ in range(20):
        table = np.log(softmax(2 * rng.normal(size=(VOCAB, VOCAB, VOCAB))))
        options = {"max_new_tokens": LONGEST, "stop": [STOP]}
        greedy = decode.tokens(of_arrays(table), np.array([[0, 1]]), **options)[0].tolist()
        whole = [0, 1, *greedy]
        said = sum(table[whole[i], whole[i + 1], whole[i + 2]] for i in range(len(greedy)))
        best = exact_search(of_arrays(table), np.array([[0, 1]]), **options)[0]
        gaps.append(best.log_prob - said)
    assert min(gaps) >= -1e-12
    assert 5 <= sum(gap < 1e-12 for gap in gaps) < 20, "greedy is often best, and not always"


def test_in_the_example_of_the_lecture_greedy_and_beam_say_the_same():
    """I 0.6, am 0.9, a 0.7, student 0.8: the scores after two steps are the logarithms of 0.54 and 0.18."""
    steps = {
        (): {"I": 0.6, "Me": 0.3},
        ("I",): {"am": 0.9, "have": 0.03},
        ("Me",): {"too": 0.6, "is": 0.2, "am": 0.01},
        ("I", "am"): {"a": 0.7, "student": 0.1},
        ("I", "am", "a"): {"student": 0.8},
    }
    words = ["", *sorted({word for after in steps.values() for word in after})]

    def next_log_probs(prefix):
        rows = [steps.get(tuple(words[i] for i in row[1:]), {}) for row in prefix]
        P = np.array([[after.get(word, 0.0) for word in words] for after in rows])
        with np.errstate(divide="ignore"):
            return np.log(P)

    def said(width, max_new_tokens, n_best=1):
        (beam,) = beam_search(
            next_log_probs, np.array([[0]]), width=width, max_new_tokens=max_new_tokens, n_best=n_best
        )
        return [(" ".join(words[i] for i in one.tokens), one.log_prob) for one in beam]

    (first, second) = said(2, 2, n_best=2)
    assert first == ("I am", pytest.approx(math.log(0.60) + math.log(0.90)))
    assert second == ("Me too", pytest.approx(math.log(0.30) + math.log(0.60)))
    assert math.exp(first[1]) == pytest.approx(0.54) and math.exp(second[1]) == pytest.approx(0.18)
    assert said(1, 4) == said(2, 4) == [("I am a student", pytest.approx(math.log(0.3024)))]


def test_the_order_of_two_texts_flips_when_they_are_divided_by_a_power_of_their_length():
    short, long = (-2.0, 4), (-2.3, 6)
    for alpha, first in ((0.0, short), (0.6, long), (1.0, long)):
        assert max((short, long), key=lambda one: one[0] / power(alpha)(one[1])) == first
    assert power(0)(7) == 1 and power(1)(7) == 7
    assert gnmt(1)(7) == 2 and gnmt(0)(7) == 1


def test_wrong_calls_get_a_sentence(table):
    start = np.array([[0, 1]])
    for call, sentence in [
        (
            lambda: beam_search(lambda prefix: np.array([[1.0, 2.0]]), start, width=1, max_new_tokens=3),
            "must give log-probabilities, which are at most zero; got 2. Apply the log-softmax to scores",
        ),
        (lambda: beam_search(of_arrays(table), start, width=0, max_new_tokens=3), "width at least 1"),
        (
            lambda: beam_search(of_arrays(table), start, width=2, n_best=3, max_new_tokens=3),
            "got n_best=3, width=2",
        ),
        (
            lambda: exact_search(
                lambda prefix: np.full((1, 9), -math.log(9)), start, max_new_tokens=9, at_most=50
            ),
            "exact_search: the tree must be small enough to search; 50 hypotheses were expanded",
        ),
    ]:
        with pytest.raises(ValueError, match=sentence):
            call()


def test_a_predictor_that_has_read_further_says_so():
    predictor = GPT(ModelConfig(vocab=11, context=32, d_model=8, n_heads=2, n_layers=2)).predictor()
    with pytest.raises(
        ValueError, match="Predictor: a prefix must grow; got 4 tokens after 4. `crop` it first"
    ):
        exact_search(predictor, torch.tensor([[1, 2, 3]])[:, :3], max_new_tokens=2)
