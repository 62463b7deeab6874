"""Each count of a GPT's costs is the thing itself, counted (book: what-it-costs)."""

import pytest
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from attnlib.models import costs, gpt
from attnlib.models.config import ModelConfig
from attnlib.models.gpt import GPT

VOCAB, N, B = 61, 11, 3
LLAMA = {
    "positions": "rotary",
    "layout": "halves",
    "norm": "rms",
    "activation": "swish",
    "gated": True,
    "bias": False,
    "tied": False,
}
KINDS = {
    "gpt2": {},
    "two tables": {"tied": False},
    "shared keys": {"n_kv_heads": 2},
    "wide heads": {"d_k": 10, "qk_norm": True},
    "narrow network": {"d_hidden": 40, "positions": "none", "bias": False},
    "llama": {**LLAMA, "d_hidden": 40, "n_kv_heads": 1},
    "gated, with biases": {"activation": "swish", "gated": True},
    "latent": {**LLAMA, "mixer": "latent", "d_latent": 5, "d_rotated": 2},
    "latent, wide heads, with biases": {"mixer": "latent", "d_latent": 7, "d_rotated": 4, "d_k": 10},
    "sandwich": {**LLAMA, "order": "sandwich", "qk_norm": True},
    "norms after": {"order": "after", "norm": "rms"},
    "partly rotary": {**LLAMA, "positions": "partly rotary", "d_rotated": 2},
}
configs = pytest.mark.parametrize(
    "config",
    [ModelConfig(VOCAB, context=32, d_model=24, n_layers=3, **kind) for kind in KINDS.values()],
    ids=KINDS,
)


@configs
def test_the_parameters_are_those_of_the_model(config):
    assert costs.parameters(config) == gpt.n_parameters(config)


@pytest.mark.parametrize("config", [gpt.gpt2_small(), gpt.gpt2_xl(), gpt.llama_7b()])
def test_the_parameters_of_published_sizes(config):
    assert costs.parameters(config) == gpt.n_parameters(config)


def counted(work):
    """By the operator that writes all weights out: of the one for processors PyTorch's counter knows nothing."""
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        work()
    return counter.get_total_flops() / 2  # PyTorch counts a multiplication and an addition as two


@configs
def test_the_multiplications_are_those_that_pytorch_counts(config):
    model, tokens = GPT(config), torch.randint(VOCAB, (B, N))
    assert counted(lambda: model(tokens)) == B * costs.multiplications(config, N)


@configs
def test_a_step_with_a_cache_multiplies_for_one_token(config):
    model, tokens = GPT(config), torch.randint(VOCAB, (1, N))
    cache = model.new_kv_cache()
    with torch.no_grad():
        model(tokens[:, :-1], cache)
        assert counted(lambda: model(tokens[:, -1:], cache)) == costs.multiplications(config, 1, read=N - 1)


@configs
def test_the_cache_holds_the_bytes_that_were_counted(config):
    model = GPT(config)
    cache = model.new_kv_cache()
    with torch.no_grad():
        model(torch.randint(VOCAB, (1, N)), cache)
    assert sum(layer.nbytes for layer in cache) == costs.cache_bytes(config, N, bytes_each=4)


@configs
def test_backward_multiplies_twice_as_often_as_forward(config):
    model, tokens = GPT(config), torch.randint(VOCAB, (B, N))
    with sdpa_kernel(SDPBackend.MATH):
        scores = model(tokens)
    assert counted(lambda: scores.sum().backward()) == 2 * B * costs.multiplications(config, N)


def kept(model, tokens):
    """Numbers that autograd keeps for backward, each piece of memory once, without the parameters."""
    pieces = {}

    def note(tensor):
        if tensor.is_floating_point():
            pieces[tensor.untyped_storage().data_ptr()] = (
                tensor.untyped_storage().nbytes() // tensor.element_size()
            )
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        loss = F.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
    own = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    assert loss.requires_grad
    return sum(size for place, size in pieces.items() if place not in own)


@pytest.mark.parametrize("kind", ["gpt2", "shared keys", "narrow network"])
def test_autograd_keeps_the_activations_that_were_counted(kind):
    config = ModelConfig(VOCAB, context=32, d_model=24, n_layers=3, **KINDS[kind])
    found = kept(GPT(config), torch.randint(VOCAB, (B, N)))
    assert found == costs.activations(config, B, N) + 1  # and how many tokens the loss is the mean of


