"""A bare model computes the same numbers, and who listens to a part of the model, or has replaced it, is heard.

So does its copy for a single vector, in NumPy: for each family of models, token after token.
"""

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrize
from torch.utils._python_dispatch import TorchDispatchMode

from attnlib import shapes
from attnlib.models.config import ModelConfig
from attnlib.models.gpt import GPT
from attnlib.nn import one_vector
from attnlib.nn.debug import checked_values
from attnlib.nn.direct_calls import with_direct_calls
from attnlib.nn.watch import _Watch

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
    "sinusoids, after": {"positions": "sinusoids", "order": "post", "activation": "relu"},
    "sandwich": {"order": "sandwich", "activation": "gelu", "n_kv_heads": 1},
    "without residual": {"order": "without residual", "activation": "sigmoid", "d_k": 3},
    "alibi": {"positions": "none", "score_bias": "alibi"},
    "window": {"window": 2},
    "partly rotary": {"positions": "partly rotary", "layout": "halves", "d_rotated": 2},
    "norms of queries": {"qk_norm": True, "norm": "layer"},
    "latent": {"mixer": "latent", "d_latent": 4, "d_rotated": 2, "positions": "rotary", "layout": "halves"},
    "no norms": {"norm": "none"},
    "no feed-forward": {"feed_forward": "none"},
}


@pytest.fixture(autouse=True)
def as_in_use(monkeypatch):
    """The suite looks at every result, and then nothing goes through NumPy; here only one test does."""
    monkeypatch.setattr(shapes, "INTERCEPT", None)


def model(**options):
    torch.manual_seed(0)
    options = {"context": 8} | options
    return GPT(ModelConfig(VOCAB, d_model=8, n_heads=2, n_layers=2, **options)).eval()


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
    assert calls == []


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


@torch.no_grad()
@pytest.mark.parametrize("shape", [(1, 1, 7), (1, 7), (7,)])
@pytest.mark.parametrize("layer", [nn.Linear(7, 5), nn.Linear(7, 5, bias=False), nn.LayerNorm(7, eps=0.1)])
def test_a_vector_goes_through_a_part_as_a_tensor_does(layer, shape):
    X = torch.randn(shape)
    known = one_vector._linear if isinstance(layer, nn.Linear) else one_vector._layer_norm
    more = () if isinstance(layer, nn.Linear) else (layer.eps,)
    found = known(layer.weight, layer.bias, *more)(X.numpy())
    torch.testing.assert_close(torch.from_numpy(found), layer(X), rtol=1e-6, atol=1e-6)


@torch.no_grad()
@pytest.mark.parametrize("activation", one_vector._ACTIVATIONS)
def test_an_activation_of_an_array_is_that_of_a_tensor(activation):
    A = torch.linspace(-9, 9, 100)
    found = one_vector._ACTIVATIONS[activation](A.numpy())
    torch.testing.assert_close(torch.from_numpy(found), activation(A), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("capacity", [None, 8])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [1, 3])
def test_token_after_token_the_scores_are_those_of_one_pass(kind, rows, capacity):
    whole, tokens = model(**KINDS[kind]), torch.randint(VOCAB, (rows, N))
    predict = whole.predictor(whole.new_kv_cache(capacity))
    with torch.no_grad():
        expected = whole(tokens).log_softmax(-1)
    for first in (1, 2):
        for n in range(first, N + 1):
            torch.testing.assert_close(predict(tokens[:, :n]), expected[:, n - 1], rtol=1e-6, atol=1e-6)
        predict.crop(1)


