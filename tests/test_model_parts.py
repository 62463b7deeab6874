"""A model is made of named parts: each part is what its name says, a new one needs no forward, and old draws stay."""

import math

import pytest
import torch
from torch import nn

from attnlib.data.bilingual import source_vocab, target_vocab
from attnlib.models import parts
from attnlib.models.config import ModelConfig
from attnlib.models.course import CONFIG
from attnlib.models.course import FOLDER as COURSE
from attnlib.models.encoder_decoder import EncoderDecoder, encoder_decoder_config
from attnlib.models.gpt import GPT
from attnlib.models.stack import Stack, stack_config
from attnlib.models.translator import FOLDER as TRANSLATION
from attnlib.nn import transformer
from attnlib.nn.masks import causal_mask, window_mask
from attnlib.nn.relative import alibi
from attnlib.testing import assert_close

VOCAB, CONTEXT, D, HEADS, LAYERS, B, N = 31, 16, 12, 3, 2, 2, 7
SIZES = {"context": CONTEXT, "d_model": D, "n_heads": HEADS, "n_layers": LAYERS}


def tokens(n=N, seed=0):
    return torch.randint(VOCAB, (B, n), generator=torch.Generator().manual_seed(seed))


def gpt(**options):
    torch.manual_seed(0)
    return GPT(ModelConfig(VOCAB, **SIZES, **options)).double().eval()


# ---- Numbers that were stored, and those that a seed gives --------------------------------------------------------


def drawn_by_hand(seed):
    """GPT-2's first parameters by PyTorch's own layers, in the order in which the course has always drawn them."""
    torch.manual_seed(seed)
    embed, places = nn.Embedding(VOCAB, D), nn.Embedding(CONTEXT, D)
    widths = [(D, D)] * 4 + [(D, 4 * D), (4 * D, D)]
    blocks = [[nn.Linear(*width) for width in widths] for _ in range(LAYERS)]
    unembed = nn.Linear(D, VOCAB, bias=False)
    unembed.weight = embed.weight
    maps = [W for block in blocks for W in block]
    for layer in (embed, places, *maps, unembed):
        nn.init.normal_(layer.weight, std=0.02)
    for block in blocks:
        for writes in (block[3], block[5]):
            nn.init.normal_(writes.weight, std=0.02 / math.sqrt(2 * LAYERS))
    return [embed.weight, places.weight, *(W.weight for W in maps)]


@pytest.mark.parametrize("seed", range(3))
def test_a_seed_gives_the_numbers_that_it_gave(seed):
    expected = drawn_by_hand(seed)
    after = torch.rand(3)
    torch.manual_seed(seed)
    model = GPT(ModelConfig(VOCAB, **SIZES))
    assert torch.equal(torch.rand(3), after)  # and whatever is drawn next
    found = [W for name, W in model.named_parameters() if W.dim() > 1]
    assert len(found) == len(expected)
    assert all(torch.equal(W, other) for W, other in zip(found, expected, strict=True))


@pytest.mark.parametrize(
    ("make", "folder", "tied"),
    [
        (lambda: GPT(CONFIG), COURSE, {"unembed.weight"}),
        (
            lambda: EncoderDecoder(
                encoder_decoder_config(len(source_vocab()), len(target_vocab()), d_model=64, tied=True)
            ),
            TRANSLATION,
            {"unembed.weight"},
        ),
    ],
)
def test_stored_parameters_have_the_names_and_shapes_of_the_model(make, folder, tied):
    from safetensors.torch import load_file

    with torch.device("meta"):
        shapes = {name: W.shape for name, W in make().state_dict().items() if name not in tied}
    assert {name: W.shape for name, W in load_file(folder / "model.safetensors").items()} == shapes


# ---- Parts that are there -------------------------------------------------------------------------------------------


