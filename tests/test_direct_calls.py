"""A bare model computes the same numbers, and who listens to a part of the model, or has replaced it, is heard."""

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrize

from attnlib.models.config import ModelConfig
from attnlib.models.gpt import GPT
from attnlib.nn.direct_calls import with_direct_calls

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
