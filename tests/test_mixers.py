"""A model whose layers name their mixers: what each is, that each caches what it needs, and what all of it costs."""

import copy
import io
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from attnlib.beam import beam_search
from attnlib.models import costs, gpt, mixer_costs, parts
from attnlib.models.config import ModelConfig, stored_config
from attnlib.models.encoder_decoder import EncoderDecoder, encoder_decoder_config
from attnlib.models.gpt import GPT
from attnlib.models.start import initialise
from attnlib.nn.cache import KVCache
from attnlib.nn.delta_rule import DeltaRule
from attnlib.nn.masks import window_mask
from attnlib.nn.ring_cache import RingCache
from attnlib.nn.state_cache import StateCache
from attnlib.reference import delta_rule as delta
from attnlib.reference.activations import swish
from attnlib.reference.convolution import short_convolution
from attnlib.reference.heads import merge_heads, split_heads
from attnlib.reference.norm import rms_norm
from attnlib.speculative import drawn_by, speculate
from attnlib.testing import assert_close

VOCAB, CONTEXT, D, HEADS, B, N, WINDOW = 31, 80, 12, 3, 2, 19, 4
ROTARY: dict[str, Any] = {"positions": "rotary", "layout": "halves"}
KINDS = {
    "full": {"mixer": "full", **ROTARY},
    "window": {"mixer": "window", "window": WINDOW, **ROTARY},
    "window of one": {"mixer": "window", "window": 0},
    "linear": {"mixer": "linear", "positions": "none"},
    "delta": {"mixer": "delta", "positions": "none"},
    "plain delta": {"mixer": "delta", "positions": "none", "conv": None, "output_gate": False, "norm": "rms"},
    "delta and full": {"mixer": ("delta", "delta", "delta", "full"), **ROTARY},
    "state space": {"mixer": "state space", "positions": "none"},
    "state space and full": {"mixer": ("state space", "full"), "conv": None, "bias": False, "norm": "rms", **ROTARY},
    "window and full": {"mixer": ("window", "full"), "window": WINDOW, "n_kv_heads": 1, **ROTARY},
    "one of each": {"mixer": ("window", "linear", "delta", "full"), "window": WINDOW, "score_bias": "alibi",
                    "positions": "none", "bias": False, "qk_norm": True},
    "delta and latent": {"mixer": ("delta", "latent"), "d_latent": 5, "d_rotated": 2, **ROTARY},
}  # fmt: skip
kinds = pytest.mark.parametrize("kind", KINDS)


def config(kind, n_layers=4, **more):
    sizes = {"context": CONTEXT, "d_model": D, "n_heads": HEADS, "n_layers": n_layers}
    return ModelConfig(VOCAB, **{**sizes, **KINDS[kind], **more})


def made(kind, **more):
    torch.manual_seed(0)
    model = GPT(config(kind, **more)).double().eval()
    with torch.no_grad():
        for W in model.parameters():  # so that every part has a say
            W.add_(0.3 * torch.randn_like(W))
    return model


def tokens(n=N, seed=0, b=B):
    return torch.randint(VOCAB, (b, n), generator=torch.Generator().manual_seed(seed))


# --- a pattern ------------------------------------------------------------------------------------------------------


def test_a_pattern_is_repeated_and_one_word_means_all_layers():
    assert config("delta and full", n_layers=6).mixers == ("delta",) * 3 + ("full",) + ("delta",) * 2
    assert config("delta").mixers == ("delta",) * 4
    assert ModelConfig(VOCAB).mixers == ("attention",) * 4
    kept = [type(cache) for cache in made("one of each").new_kv_cache()]
    assert kept == [RingCache, StateCache, StateCache, KVCache]


def test_full_is_the_attention_that_all_layers_had_to_the_last_bit():
    models = []
    for word in ("attention", "full", ("full",), ("attention", "full")):
        torch.manual_seed(0)
        models.append(GPT(ModelConfig(VOCAB, context=CONTEXT, d_model=D, n_heads=HEADS, mixer=word)))
    for other in models[1:]:
        assert all(
            torch.equal(A, other.state_dict()[name]) for name, A in models[0].state_dict().items()
        ) and torch.equal(models[0](tokens()), other(tokens()))


