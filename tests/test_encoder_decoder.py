"""Two stacks and a memory: what may be seen, padding, token by token, a search that reorders, and one more rival."""

import numpy as np
import pytest
import torch
from torch import nn

from attnlib import decode
from attnlib.data.vocab import BOS, EOS, PAD
from attnlib.interpret.capture import capture
from attnlib.models.encoder_decoder import (
    EncoderDecoder,
    encoder_decoder_config,
    n_parameters,
    transformer_base,
)
from attnlib.reference.positional import sinusoids
from attnlib.testing import assert_close

B, N, M, SOURCE, TARGET = 3, 7, 5, 23, 19
LENGTHS = (7, 2, 4)
KINDS = {
    "pre": {},
    "post": {"order": "post"},
    "learned": {"positions": "learned", "n_decoder_layers": 3, "dropout": 0.5},
    "tied": {"tied": True, "activation": "gelu"},
}


def model(kind="pre", **options):
    torch.manual_seed(0)
    config = encoder_decoder_config(
        SOURCE, TARGET, context=16, d_model=12, n_heads=3, **KINDS[kind], **options
    )
    return EncoderDecoder(config).double().eval()


@pytest.fixture
def texts():
    generator = torch.Generator().manual_seed(1)
    source = torch.randint(3, SOURCE, (B, N), generator=generator)
    mask = torch.arange(N) < torch.tensor(LENGTHS)[:, None]
    return source.where(mask, PAD), mask, torch.randint(3, TARGET, (B, M), generator=generator)


@pytest.mark.parametrize("kind", KINDS)
def test_the_future_is_not_seen_the_whole_source_is_and_one_text_does_not_hear_another(kind, texts):
    whole, (source, mask, said) = model(kind), texts
    before, other = whole(source, mask, said), said.clone()
    other[0, 3:] = 1 + other[0, 3:] % 15
    after = whole(source, mask, other)
    assert torch.equal(before[1:], after[1:]) and torch.equal(before[0, :3], after[0, :3])
    assert (before[0, 3:] - after[0, 3:]).abs().amax(-1).min() > 1e-6
    for place in range(LENGTHS[0]):
        asked = source.clone()
        asked[0, place] = 3 + (asked[0, place] - 2) % 20
        after = whole(asked, mask, said)
        assert torch.equal(before[1:], after[1:]) and (before[0] - after[0]).abs().amax(-1).min() > 1e-9


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_with_padding_is_its_texts_one_by_one(kind, texts):
    whole, (source, mask, said) = model(kind), texts
    together = whole(source, mask, said)
    garbage = whole(source.where(mask, 7), mask, said)
    assert torch.equal(together, garbage)
    for b, n in enumerate(LENGTHS):
        assert_close(whole(source[b : b + 1, :n], None, said[b : b + 1]), together[b : b + 1], "float64")


@pytest.mark.parametrize("kind", KINDS)
def test_a_predictor_says_token_by_token_what_the_model_says_at_once(kind, texts):
    whole, (source, mask, said) = model(kind), texts
    expected = whole(source, mask, said).log_softmax(-1)
    predictor = whole.predictor(source, mask)
    for m in range(1, M + 1):
        assert_close(predictor(said[:, :m]), expected[:, m - 1], "float64")
    at_once = whole.predictor(source, mask)
    assert_close(at_once(said), expected[:, -1], "float64")


def test_each_token_is_read_once_and_the_source_is_read_and_projected_once(texts):
    whole, (source, mask, said) = model(), texts
    read = {}
    for name in (
        "embed_target.table",
        "embed_source.table",
        "decoder.1.cross.W_K",
        "decoder.0.attention.W_K",
    ):
        part = whole.get_submodule(name)
        part.register_forward_hook(
            lambda part, given, out, name=name: read.setdefault(name, []).append(given[0].shape[1])
        )
    predictor = whole.predictor(source, mask)
    for m in range(1, M + 1):
        predictor(said[:, :m])
    assert read["embed_target.table"] == read["decoder.0.attention.W_K"] == [1] * M
    assert read["embed_source.table"] == read["decoder.1.cross.W_K"] == [N]