def test_a_bias_on_the_scores_by_name_is_that_bias_given_to_each_block():
    model, plain = gpt(positions="none", score_bias="alibi"), gpt(positions="none")
    plain.load_state_dict(model.state_dict())
    X = plain.embed(tokens())
    for block in plain.blocks:
        X = block(X, bias=alibi(HEADS, N, N).double())
    assert_close(model.hidden(tokens()), plain.norm(X), "float64")
    assert (model(tokens()) - plain(tokens())).abs().max() > 1e-4


def test_a_window_by_name_is_that_mask_given_to_each_block():
    model, plain = gpt(window=2), gpt()
    X = plain.places(plain.embed(tokens()))
    for block in plain.blocks:
        X = block(X, mask=window_mask(N, 2, 0))
    assert_close(model.hidden(tokens()), plain.norm(X), "float64")


@pytest.mark.parametrize(
    "told",
    [
        {"score_bias": "alibi"},
        {"score_bias": "t5", "farthest": 20},
        {"score_bias": "offsets", "farthest": 3},
        {"window": 2},
        {"positions": "sinusoids"},
        {"positions": "index"},
        {"order": "post"},
        {"norm": "none", "gated": True, "activation": "none"},
    ],
    ids=str,
)
@torch.no_grad()
def test_every_part_goes_on_where_the_cache_ends_and_sees_nothing_that_comes_later(told):
    model = gpt(**{"positions": "none", **told})
    for name, W in model.named_parameters():
        if name.startswith("blocks.score_bias"):
            W.normal_()  # a learned bias begins as zeros
    kv_cache = model.new_kv_cache()
    steps = [model(part, kv_cache) for part in tokens().split([3, 1, 2, 1], dim=1)]
    assert_close(torch.cat(steps, dim=1), model(tokens()), "float64")
    other = tokens()
    other[:, 4:] = (other[:, 4:] + 1) % VOCAB
    assert_close(model(other)[:, :4], model(tokens())[:, :4], "float64")


def test_an_encoder_decoder_takes_them_too():
    torch.manual_seed(0)
    config = encoder_decoder_config(
        VOCAB, VOCAB, **SIZES, positions="none", score_bias="t5", norm="rms", gated=True, bias=False
    )
    model = EncoderDecoder(config).double().eval()
    whole = model(tokens(), None, tokens(5, seed=1)).log_softmax(-1)
    predictor = model.predictor(tokens())
    for m in range(1, 6):
        assert_close(predictor(tokens(5, seed=1)[:, :m]), whole[:, m - 1], "float64")
    assert (
        model.encoder.score_bias.sort.keywords["both"] and not model.decoder.score_bias.sort.keywords["both"]
    )


@pytest.mark.parametrize("field", parts.PARTS)
def test_a_part_that_there_is_not_gets_one_sentence(field):
    with pytest.raises(ValueError, match=f"ModelConfig: {field} must be one of .*; got 'clock'"):
        ModelConfig(VOCAB, **{field: "clock"})


# ---- Parts that come later ------------------------------------------------------------------------------------------


class RunningMean(nn.Module):
    """A mixer without queries, keys and values: the mean of what came before, mapped."""

    def __init__(self, d_model):
        super().__init__()
        self.d_model, self.W_O = d_model, nn.Linear(d_model, d_model)

    def forward(self, X):
        seen = causal_mask(X.shape[-2]).to(X)
        return self.W_O(seen @ X / seen.sum(-1, keepdim=True))


class TwoExperts(nn.Module):
    """A feed-forward network of two, of which each token takes one."""

    def __init__(self, config):
        super().__init__()
        self.choose, self.experts = (
            nn.Linear(config.d_model, 2),
            nn.ModuleList(map(parts.dense, [config] * 2)),
        )

    def forward(self, X):
        first, second = (expert(X) for expert in self.experts)
        return torch.where(self.choose(X).argmax(-1, keepdim=True) == 0, first, second)


