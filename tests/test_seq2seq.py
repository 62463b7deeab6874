"""The recurrent encoder-decoder, its training loop and its measures (book: the-bottleneck)."""

import itertools

import numpy as np
import pytest
import torch

from attnlib.data import tasks
from attnlib.data.bilingual import corpus, economic_area, source_vocab, target_vocab
from attnlib.data.vocab import EOS, PAD, batch, symbol_batch
from attnlib.metrics.alignment import links_from_weights
from attnlib.models.seq2seq import ATTENTION, Seq2Seq, Seq2SeqConfig
from attnlib.train.fit import fit
from attnlib.train.translation import (
    accuracy,
    predicted_tokens,
    sequence_loss,
    tensors,
    train_on_symbols,
    train_translator,
    translate,
    weights_of,
)

B, N, M, VOCAB_X, VOCAB_Y, D_E, D_H, D_A = 3, 7, 5, 11, 13, 17, 6, 19
VARIANTS = [
    *({"attention": attention, "bidirectional": both} for attention in ATTENTION for both in (True, False)),
    {"attention": "none", "context_every_step": False},
]


def tiny(**options: object) -> Seq2Seq:
    torch.manual_seed(0)
    sizes = {"d_embedding": D_E, "d_hidden": D_H, "d_attention": D_A}
    return Seq2Seq(Seq2SeqConfig(VOCAB_X, VOCAB_Y, **{**sizes, **options})).double()  # type: ignore[arg-type]


def inputs(n: int = N) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    rng = np.random.default_rng(1)
    source = torch.from_numpy(rng.integers(3, VOCAB_X, size=(B, n)))
    said = torch.from_numpy(rng.integers(3, VOCAB_Y, size=(B, M)))
    return source, torch.ones(B, n, dtype=torch.bool), said


@pytest.mark.parametrize("options", VARIANTS)
def test_logits_and_weights_have_the_shapes_of_the_book(options: dict):
    model, (source, mask, said) = tiny(**options), inputs()
    assert model(source, mask, said).shape == (B, M, VOCAB_Y)
    if options["attention"] == "none":
        with pytest.raises(ValueError, match='attention="none" has no weights; train "additive" or "dot"'):
            model.attention_weights(source, mask, said)
    else:
        P = model.attention_weights(source, mask, said)
        assert P.shape == (B, M, N)
        torch.testing.assert_close(P.sum(-1), torch.ones(B, M).double())


@pytest.mark.parametrize("options", VARIANTS)
def test_padding_changes_nothing(options: dict):
    model, (source, mask, said) = tiny(**options), inputs()
    padding = torch.full((B, 4), PAD)
    longer, hidden = (
        torch.cat([source, padding], 1),
        torch.cat([mask, torch.zeros(B, 4, dtype=torch.bool)], 1),
    )
    torch.testing.assert_close(model(longer, hidden, said), model(source, mask, said))
    if options["attention"] != "none":
        P = model.attention_weights(longer, hidden, said)
        assert not P[..., N:].any()
        torch.testing.assert_close(P[..., :N], model.attention_weights(source, mask, said))


@pytest.mark.parametrize("options", VARIANTS)
def test_sentences_of_a_batch_do_not_see_each_other(options: dict):
    model, (source, mask, said) = tiny(**options), inputs()
    mask[1, 4:] = False
    together = model(source, mask, said)
    for k in range(B):
        n = int(mask[k].sum())
        alone = model(source[k : k + 1, :n], mask[k : k + 1, :n], said[k : k + 1])
        torch.testing.assert_close(together[k : k + 1], alone)


@pytest.mark.parametrize("options", VARIANTS)
def test_logits_depend_on_what_was_said_before_and_never_on_what_comes(options: dict):
    model, (source, mask, said) = tiny(**options), inputs()
    changed = said.clone()
    changed[:, 2] = (said[:, 2] - 2) % (VOCAB_Y - 3) + 3
    before, after = model(source, mask, said), model(source, mask, changed)
    torch.testing.assert_close(before[:, :2], after[:, :2])
    assert ((before - after).abs().amax(-1)[:, 2:] > 1e-6).all()


