"""Queries, keys and values are one product, unless a call of each map alone would be noticed."""

import copy
import io

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrize

from attnlib.models.config import ModelConfig
from attnlib.models.gpt import GPT
from attnlib.nn import packed
from attnlib.nn.cache import KVCache
from attnlib.nn.multihead import MultiHeadAttention
from attnlib.nn.packed import OneProduct, _side_by_side
from attnlib.testing import assert_close

D, H, B, N = 12, 3, 2, 5
MAPS = ("W_Q", "W_K", "W_V")


def layer_and_input(**options):
    torch.manual_seed(0)
    return MultiHeadAttention(d_model=D, n_heads=H, **options).eval(), torch.randn(B, N, D)


def maps_of(layer):
    return [getattr(layer, name) for name in MAPS]


def apart(layer):
    """A copy, whose parameters lie where they come to lie: each map is called by itself."""
    return copy.deepcopy(layer)


@pytest.fixture
def calls(monkeypatch):
    """How many linear maps were called as modules."""
    seen, real = [], nn.Linear.forward
    monkeypatch.setattr(nn.Linear, "forward", lambda self, X: seen.append(self) or real(self, X))
    return seen


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"bias": False},
        {"n_kv_heads": 1, "causal": True},
        {"norm": nn.RMSNorm},
        {"d_k": 8},
        {"dropout": 0.1},
    ],
)
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_one_product_gives_what_three_give(options, mode, calls):
    layer, X = layer_and_input(**options)
    expected = layer(X).detach()  # with gradients each map is called
    assert len(calls) == 4
    with mode():
        assert_close(layer(X), expected, "float32")
    assert len(calls) == 5


def test_values_of_another_width_are_no_part_of_it(calls):
    layer, X = layer_and_input(d_k=4, d_v=6)
    with torch.no_grad():
        assert_close(layer(X), apart(layer)(X), "float32")
    assert len(calls) == 8


def test_parameters_lie_side_by_side_and_keep_names_shapes_and_numbers():
    torch.manual_seed(0)
    before = [nn.Linear(D, D) for _ in range(3)]
    layer, _ = layer_and_input()
    for name, one in zip(MAPS, before, strict=True):
        assert torch.equal(getattr(layer, name).weight, one.weight)
        assert torch.equal(getattr(layer, name).bias, one.bias)
        assert type(getattr(layer, name).weight) is nn.Parameter and getattr(layer, name).weight.is_leaf
    names = [f"{name}.{kind}" for name in (*MAPS, "W_O") for kind in ("weight", "bias")]
    assert list(layer.state_dict()) == names
    assert layer.W_V.weight.data_ptr() == layer.W_Q.weight.data_ptr() + 2 * layer.W_Q.weight.nbytes


def test_changed_parameters_are_seen_at_once():
    layer, X = layer_and_input()
    with torch.no_grad():
        layer(X)
        for change in (
            lambda: layer.W_K.weight.mul_(2),
            lambda: layer.load_state_dict({name: W + 1 for name, W in layer.state_dict().items()}),
            lambda: layer.W_V.weight.data.add_(1),
            lambda: setattr(layer.W_V.weight, "data", torch.randn(D, D)),
            lambda: setattr(layer.W_Q, "weight", nn.Parameter(torch.randn(D, D))),
            lambda: setattr(layer.W_Q.bias, "data", torch.randn(D)),
            lambda: layer.double().float(),
        ):
            before = layer(X)
            change()
            assert_close(layer(X), apart(layer)(X), "float32")
            assert (layer(X) - before).abs().max() > 1e-3 or layer.W_Q.weight.dtype == torch.float32


def test_another_view_of_the_same_memory_is_seen():
    """The transposed matrix begins at the same address."""
    layer, X = layer_and_input()
    with torch.no_grad():
        before = layer(X)
        layer.W_Q.weight.data = layer.W_Q.weight.data.T
        assert_close(layer(X), apart(layer)(X), "float32")
        assert (layer(X) - before).abs().max() > 1e-3


class Doubled(nn.Module):
    def forward(self, W):
        return 2 * W


class Adapter(nn.Module):
    def __init__(self, linear):
        super().__init__()
        self.linear = linear

    def forward(self, X):
        return 2 * self.linear(X)