def test_another_mixer_and_another_network_are_rows_of_tables(monkeypatch):
    """What a state-space model or a mixture of experts needs: no forward of a block, a stack or a model is touched."""
    monkeypatch.setitem(transformer.SUBLAYERS, "mean", lambda block, Z, given: block.mean(Z))
    monkeypatch.setitem(parts.MIXERS, "mean", lambda config: {"mean": RunningMean(config.d_model)})
    monkeypatch.setitem(parts.FEED_FORWARDS, "experts", TwoExperts)
    model = gpt(mixer="mean", feed_forward="experts", positions="none")
    other = tokens()
    other[:, 4:] = (other[:, 4:] + 1) % VOCAB
    assert torch.equal(model(other)[:, :4], model(tokens())[:, :4])
    assert (model(other)[:, 4:] - model(tokens())[:, 4:]).abs().max() > 1e-4
    assert [name for name, _ in model.blocks[0].named_children()][:4] == [
        "mean",
        "feed_forward",
        "norm_1",
        "norm_2",
    ]
    stack = Stack(stack_config(VOCAB, 5, d_model=D, context=CONTEXT, mixer="mean", n_layers=2))
    assert stack(tokens()).shape == (B, N, 5)


def test_a_block_takes_the_sublayers_that_it_knows_how_to_call():
    with pytest.raises(
        ValueError, match="block: a sublayer must be one of attention, state, cross, feed_forward; got 'mean'"
    ):
        transformer.Block(mean=RunningMean(D))
    with pytest.raises(ValueError, match="block: there must be a sublayer or more; got none"):
        transformer.Block(feed_forward=None)


# ---- Norms after a sublayer, rotation of a part, latents ----------------------------------------------------------


@pytest.mark.parametrize(("order", "before"), [("after", False), ("sandwich", True)])
def test_a_norm_after_a_sublayer_fixes_the_size_of_what_it_adds(order, before):
    """However large the maps are: the order of OLMo 2, and of Gemma 2 with a norm before as well."""
    block = gpt(order=order, norm="rms").blocks[0]
    X = torch.randn(B, N, D, dtype=torch.float64)
    read = block.norm_1(X) if before else X
    assert isinstance(block.norm_1, nn.RMSNorm) == before
    middle = X + block.after_1(block.attention(read))
    assert_close(block(X), middle + block.after_2(block.feed_forward(block.norm_2(middle))), "float64")
    with torch.no_grad():
        block.attention.W_O.weight.mul_(1e4)
    assert_close(
        (block.after_1(block.attention(read))).square().mean(-1), torch.ones(B, N), "central difference"
    )


def test_a_part_of_each_head_is_rotated_and_the_rest_is_blind_to_positions():
    layer = parts.rotation(ModelConfig(VOCAB, positions="rotary", layout="halves", d_k=2, **SIZES))
    partly = parts.part_rotation(
        ModelConfig(VOCAB, positions="partly rotary", layout="halves", d_rotated=2, **SIZES)
    )
    Q = torch.randn(B, HEADS, N, 4)
    assert torch.equal(partly(Q, 3)[..., :2], layer(Q[..., :2], 3))
    assert torch.equal(partly(Q, 3)[..., 2:], Q[..., 2:])


def test_a_gpt_with_latents_reads_token_by_token_as_all_at_once():
    model = gpt(mixer="latent", d_latent=5, d_rotated=2, positions="rotary", layout="halves", norm="rms")
    cache = model.new_kv_cache()
    with torch.no_grad():
        whole = model(tokens())
        steps = [model(part, cache) for part in tokens().split([3, 1, 3], dim=1)]
    assert_close(torch.cat(steps, dim=1), whole, "float64")
    assert cache[0].nbytes == B * N * (5 + 2) * 8


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"mixer": "latent", "d_rotated": 2}, "d_latent must be given for latent keys and values; got None"),
        ({"mixer": "latent", "d_latent": 2}, "d_rotated must be given for rotated parts of a head; got None"),
    ],
)
def test_latents_need_their_widths(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        ModelConfig(VOCAB, **SIZES, **change)