def test_additive_attention_looks_with_the_state_before_the_step_and_dot_with_the_state_of_the_step():
    """C060: the weights of step t know the token said at t - 1 only if the query is the current state."""
    source, mask, said = inputs()
    changed = said.clone()
    changed[:, 2] = (said[:, 2] - 2) % (VOCAB_Y - 3) + 3
    for attention, first in (("additive", 3), ("dot", 2)):
        model = tiny(attention=attention)
        moved = (
            (model.attention_weights(source, mask, said) - model.attention_weights(source, mask, changed))
            .abs()
            .amax((0, 2))
        )
        assert not moved[:first].any() and (moved[first:] > 0).all()


def test_the_context_enters_at_every_step_or_only_at_the_start():
    """C145: with the first state held fixed, the summary matters only if the context is fed at every step."""
    _, _, said = inputs()
    for every_step in (True, False):
        model = tiny(attention="none", context_every_step=every_step)
        source, mask, _ = inputs()
        memory, state = model.read(source, mask)
        other = memory._replace(summary=memory.summary + 1)
        moved = model.decoder(said, state, memory).logits - model.decoder(said, state, other).logits
        assert bool(moved.abs().max() > 1e-6) == every_step


@pytest.mark.parametrize("options", VARIANTS)
def test_a_sentence_decoded_word_by_word_is_the_sentence_decoded_at_once(options: dict):
    """`translate` keeps a state; feeding back what it said must give the same choices and the same weights."""
    model, (source, mask, _) = tiny(**options).eval(), inputs()
    tokens, weights = translate(model, source, mask, max_new_tokens=9)
    began = torch.cat([torch.full((B, 1), 1), tokens[:, :-1]], 1)
    again = model.decode(source, mask, began)
    for k in range(B):
        end = (tokens[k] == EOS).nonzero()
        length = int(end[0]) + 1 if len(end) else tokens.shape[1]
        assert (again.logits[k, :length].argmax(-1) == tokens[k, :length]).all()
        assert (tokens[k, length:] == PAD).all()
        if weights is not None and again.P is not None:
            torch.testing.assert_close(weights[k, :length], again.P[k, :length])
    assert (weights is None) == (options["attention"] == "none")


@pytest.mark.parametrize("options", VARIANTS)
def test_every_parameter_gets_a_gradient(options: dict):
    model, (source, mask, said) = tiny(**options), inputs()
    (model(source, mask, said) * torch.randn(B, M, VOCAB_Y).double()).sum().backward()
    assert all(p.grad is not None and p.grad.abs().max() > 0 for p in model.parameters())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"attention": "luong"}, "attention must be one of none, additive, dot; got 'luong'"),
        ({"d_hidden": 7}, "got d_hidden=7. Make it even, or set bidirectional=False"),
    ],
)
def test_a_wrong_configuration_is_explained(options: dict, message: str):
    with pytest.raises(ValueError, match=message):
        tiny(**options)


def test_a_mask_with_a_hole_is_refused():
    source, mask, said = inputs()
    mask[0, 2] = False
    with pytest.raises(ValueError, match="real tokens, which come first; pad at the end"):
        tiny()(source, mask, said)


def test_loss_and_accuracy_ignore_padding():
    pairs = corpus(6, lengths=(3, 9), seed=1)
    data = batch(pairs, source_vocab(), target_vocab())
    model = Seq2Seq(Seq2SeqConfig(len(source_vocab()), len(target_vocab()))).double()
    alone = [batch([pair], source_vocab(), target_vocab()) for pair in pairs]
    sizes = [one.target_mask.sum() for one in alone]
    by_hand = sum(sequence_loss(model, one).item() * n for one, n in zip(alone, sizes, strict=True)) / sum(
        sizes
    )
    assert sequence_loss(model, data).item() == pytest.approx(by_hand)
    right = sum(accuracy(model, one).token * n for one, n in zip(alone, sizes, strict=True)) / sum(sizes)
    assert accuracy(model, data).token == pytest.approx(right)