CHANGES = {
    "hook": lambda linear: linear.register_forward_hook(lambda layer, inputs, Y: 2 * Y),
    "pre-hook": lambda linear: linear.register_forward_pre_hook(lambda layer, inputs: (2 * inputs[0],)),
    "forward": lambda linear: setattr(linear, "forward", torch.zeros_like),
    "parametrised": lambda linear: parametrize.register_parametrization(linear, "weight", Doubled()),
}


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("kind", [*CHANGES, "adapter"])
def test_a_map_that_is_hooked_or_replaced_is_called(name, kind):
    layer, X = layer_and_input()
    with torch.no_grad():
        before = layer(X)
        if kind == "adapter":
            setattr(layer, name, Adapter(getattr(layer, name)))
        else:
            CHANGES[kind](getattr(layer, name))
        found = layer(X)
    assert (found - before).abs().max() > 1e-3
    assert_close(found, layer(X).detach(), "float32")  # with gradients each map is called


def test_a_hook_for_all_modules_is_called():
    layer, X = layer_and_input()
    seen = []
    hook = nn.modules.module.register_module_forward_hook(lambda module, *rest: seen.append(module))
    try:
        with torch.no_grad():
            layer(X)
    finally:
        hook.remove()
    assert all(one in seen for one in maps_of(layer))


def test_a_removed_hook_leaves_one_product(calls):
    layer, X = layer_and_input()
    layer.W_Q.register_forward_hook(lambda *rest: None).remove()
    with torch.no_grad():
        layer(X)
    assert calls == [layer.W_O]


def test_maps_of_another_source_are_called(calls):
    layer, X = layer_and_input()
    with torch.no_grad():
        layer(X, X.clone())
    assert len(calls) == 4


def test_a_copy_and_a_stored_layer_are_layers_of_their_own():
    layer, X = layer_and_input()
    with torch.no_grad():
        expected = layer(X)
        file = io.BytesIO()
        torch.save(layer, file)
        file.seek(0)
        for other in (copy.deepcopy(layer), torch.load(file, weights_only=False)):
            assert_close(other(X), expected, "float32")
            other.W_Q.weight.zero_()
            assert (other(X) - expected).abs().max() > 1e-3
        assert torch.equal(layer(X), expected)


def test_maps_that_do_not_fit_are_no_product():
    one, other, narrow = nn.Linear(3, 2), nn.Linear(3, 5), nn.Linear(2, 5)
    with torch.no_grad():
        assert OneProduct().of((one, other)) is None  # not side by side
        _side_by_side(one, other)
        weight, bias = OneProduct().of((one, other))
        assert torch.equal(weight, torch.cat([one.weight, other.weight]))
        assert torch.equal(bias, torch.cat([one.bias, other.bias]))
        assert OneProduct().of((other, one)) is None and OneProduct().of((one, narrow)) is None
        other.bias = None
        assert OneProduct().of((one, other)) is None
    assert OneProduct().of((one, one)) is None  # gradients are recorded


def test_on_the_meta_device_a_layer_is_made():
    with torch.device("meta"):
        layer = MultiHeadAttention(d_model=D, n_heads=H)
    with torch.no_grad():
        assert layer(torch.empty(B, N, D, device="meta")).shape == (B, N, D)


@torch.no_grad()
def test_steps_with_a_cache_are_one_pass(calls):
    layer, X = layer_and_input(causal=True)
    cache, whole = KVCache(), layer(X)
    steps = [layer(part, kv_cache=cache) for part in X.split([3, 1, 1], dim=1)]
    assert_close(torch.cat(steps, dim=1), whole, "float32")
    assert set(calls) == {layer.W_O}


def test_the_parameters_of_a_model_stay_side_by_side_when_they_are_stored_and_loaded(tmp_path):
    model = GPT(ModelConfig(vocab=7, context=8, d_model=D, n_heads=H, n_layers=2))
    model.save(tmp_path)
    loaded = GPT.load(tmp_path)
    with torch.no_grad():
        for block in loaded.blocks:
            assert block.attention._one_product.of(maps_of(block.attention)) is not None
        tokens = torch.randint(7, (2, 5))
        assert torch.equal(loaded(tokens), model.eval()(tokens))


def test_is_plain_sees_every_kind_of_hook():
    for register in ("register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook"):
        linear = nn.Linear(2, 2)
        assert packed._is_plain(linear)
        getattr(linear, register)(lambda *rest: None)
        assert not packed._is_plain(linear)