def test_greedy_with_a_predictor_is_greedy_with_the_whole_model(texts):
    whole, (source, mask, _) = model(), texts
    first = torch.full((B, 1), BOS)
    options = {"max_new_tokens": 12, "stop": [EOS], "pad": PAD}
    slowly = decode.tokens(lambda prefix: whole(source, mask, prefix)[:, -1].detach(), first, **options)
    assert torch.equal(decode.tokens(whole.predictor(source, mask), first, **options), slowly)


@pytest.mark.parametrize("begin", [0, 2])
def test_a_reordered_predictor_goes_on_from_the_rows_that_it_was_told(begin, texts):
    """As in a beam search: each text twice, then hypotheses are chosen, of their own text or another's."""
    whole, (source, mask, said) = model(), texts
    predictor, rows = whole.predictor(source, mask), torch.arange(B)
    if begin:
        predictor(said[:, :begin])
    for step, order in enumerate(([0, 0, 1, 1, 2, 2], [1, 0, 3, 3, 4, 5], [0, 1, 2, 3, 4, 5], [5, 0, 2])):
        order = torch.tensor(order)
        predictor.reorder(order)
        rows, said = rows[order], torch.cat([said[order], torch.full((len(order), 1), 3 + step)], dim=1)
        expected = whole(source[rows], mask[rows], said)[:, -1].log_softmax(-1)
        assert_close(predictor(said), expected, "float64")


def test_what_stays_where_it_is_is_not_copied(texts):
    whole, (source, mask, said) = model(), texts
    predictor = whole.predictor(source, mask)
    predictor.reorder(torch.tensor([0, 0, 1, 1, 2, 2]))
    said = said.repeat_interleave(2, dim=0)
    predictor(said)

    def places():
        return [
            [A.data_ptr() for A in cache._held]
            for layers in zip(*predictor.kv_cache, strict=True)
            for cache in layers
        ]

    before = places()
    predictor.reorder(torch.arange(6))
    assert places() == before
    said_before = [layer.K.clone() for layer in predictor.kv_cache.target]
    order = torch.tensor([1, 1, 2, 3, 5, 4])  # within each text
    predictor.reorder(order)
    assert places()[1::2] == before[1::2]
    for layer, K in zip(predictor.kv_cache.target, said_before, strict=True):
        assert torch.equal(layer.K, K[order])


def test_who_looks_where_in_the_source_can_be_captured(texts):
    whole, (source, mask, said) = model(), texts
    with capture(whole) as seen:
        whole(source, mask, said)
    P = seen["decoder.1.cross.P"]
    assert P.shape == (B, 3, M, N)
    assert_close(P.sum(-1), torch.ones(B, 3, M), "float64")
    assert (P.transpose(1, 3).transpose(2, 3)[~mask] == 0).all()


def test_without_cross_attention_the_output_cannot_depend_on_the_source_and_with_it_every_score_does(texts):
    """S160: the memory enters through cross-attention alone. Its slope is exactly zero where that is silent."""
    source, mask, said = texts
    for silent in (True, False):
        whole = model()
        if silent:
            for block in whole.decoder:
                nn.init.zeros_(block.cross.W_O.weight)
        memory = whole.encode(source, mask).detach().requires_grad_()
        scores = whole.decode(memory, mask, said)
        (slope,) = torch.autograd.grad(scores.square().sum(), memory)
        assert (slope[mask] == 0).all() if silent else (slope[mask] != 0).any(-1).all()
        assert torch.equal(whole(source.flip(0), mask.flip(0), said), scores) == silent


def test_one_class_of_block_is_an_encoder_a_decoder_and_both(texts):
    """S088: mask and cross-attention select the family; a decoder block that reads nothing is a causal block."""
    from attnlib.nn.multihead import MultiHeadAttention
    from attnlib.nn.transformer import Block

    source, _, _ = texts
    whole = model()
    encoder, decoder = whole.encoder[0], whole.decoder[0]
    X = whole.embed_source(source)
    Y = whole.encode(source)
    alone = Block(
        attention=MultiHeadAttention(d_model=12, n_heads=3, causal=True),
        feed_forward=decoder.feed_forward,
    ).double()
    alone.attention.load_state_dict(decoder.attention.state_dict())
    alone.norm_1, alone.norm_2 = decoder.norm_1, decoder.norm_3
    nn.init.zeros_(decoder.cross.W_O.weight)
    assert torch.equal(decoder(X, memory=Y), alone(X))
    alone.attention.load_state_dict(encoder.attention.state_dict())
    alone.feed_forward, alone.norm_1, alone.norm_2 = encoder.feed_forward, encoder.norm_1, encoder.norm_2
    alone.attention.causal = False
    assert torch.equal(alone(X), encoder(X))
    size = lambda part: sum(W.numel() for W in part.parameters())  # noqa: E731
    assert size(alone) == size(encoder) == size(decoder) - size(decoder.cross) - size(decoder.norm_2)