@pytest.mark.training
@pytest.mark.parametrize("attention", ATTENTION)
def test_twelve_sentences_are_learned_by_heart(attention: str):
    pairs = corpus(12, lengths=(3, 7), seed=1)
    model = train_translator(pairs, attention, steps=90, lr=1e-2, batch_size=12, d_hidden=32, d_embedding=32)
    data = batch(pairs, source_vocab(), target_vocab())
    assert accuracy(model, data).exact == 1
    t = tensors(data)
    tokens, _ = translate(model, t.source, t.source_mask)
    assert [target_vocab().decode(row) for row in tokens.tolist()] == [pair.target for pair in pairs]


def test_exact_sentences_are_those_that_translate_says():
    """Half-trained, so that some are right and some are wrong."""
    pairs = corpus(60, lengths=(3, 5), seed=1)
    model = train_translator(pairs, "dot", steps=60, lr=1e-2, d_hidden=32, d_embedding=32)
    data = batch(pairs, source_vocab(), target_vocab())
    exact = ((predicted_tokens(model, data) == data.target_out) | ~data.target_mask).all(1)
    t = tensors(data)
    tokens, _ = translate(model, t.source, t.source_mask)
    said = [target_vocab().decode(row) for row in tokens.tolist()]
    assert [words == pair.target for words, pair in zip(said, pairs, strict=True)] == exact.tolist()
    assert 0 < exact.sum() < len(pairs)
    assert accuracy(model, data).exact == pytest.approx(exact.mean())


def test_training_is_the_same_for_the_same_seed():
    pairs = corpus(30, lengths=(3, 6), seed=1)
    losses: dict[int, list[float]] = {}
    for run, seed in enumerate((0, 0, 1)):
        losses[run] = []
        train_translator(
            pairs,
            "dot",
            steps=4,
            seed=seed,
            after_step=lambda model, step, loss, run=run: losses[run].append(loss),
        )
    assert losses[0] == losses[1] != losses[2]


@pytest.mark.training
def test_reversal_is_learned_and_the_weights_find_the_anti_diagonal():
    """S016: the largest weight of output i is at position n - 1 - i."""

    def data():
        for seed in itertools.count():
            yield symbol_batch(*tasks.reverse(32, 5, 7, seed=seed)[:2])

    model = train_on_symbols(data(), 7, "dot", steps=180, lr=1e-2, d_hidden=32, d_embedding=32)
    task = tasks.reverse(20, 5, 7, seed=-1 % 2**31)
    unseen = symbol_batch(task.source, task.target)
    assert accuracy(model, unseen).token > 0.95
    t = tensors(unseen)
    P = model.attention_weights(t.source, t.source_mask, t.target_in).detach().numpy()[:, :5, :5]
    gold = links_from_weights(task.weights[0])
    found = np.mean([len(links_from_weights(p) & gold) / 5 for p in P])
    assert found > 0.9


def test_weights_are_cut_to_the_sentence():
    model = train_translator(corpus(8, seed=1), "additive", steps=1, d_hidden=8)
    pair = economic_area()
    assert weights_of(model, [pair])[0].shape == (13, 12)
    assert weights_of(model, [pair], end=True)[0].shape == (14, 13)


def test_fit_follows_its_learning_rate_and_wants_enough_batches():
    class Slope(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = torch.nn.Parameter(torch.zeros(()))

    def loss(model: Slope, data: float) -> torch.Tensor:
        return -model.w * data

    model, seen = Slope(), []
    fit(
        model,
        loss,
        itertools.repeat(1.0),
        steps=10,
        lr=0.5,
        after_step=lambda step, _: seen.append(model.w.item()),
    )
    moved = np.diff([0.0, *seen])
    assert moved == pytest.approx(
        [0.5] * 6 + [0.4, 0.3, 0.2, 0.1], rel=1e-4
    )  # Adam: a constant slope, one lr a step
    with pytest.raises(ValueError, match="3 steps need as many batches; got 2"):
        fit(Slope(), loss, [1.0, 1.0], steps=3)