@configs
def test_a_training_holds_three_numbers_a_parameter_and_the_larger_of_gradients_and_activations(config):
    learned = costs.parameters(config)
    few, many = costs.activations(config, 1, 1), costs.activations(config, 100, N)
    assert few < learned < many
    assert costs.training_numbers(config, 1, 1) == 4 * learned
    assert costs.training_numbers(config, 100, N) == 3 * learned + many


@configs
def test_a_step_brings_each_matrix_once_and_each_text_its_cache(config):
    maps = sum(W.numel() for name, W in GPT(config).named_parameters() if W.ndim == 2 and "embed" not in name)
    maps += VOCAB * config.d_model - (config.context * config.d_model if config.positions == "learned" else 0)
    assert costs.step_bytes(config, N) == 2 * maps + costs.cache_bytes(config, N)
    assert costs.step_bytes(config, N, b=5, bytes_each=4) == 4 * maps + 5 * costs.cache_bytes(config, N, 4)


def test_the_days_of_gpt_3_are_those_its_paper_counts():
    """Its paper counts 3.14e23 operations, table D.1."""
    assert abs(6 * 175e9 * 300e9 / 3.14e23 - 1) < 0.01
    assert costs.days(1, 24 * 3600 / 6, flops=1, utilisation=1) == 1
    assert costs.days(175e9, 300e9, flops=2e15, utilisation=0.5) == costs.days(
        175e9, 300e9, flops=1e15, utilisation=1
    )


SIZES = {model.name: model for model in costs.PUBLISHED}
PRESETS = {
    "GPT-2": gpt.gpt2_xl,
    "GPT-3": gpt.gpt3,
    "Megatron-LM": gpt.megatron_8b,
    "Turing-NLG": gpt.turing_nlg,
}


def test_the_table_of_published_sizes_is_the_papers():
    """What a count near the told size leaves open: another row or layer; widths are whole heads."""
    assert all(model.d_model % 32 == 0 for model in costs.PUBLISHED)
    layers = {model.name: model.n_layers for model in costs.PUBLISHED}
    assert layers["RoBERTa"] == layers["BERT large"] == layers["XLNet large"] == 2 * layers["BERT base"] == 24
    assert {model.vocab for model in costs.PUBLISHED} == {37_000, 30_522, 32_000, 50_265, 50_257, 51_200}
    assert (SIZES["Gopher"].n_layers, SIZES["Gopher"].d_model) == (80, 128 * 128)  # 128 heads of 128
    for name, preset in PRESETS.items():
        assert (SIZES[name].n_layers, SIZES[name].d_model) == (preset().n_layers, preset().d_model)


@pytest.mark.parametrize("name", SIZES)
def test_a_count_of_the_matrices_comes_near_the_size_that_is_told(name):
    model = SIZES[name]
    assert abs(model.counted() / model.told - 1) < 0.04


@pytest.mark.parametrize("name", PRESETS)
def test_the_count_leaves_out_biases_norms_and_places(name):
    assert 0 < 1 - SIZES[name].counted() / gpt.n_parameters(PRESETS[name]()) < 0.003


def test_a_transformer_of_2017_has_a_second_attention_in_half_of_its_blocks():
    """6 + 6 blocks with d=512 and a shared table of 37,000 are 62.98 million; with d=1,024 they are 214 million."""
    for name, million in (("Transformer base", 62.98), ("Transformer big", 214.04)):
        d, vocab = SIZES[name].d_model, SIZES[name].vocab
        encoder, decoder = 4 * d**2 + 8 * d**2, 2 * 4 * d**2 + 8 * d**2
        assert (
            SIZES[name].counted()
            == 6 * encoder + 6 * decoder + vocab * d
            == pytest.approx(1e6 * million, rel=1e-4)
        )


def test_the_told_cost_of_gopher_is_a_dollar_for_each_chip_and_hour():
    """4,096 chips for 920 hours, 38 days; at 123e12 operations a second each they reached 0.3 of their peak."""
    hours = 24 * costs.days(280e9, 300e9, flops=4096 * 123e12, utilisation=0.30)
    assert 4096 * 920 * 1 == 3_768_320 and abs(hours / 920 - 1) < 0.03 and abs(920 / 24 - 38) < 0.5