@pytest.mark.parametrize("kind", ["gpt2", "sandwich", "llama"])
def test_a_cache_that_grows_holds_what_one_pass_computes(kind):
    whole = model(**KINDS[kind], context=40)
    tokens, predict = torch.randint(VOCAB, (1, 40)), whole.predictor()
    found = [predict(tokens[:, :n]) for n in range(1, 41)]
    with torch.no_grad():
        expected = whole(tokens, at_once := whole.new_kv_cache()).log_softmax(-1)
    torch.testing.assert_close(torch.stack(found, 1), expected, rtol=1e-5, atol=1e-5)
    for one, other in zip(predict.kv_cache, at_once, strict=True):
        torch.testing.assert_close(one.K, other.K, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(one.V, other.V, rtol=1e-5, atol=1e-5)


class Operators(TorchDispatchMode):
    """Which operators of PyTorch are called."""

    def __init__(self):
        super().__init__()
        self.names = set()

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        self.names.add(operator.overloadpacket.__name__)
        return operator(*args, **(kwargs or {}))


def test_a_token_after_others_is_computed_by_numpy():
    predict, tokens = model().predictor(), torch.randint(VOCAB, (1, N))
    predict(tokens[:, :2])
    predict(tokens[:, :3])
    with Operators() as seen:
        predict(tokens[:, :4])
    assert "log_softmax" in seen.names and not seen.names & {
        "embedding",
        "layer_norm",
        "linear",
        "gelu",
        "add",
    }
    with checked_values(), Operators() as seen:  # to debug, each function of the twin checks its values
        predict(tokens[:, :5])
    assert seen.names >= {"embedding", "layer_norm", "linear", "gelu", "add"}


@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_other_dtypes_are_computed_by_pytorch(dtype):
    whole, tokens = model().to(getattr(torch, dtype)), torch.randint(VOCAB, (1, N))
    predict = whole.predictor()
    with torch.no_grad():
        expected = whole(tokens)[:, -1].log_softmax(-1)
    found = [predict(tokens[:, :n]) for n in range(2, N + 1)][-1]
    torch.testing.assert_close(found, expected, rtol=1e-2, atol=1e-2 if dtype == "bfloat16" else 1e-12)


def test_weights_that_are_dropped_while_training_are_dropped_from_a_single_vector():
    whole, tokens = model(dropout=0.5).train(), torch.randint(VOCAB, (1, N))
    predict = whole.predictor()
    predict(tokens[:, :-1])
    predict.crop(3)
    found = [predict(tokens[:, :4]) for _ in range(3) if predict.crop(3) is None]
    assert not torch.equal(found[0], found[1]) or not torch.equal(found[1], found[2])
    whole.eval()
    predict.crop(3)
    again = [predict(tokens[:, :4]) for _ in range(2) if predict.crop(3) is None]
    assert torch.equal(*again)


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


NAMES = [name for name, _ in model().named_modules() if name and not name.endswith(("dropout", "depth"))]


@pytest.mark.parametrize("name", NAMES)
def test_a_hook_is_called_at_the_next_token(name):
    """Also one that is registered after others were read; and it may change what comes out."""
    whole, tokens, heard = model(), torch.randint(VOCAB, (1, N)), []
    with torch.no_grad():
        for W in whole.parameters():
            W.mul_(10)  # scores of attention that matter
    predict = whole.predictor()
    plain = [predict(tokens[:, :n]) for n in range(2, N + 1)]
    predict.crop(3)

    def louder(layer, given, out):
        heard.append(name)
        return out * torch.linspace(1, 2, out.shape[-1])

    with torch.no_grad():
        handle = whole.get_submodule(name).register_forward_hook(louder)
        loud = predict(tokens[:, : N - 1])
        predict.crop(3)
        cache = whole.new_kv_cache()
        handle.remove()
        whole(tokens[:, :3], cache)
        whole.get_submodule(name).register_forward_hook(louder)
        expected = whole(tokens[:, 3:4], cache)[:, -1].log_softmax(-1)
    assert heard == [name, name] and not torch.allclose(loud, plain[-2])
    torch.testing.assert_close(loud, expected, rtol=1e-5, atol=1e-5)


def test_a_part_that_is_replaced_is_called_at_the_next_token():
    whole, tokens = model(), torch.randint(VOCAB, (1, N))
    predict = whole.predictor()
    before = [predict(tokens[:, :n]) for n in range(2, N + 1)][-1]
    for change in (replaced, instance, parametrized):
        predict.crop(N - 1)
        whole.blocks[0].attention.W_O = Adapter(8, 8)
        change(whole.blocks[0].attention)
        after = predict(tokens)
        assert not torch.allclose(after, before)


def test_a_watch_notices_what_a_call_depends_on():
    def watched(change):
        whole = model()
        watch = _Watch(whole)
        assert watch.same_parts() and watch.same_parameters()
        change(whole)
        return watch.same_parts(), watch.same_parameters()

    W = "blocks.0.attention.W_Q"
    assert watched(lambda one: one.get_submodule(W).weight.data.mul_(2)) == (True, True)
    assert watched(lambda one: one.train()) == (False, True)
    assert watched(lambda one: one.double()) == (True, False)
    assert watched(lambda one: one.get_submodule(W).register_forward_pre_hook(print)) == (False, True)
    assert watched(lambda one: one.blocks[0].attention.__setattr__("W_Q", nn.Linear(8, 8)))[0] is False
    assert watched(lambda one: one.get_submodule(W).__setattr__("bias", nn.Parameter(torch.ones(8)))) == (
        True,
        False,
    )
    assert watched(lambda one: one.get_submodule(W).weight.__setattr__("data", torch.ones(8, 8))) == (
        True,
        False,
    )


def test_a_hook_on_one_of_the_maps_is_called_at_every_step():
    whole, seen = model(), []
    whole.blocks[1].attention.W_K.register_forward_hook(lambda *rest: seen.append(1))
    whole.generate(torch.tensor([[1, 2]]), max_new_tokens=4)
    assert len(seen) == 4
