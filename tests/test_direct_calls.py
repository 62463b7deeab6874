"""A bare model computes the same numbers, and who listens to a part of the model, or has replaced it, is heard."""

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrize

from attnlib.models.config import ModelConfig
from attnlib.models.gpt import GPT
from attnlib.nn.direct_calls import _linear_of, with_direct_calls

VOCAB, N = 17, 5
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
    "llama": {**LLAMA, "n_kv_heads": 1, "qk_norm": True},
    "no positions": {"positions": "none"},
    "dropout": {"dropout": 0.5},
}


def model(**options):
    torch.manual_seed(0)
    return GPT(ModelConfig(VOCAB, context=8, d_model=8, n_heads=2, n_layers=2, **options)).eval()


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_numbers_with_a_cache_and_without(kind):
    whole, tokens = model(**KINDS[kind]), torch.randint(VOCAB, (1, N))
    light, kv_cache = with_direct_calls(whole), whole.new_kv_cache()
    with torch.no_grad():
        expected = whole(tokens)
        assert torch.equal(light(tokens), expected)
        parts = [light.forward(part, kv_cache) for part in tokens.split([3, 1, 1], dim=1)]
    torch.testing.assert_close(torch.cat(parts, dim=1), expected)


def test_parameters_are_shared_and_the_model_stays_as_it_was():
    whole, tokens = model(), torch.randint(VOCAB, (1, N))
    before = list(whole.state_dict()), repr(whole)
    light = with_direct_calls(whole)
    with torch.no_grad():
        for W in whole.parameters():
            W.mul_(1.5)
        assert torch.equal(light.forward(tokens), whole(tokens))
    assert (list(whole.state_dict()), repr(whole)) == before
    assert all(isinstance(part, nn.Module) for block in whole.blocks for part in block.children())


def test_the_way_to_a_plain_part_leads_past_torch(monkeypatch):
    light, calls = with_direct_calls(model()), []
    called = nn.Module._call_impl
    monkeypatch.setattr(
        nn.Module, "__call__", lambda self, *a, **k: calls.append(type(self)) or called(self, *a, **k)
    )
    light.forward(torch.randint(VOCAB, (1, N)))
    assert calls == [nn.Embedding]


@pytest.mark.parametrize(
    "name", ["blocks.1", "blocks.0.attention", "blocks.1.attention.heads", "blocks.0.feed_forward.W_2"]
)
def test_a_hook_is_heard(name):
    whole, heard = model(), []
    whole.get_submodule(name).register_forward_hook(lambda *told: heard.append(name))
    with_direct_calls(whole).forward(torch.randint(VOCAB, (1, N)))
    assert heard == [name]


def test_a_hook_for_all_modules_is_heard():
    whole, heard = model(), []
    hook = nn.modules.module.register_module_forward_hook(
        lambda layer, *told: heard.append(type(layer).__name__)
    )
    try:
        with_direct_calls(whole).forward(torch.randint(VOCAB, (1, N)))
    finally:
        hook.remove()
    assert heard.count("Linear") == 1 + 2 * 6 and heard.count("Block") == 2


class Adapter(nn.Linear):
    def forward(self, X):
        return super().forward(X) + 1


class Doubled(nn.Module):
    def forward(self, W):
        return 2 * W


def replaced(part):
    part.W_O = Adapter(8, 8)


def instance(part):
    part.W_O.forward = torch.zeros_like


def parametrized(part):
    parametrize.register_parametrization(part.W_O, "weight", Doubled())


@pytest.mark.parametrize("change", [replaced, instance, parametrized])
def test_a_part_that_is_no_longer_torch_s_own_is_called_as_before(change):
    whole, tokens = model(), torch.randint(VOCAB, (1, N))
    before = whole(tokens)
    change(whole.blocks[0].attention)
    after = with_direct_calls(whole).forward(tokens)
    assert torch.equal(after, whole(tokens)) and not torch.allclose(after, before)


# ---- One vector at a time -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(1, 1, 7), (1, 7), (7,), (2, 7), (1, 3, 7)])
def test_a_vector_is_multiplied_as_rows_are(bias, shape):
    layer, X = nn.Linear(7, 5, bias=bias), torch.randn(shape)
    product = _linear_of(layer.weight, layer.bias)
    with torch.no_grad():
        torch.testing.assert_close(product(X), layer(X))
    torch.testing.assert_close(product(X), layer(X))
    assert product(X).requires_grad  # where gradients are recorded they are PyTorch's


@torch.no_grad()
def test_a_vector_meets_the_parameters_as_they_are_now():
    for change in (
        lambda layer: layer.weight.mul_(2),
        lambda layer: layer.weight.data.add_(1),
        lambda layer: layer.bias.fill_(3),
        lambda layer: setattr(layer.weight, "data", torch.randn(7, 7)),
        lambda layer: setattr(layer.bias, "data", torch.randn(7)),
        lambda layer: setattr(layer.weight, "data", layer.weight.data.T),  # it begins at the same address
    ):
        layer, X = nn.Linear(7, 7), torch.randn(1, 7)
        product = _linear_of(layer.weight, layer.bias)
        before = product(X)
        change(layer)
        torch.testing.assert_close(product(X), layer(X))
        assert (product(X) - before).abs().max() > 1e-3


@torch.no_grad()
@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_other_dtypes_are_multiplied_by_pytorch(dtype):
    layer, X = nn.Linear(7, 5).to(getattr(torch, dtype)), torch.randn(1, 7).to(getattr(torch, dtype))
    assert torch.equal(_linear_of(layer.weight, layer.bias)(X), layer(X))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [1, 3])
def test_token_after_token_the_scores_are_those_of_one_pass(kind, rows):
    whole, tokens = model(**KINDS[kind]), torch.randint(VOCAB, (rows, N))
    predict = whole.predictor()
    with torch.no_grad():
        expected = whole(tokens).log_softmax(-1)
    for n in range(1, N + 1):
        torch.testing.assert_close(predict(tokens[:, :n]), expected[:, n - 1], rtol=1e-5, atol=1e-5)


def test_a_step_after_changed_parameters_uses_them():
    """In place, and as a new tensor: the predictor was made before."""
    for change in (
        lambda W: W.mul_(3),
        lambda W: setattr(W, "data", 3 * W.data),
        lambda W: setattr(W, "data", W.data.T) if W.shape == (8, 8) else None,
    ):
        whole, tokens = model(), torch.randint(VOCAB, (1, N))
        predict = whole.predictor()
        before = predict(tokens[:, :1])
        predict.crop(0)
        with torch.no_grad():
            for W in whole.parameters():
                change(W)
        after = predict(tokens[:, :1])
        with torch.no_grad():
            torch.testing.assert_close(after, whole(tokens[:, :1])[:, -1].log_softmax(-1))
        assert (after - before).abs().max() > 1e-3


def test_a_hook_on_one_of_the_maps_is_called_at_every_step():
    whole, seen = model(), []
    whole.blocks[1].attention.W_K.register_forward_hook(lambda *rest: seen.append(1))
    whole.generate(torch.tensor([[1, 2]]), max_new_tokens=4)
    assert len(seen) == 4