def test_the_memory_has_one_vector_for_each_token_of_the_source_and_can_be_any_length(texts):
    """eq-memory: three tokens in, three vectors out that have heard all, and the decoder takes as many as there are."""
    whole, (source, _, said) = model(), texts
    for n in (1, 3, N):
        memory = whole.encode(source[:, :n])
        assert memory.shape == (B, n, 12)
        other = source[:, :n].clone()
        other[:, -1] = 3 + (other[:, -1] - 2) % 20
        assert (whole.encode(other) != memory).any(-1).all()  # each has heard the last token
        assert whole.decode(memory, None, said).shape == (B, M, TARGET)


def test_before_training_the_loss_is_about_that_of_knowing_nothing(texts):
    for kind in KINDS:
        source, mask, said = texts
        loss = nn.functional.cross_entropy(model(kind)(source, mask, said).flatten(0, 1), said.flatten())
        assert abs(loss.item() - np.log(TARGET)) < 1.5


def test_before_training_learned_places_are_as_large_as_sines_and_cosines():
    torch.manual_seed(0)
    wide = EncoderDecoder(encoder_decoder_config(SOURCE, TARGET, d_model=200, n_heads=2, positions="learned"))
    for part in (wide.embed_source, wide.embed_target):
        size = part.places.weight.square().mean().item()
        assert size == pytest.approx((sinusoids(wide.config.context, 200) ** 2).mean(), rel=0.05)


def test_tied_and_shared_tables_are_one_table():
    both = EncoderDecoder(
        encoder_decoder_config(SOURCE, SOURCE, d_model=12, n_heads=3, tied=True, shared=True)
    )
    assert both.unembed.weight is both.embed_source.table.weight is both.embed_target.table.weight
    apart = encoder_decoder_config(SOURCE, SOURCE, d_model=12, n_heads=3)
    assert n_parameters(apart) - n_parameters(both.config) == 2 * SOURCE * 12
    assert sum(W.numel() for W in both.parameters()) == n_parameters(both.config)


def test_the_base_model_of_2017_has_about_65_million_parameters():
    """The paper prints 65 million and rounds; its table of 37,000 pieces is rounded, too."""
    base = transformer_base()
    assert abs(n_parameters(base) / 65e6 - 1) < 0.04
    assert (base.context, base.d_model, base.n_heads, base.order) == (512, 512, 8, "post")


def test_it_learns_to_say_a_sequence_backwards():
    """S072: every target token depends on one source token, and which one only cross-attention can fetch."""
    torch.manual_seed(0)
    whole = EncoderDecoder(encoder_decoder_config(11, 11, context=8, d_model=32, n_heads=2, n_layers=1))
    optimiser = torch.optim.Adam(whole.parameters(), lr=3e-3)

    def batch(size):
        source = torch.randint(3, 11, (size, 5))
        target = source.flip(1)
        return source, torch.cat([torch.full((size, 1), BOS), target[:, :-1]], dim=1), target

    for _ in range(300):
        source, said, target = batch(64)
        loss = nn.functional.cross_entropy(whole(source, None, said).flatten(0, 1), target.flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    source, _, target = batch(200)
    assert len(source.unique(dim=0)) > 190  # out of 32,768: hardly one was trained on
    said = decode.tokens(whole.eval().predictor(source), torch.full((200, 1), BOS), max_new_tokens=5)
    assert (said == target).all(1).float().mean() > 0.95


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"positions": "clock"}, "positions must be one of learned, rotary, .*; got 'clock'"),
        ({"shared": True}, "one table needs one vocabulary; got source_vocab=23 and vocab=19"),
    ],
)
def test_a_config_that_cannot_be_says_so(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        encoder_decoder_config(SOURCE, TARGET, **options)


def test_a_text_that_is_too_long_says_so(texts):
    source, _, said = texts
    with pytest.raises(ValueError, match="got 17 tokens for context=16"):
        model()(source[:, :1].expand(B, 17), None, said)