def test_layers_named_window_are_a_stack_whose_layers_all_have_one():
    model, plain = made("window"), GPT(config("window", mixer="attention")).double()
    plain.load_state_dict(model.state_dict())
    assert_close(model(tokens()), plain(tokens()), "float64")
    assert_close(model(tokens())[:, :5], made("full")(tokens())[:, :5], "float64")  # shorter than the window
    assert (model(tokens()) - made("full")(tokens())).abs().max() > 1e-3


def test_beside_a_window_a_full_layer_sees_everything():
    model = made("window and full", positions="none", n_layers=2)
    X = model.embed(tokens())
    X = model.blocks[0](X.clone(), mask=window_mask(N, WINDOW, 0))
    assert_close(model.hidden(tokens()), model.norm(model.blocks[1](X)), "float64")


def test_rotations_reach_the_layers_that_have_scores_and_no_others():
    model, rotated = made("delta and full"), []
    model.blocks.rotate.register_forward_hook(lambda rotate, given, A: rotated.append(tuple(A.shape)))
    model(tokens())
    assert rotated == [(B, HEADS, N, D // HEADS)] * 2, "queries and keys of the one full layer"


@kinds
def test_what_comes_later_changes_nothing(kind):
    model, other = made(kind), tokens()
    other[:, 11:] = (other[:, 11:] + 1) % VOCAB
    assert_close(model(other)[:, :11], model(tokens())[:, :11], "float64")
    assert ((model(other) - model(tokens()))[:, 11:].abs().amax(-1) > 1e-6).all()


def test_a_model_of_several_mixers_is_stored_and_comes_back():
    model, file = made("one of each"), io.BytesIO()
    model.save(file)
    file.seek(0)
    again = GPT.load(file)
    assert again.config == model.config and torch.equal(again(tokens()), model(tokens()))
    assert stored_config({"vocab": 5, "mixer": ["delta", "full"]}).mixer == ("delta", "full")


def test_a_further_mixer_with_a_state_is_one_row(monkeypatch):
    """What a state space needs: a layer with `d_model` that takes a StateCache."""

    class RunningSum(nn.Module):
        def __init__(self, d_model, n_heads, bias, norm):
            super().__init__()
            self.d_model, self.W_O, self.norm_Z = d_model, nn.Linear(d_model, d_model, bias), norm(d_model)

        def forward(self, X, mask=None, kv_cache=None):
            held = None if kv_cache is None else kv_cache.state
            S = X.cumsum(-2) + (0 if held is None else held[:, 0])
            if kv_cache is not None:
                kv_cache.hold(S[:, None, -1:], X.shape[-2])
            return self.W_O(self.norm_Z(S))

    monkeypatch.setitem(parts.MIXERS, "sum", lambda config: parts.with_state(config, RunningSum))
    model = made("full", mixer=("sum", "full"))
    caches = model.new_kv_cache()
    steps = [model(part, caches) for part in tokens().split([7, 1, 11], dim=1)]
    assert_close(torch.cat(steps, dim=1), model(tokens()), "float64")
    assert [type(cache) for cache in caches] == [StateCache, KVCache] * 2
    with pytest.raises(ValueError, match="costs: a mixer that is counted must be one of .*; got 'sum'"):
        costs.parameters(model.config)


def test_the_decays_of_a_new_model_are_those_of_the_layer():
    """The start of a GPT makes all biases zero, with which every head would forget half at each token."""
    for block in GPT(config("delta")).blocks:
        assert torch.equal(block.state.W_decay.bias, -torch.linspace(2.0, 6.0, HEADS))
        assert (block.state.W_G.bias == 1).all() and (block.state.conv.C[-1] - 1).abs().max() < 0.6


# --- the layer of Qwen3-Next, and NumPy -----------------------------------------------------------------------------


@torch.no_grad()
def test_the_delta_layer_with_convolution_and_gate_is_that_of_qwen3_next():
    from transformers.models.qwen3_next.configuration_qwen3_next import Qwen3NextConfig
    from transformers.models.qwen3_next.modeling_qwen3_next import Qwen3NextGatedDeltaNet

    torch.manual_seed(0)
    d_k, d_v = 5, 7
    theirs = Qwen3NextGatedDeltaNet(
        Qwen3NextConfig(
            hidden_size=D, linear_num_value_heads=HEADS, linear_num_key_heads=HEADS, linear_key_head_dim=d_k,
            linear_value_head_dim=d_v, rms_norm_eps=1e-12, num_hidden_layers=2, linear_conv_kernel_dim=4,
        ),
        0,
    ).float()  # fmt: skip
    theirs.A_log.zero_()  # then their decay is exp(-softplus(.)), as here
    ours = DeltaRule(d_model=D, n_heads=HEADS, d_k=d_k, d_v=d_v, decay="learned", conv=4, gate=True, bias=False,
                     norm=partial(nn.RMSNorm, eps=1e-12))  # fmt: skip
    ours.W_step, ours.W_G.bias[:] = nn.Linear(D, HEADS, bias=False), 0
    of_heads = theirs.in_proj_qkvz.weight.unflatten(0, (HEADS, -1)).split([d_k, d_k, d_v, d_v], dim=1)
    step, decay = theirs.in_proj_ba.weight.unflatten(0, (HEADS, 2)).unbind(1)
    for W, weight in [
        *zip((ours.W_Q, ours.W_K, ours.W_V, ours.W_G), (W.flatten(0, 1) for W in of_heads), strict=True),
        (ours.W_step, step), (ours.W_decay, decay), (ours.W_O, theirs.out_proj.weight),
    ]:  # fmt: skip
        W.weight.copy_(weight)
    ours.W_decay.bias.copy_(theirs.dt_bias)
    ours.conv.C.copy_(theirs.conv1d.weight[:, 0].T)
    X = torch.randn(B, 70, D)
    expected = theirs(X)
    assert (ours(X) - expected).abs().max() < 1e-4 * expected.abs().max()


def test_convolution_and_gate_of_a_layer_are_those_of_numpy():
    torch.manual_seed(0)
    layer = DeltaRule(d_model=D, n_heads=HEADS, decay="learned", conv=3, gate=True, chunk=4,
                      norm=partial(nn.RMSNorm, eps=1e-5)).double()  # fmt: skip
    X = torch.randn(B, N, D, dtype=torch.float64)
    mapped = {
        name: X.numpy() @ W.weight.detach().numpy().T + W.bias.detach().numpy()
        for name, W in layer.named_children() if name in ("W_Q", "W_K", "W_V", "W_G", "W_step", "W_decay")
    }  # fmt: skip
    joined = np.concatenate([mapped[name] for name in ("W_Q", "W_K", "W_V")], axis=-1)
    mixed, _ = short_convolution(joined, layer.conv.C.detach().numpy())
    Q, K, V = (split_heads(A, HEADS) for A in np.split(mixed, 3, axis=-1))
    Q, K = (A / np.linalg.norm(A, axis=-1, keepdims=True) for A in (Q, K))
    step, decay = (1 / (1 + np.exp(-sign * mapped[name].swapaxes(-1, -2)))
                   for name, sign in (("W_step", 1), ("W_decay", -1)))  # fmt: skip
    O, _ = delta.delta_rule(Q, K, V, step, decay)
    Z = rms_norm(O, np.ones(D // HEADS), eps=1e-5)[0] * swish(split_heads(mapped["W_G"], HEADS))
    W_O = layer.W_O
    expected = merge_heads(Z) @ W_O.weight.detach().numpy().T + W_O.bias.detach().numpy()
    assert_close(layer(X), expected, "float64")


# --- caches ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("sizes", [[1] * N, [N], [6, 1, 1, 1, 8, 2], [2, 3, 14]])
@kinds
def test_in_parts_with_its_caches_a_model_returns_what_it_does_in_one_pass(kind, sizes, grad):
    model = made(kind)
    with torch.set_grad_enabled(grad):
        for capacity in (None, N):
            caches = model.new_kv_cache(capacity)
            steps = [model(part, caches) for part in tokens().split(sizes, dim=1)]
            assert_close(torch.cat(steps, dim=1), model(tokens()), "float64")
            assert {cache.length for cache in caches} == {len(cache) for cache in caches} == {N}


@kinds
def test_what_it_writes_is_what_it_would_write_without_caches(kind):
    model, text = made(kind), tokens(7)
    for _ in range(9):
        text = torch.cat([text, model(text)[:, -1].argmax(-1, keepdim=True)], dim=1)
    assert torch.equal(model.generate(tokens(7), max_new_tokens=9), text[:, 7:])
    single = made(kind).float()  # in this dtype NumPy computes the next token of a single text
    predict, whole = single.predictor(), single(text[:1]).log_softmax(-1)
    for n in range(1, 17):
        assert torch.allclose(predict(text[:1, :n]), whole[:, n - 1], atol=2e-4)


@kinds
def test_beams_go_on_from_the_caches_of_those_that_were_chosen(kind):
    model = made(kind)
    predict, order = model.predictor(), torch.tensor([1, 1, 0])
    predict(tokens())
    predict.reorder(order)
    longer = torch.cat([tokens()[order], torch.tensor([[1], [2], [3]])], dim=1)
    assert_close(predict(longer), model(longer)[:, -1].log_softmax(-1), "float64")
    after = torch.cat([longer, torch.tensor([[4], [5], [6]])], dim=1)
    assert_close(predict(after), model(after)[:, -1].log_softmax(-1), "float64")


def test_a_beam_search_finds_the_same_with_and_without_caches():
    model = made("one of each")

    class Slow:
        def __call__(self, prefix):
            return model(prefix)[:, -1].log_softmax(-1)

    found = [
        beam_search(one, tokens(5, b=1), width=3, max_new_tokens=6, stop=())
        for one in (Slow(), model.predictor())
    ]
    assert [best.tokens for best in found[0][0]] == [best.tokens for best in found[1][0]]


@torch.no_grad()
@kinds
def test_only_layers_that_see_everything_keep_more_of_a_longer_text(kind):
    model = made(kind)
    caches, sizes = model.new_kv_cache(), []
    for part in tokens(72).split(18, dim=1):
        model(part, caches)
        sizes.append([cache.nbytes for cache in caches])
    grows = [cache for cache, *found in zip(model.config.mixers, *sizes, strict=True) if len(set(found)) > 1]
    assert set(grows) <= {"full", "latent"} and len(grows) == sum(
        word in ("full", "latent") for word in model.config.mixers
    )
    growth = {later - earlier for earlier, later in zip(map(sum, sizes), map(sum, sizes[1:]), strict=False)}
    assert growth == {18 * B * costs.bytes_a_token(model.config, bytes_each=8)}


def test_a_state_and_a_full_ring_cannot_go_back_and_say_so():
    model = made("one of each")
    predict = model.predictor()
    predict(tokens())
    before = [copy.deepcopy(cache) for cache in predict.kv_cache]
    with pytest.raises(
        ValueError,
        match="Predictor.crop: a state or a full ring cannot forget its last tokens alone, so n must be 0 or at "
        r"least 19; got n=17. Continue a copy of the caches \(`copy.deepcopy`\), or read the text again",
    ):
        predict.crop(17)
    assert [cache.length for cache in predict.kv_cache] == [N] * 4
    longer = torch.cat([tokens(), tokens()[:, :1]], dim=1)
    once = predict(longer)
    predict.kv_cache = before  # a copy is how a state goes back
    assert_close(predict(longer), once, "float64")
    predict.crop(0)
    assert_close(predict(tokens(4)), model(tokens(4))[:, -1].log_softmax(-1), "float64")
    with pytest.raises(ValueError, match="a state or a full ring cannot forget"):
        list(speculate(made("delta").predictor(), lambda prefix: torch.zeros(1, VOCAB, dtype=torch.float64),
                       tokens(3, b=1), drawn_by(np.random.default_rng(0)), max_new_tokens=20))  # fmt: skip


def test_full_layers_and_rings_that_are_not_full_go_back():
    for kind, n in (("full", 12), ("window", WINDOW - 1)):
        model = made(kind)
        predict = model.predictor()
        predict(tokens(n))
        predict.crop(2)
        other = torch.cat([tokens(n)[:, :2], tokens(9, seed=1)], dim=1)
        assert_close(predict(other), model(other)[:, -1].log_softmax(-1), "float64")


def test_a_decoder_that_reads_a_source_may_have_them_too():
    torch.manual_seed(0)
    model = EncoderDecoder(
        encoder_decoder_config(VOCAB, VOCAB, context=CONTEXT, d_model=D, n_heads=HEADS, mixer=("window", "full"),
                               window=WINDOW)
    ).double().eval()  # fmt: skip
    whole = model(tokens(), None, tokens(9, seed=1)).log_softmax(-1)
    predict = model.predictor(tokens())
    for m in range(1, 10):
        assert_close(predict(tokens(9, seed=1)[:, :m]), whole[:, m - 1], "float64")
    assert [type(cache) for cache in predict.kv_cache.target] == [RingCache, KVCache]
    other = tokens()
    other[:, -1] = (other[:, -1] + 1) % VOCAB
    seen = (
        model.encoder[0](model.embed_source(other)) - model.encoder[0](model.embed_source(tokens()))
    ).abs()
    assert (seen[:, : N - 1 - WINDOW] == 0).all() and (seen[:, N - 1 - WINDOW :].amax(-1) > 0).all()


# --- costs ----------------------------------------------------------------------------------------------------------


@kinds
def test_the_parameters_are_those_of_the_model(kind):
    assert costs.parameters(config(kind)) == gpt.n_parameters(config(kind))


@torch.no_grad()
@pytest.mark.parametrize("n", [1, 2, 19, 64, 65])
@kinds
def test_the_caches_hold_the_bytes_that_were_counted(kind, n):
    model = made(kind).float()
    caches = model.new_kv_cache()
    model(tokens(n), caches)
    assert sum(cache.nbytes for cache in caches) == B * costs.cache_bytes(model.config, n, bytes_each=4)
    fixed, growing = costs.fixed_bytes(model.config, 4), costs.bytes_a_token(model.config, 4)
    if n >= 19:
        assert costs.cache_bytes(model.config, n, bytes_each=4) == fixed + n * growing


def counted(work):
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        work()
    return counter.get_total_flops() / 2  # PyTorch counts a multiplication and an addition as two


@torch.no_grad()
@pytest.mark.parametrize(
    ("kind", "n", "read"),
    [(kind, *case) for kind in KINDS for case in [(19, 0), (64, 0), (75, 0), (1, 12), (1, 0)]]
    + [
        (kind, 7, 12) for kind in ("window", "linear", "delta")
    ],  # with its own mask of a rectangle it cannot count
)
def test_the_multiplications_are_those_that_pytorch_counts(kind, n, read):
    """It counts products of matrices; a triangular system, an outer product and a scan are none."""
    model = made(kind).float()
    caches, d_k = model.new_kv_cache(), D // HEADS
    if read:
        model(tokens(read), caches)
    states = sum(word in ("linear", "delta") for word in model.config.mixers)
    deltas = model.config.mixers.count("delta")
    chunk = min(n, mixer_costs.CHUNK)
    left_out = states * D * d_k if n == 1 else deltas * D * -(-n // chunk) * mixer_costs.solved(chunk, 2)
    spaces = model.config.mixers.count("state space")
    channels, width = spaces * mixer_costs.EXPAND * D, model.config.conv or 1
    left_out += n * channels * mixer_costs.D_STATE * (3 if n == 1 else 5)  # all but what is read
    left_out -= channels * (n + width - 1) * width  # PyTorch counts a short convolution, we do not
    found = counted(lambda: model(tokens(n), caches)) / B
    assert found == costs.multiplications(model.config, n, read) - left_out


def test_a_state_space_begins_with_its_own_steps_after_all_maps_were_drawn():
    model = GPT(config("state space"))
    initialise(model)
    steps = torch.cat([nn.functional.softplus(block.state.scan.W_step.bias) for block in model.blocks])
    assert 0.0009 < steps.min() < 0.01 < steps.max() < 0.11
    assert all(torch.equal(block.state.scan.A_log[0], torch.arange(1.0, 17).log()) for block in model.blocks)


def test_a_state_has_four_bytes_a_number_in_half_precision_too():
    model = made("delta").bfloat16()
    caches = model.new_kv_cache()
    with torch.no_grad():
        model(tokens(), caches)
    assert sum(cache.nbytes for cache in caches) == B * costs.fixed_bytes(model.config, bytes_each=2)


# --- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"mixer": ()}, "mixer must name a mixer or more; got ()."),
        ({"mixer": ("full", "clock")}, "mixer must be one of .*; got 'clock'"),
        ({"mixer": ("delta", "window")}, "window must be given for layers named 'window'; got None"),
        (
            {"mixer": ("delta", "full"), "window": 3},
            "a window must belong to layers named 'window'; got window=3",
        ),
        (
            {"mixer": "full", "window": 3},
            "a window must belong to .*; got window=3 and mixer='full'",
        ),
        (
            {"mixer": ("latent", "full"), "d_latent": 2, "d_rotated": 2, **ROTARY},
            "latent layers rotate d_rotated numbers, others a whole head",
        ),
    ],
)
def test_patterns_that_make_no_model_get_one_sentence(change, sentence):
    with pytest.raises(ValueError, match=sentence.replace("()", r"\(\)")):
        ModelConfig(VOCAB, **change)


@pytest.mark.bad_input
def test_a_state_refuses_what_it_cannot_use():
    with pytest.raises(
        ValueError, match="a layer with a state reads from left to right, so causal must be True"
    ):
        GPT(config("delta", causal=False))
    model = made("delta and full")
    with pytest.raises(ValueError, match="DeltaRule: mask and bias must be None, for a state has no scores"):
        model.blocks(model.embed(tokens()), mask=torch.ones(B, N, N, dtype=torch.bool))
    caches = made("delta").new_kv_cache()
    made("delta")(tokens(), caches)
    with pytest.raises(
        ValueError, match=r"StateCache: recent rows must be \(1, 36\); got \(2, 36\). Another batch"
    ):
        made("delta")(tokens(b=1), caches)


def test_a_hybrid_grows_with_its_full_layers_alone():
    """eq-mix-bytes: with windows or states the caches of a mix grow, in a long text, by one full layer of four."""
    sizes = {}
    for cheap, window in (("delta", None), ("linear", None), ("window", WINDOW), ("full", None)):
        config = ModelConfig(
            VOCAB, context=64, d_model=D, n_heads=HEADS, n_layers=4, mixer=(cheap, cheap, cheap, "full"), window=window,
            **ROTARY,
        )  # fmt: skip
        model = GPT(config).eval()
        kept = []
        for n in (30, 50):
            cache = model.new_kv_cache()
            with torch.no_grad():
                model(torch.zeros(1, n, dtype=torch.long), cache)
            kept.append(sum(layer.nbytes for layer in cache))
        grown = (kept[1] - kept[0]) // 20
        assert grown == costs.bytes_a_token(config, bytes_each=4)
        sizes[cheap] = grown
    assert all(4 * sizes[cheap] == sizes["full"] for cheap in ("delta", "linear", "window"))
