"""Products by oneDNN are those of PyTorch up to the last bits, with their derivatives, and only where they gain."""

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import parametrize

from attnlib.models.config import ModelConfig
from attnlib.models.gpt import GPT
from attnlib.testing import assert_close
from attnlib.train import products
from attnlib.train.memory import recompute
from attnlib.train.products import gains, has_onednn, multiply_by_onednn

pytestmark = pytest.mark.skipif(not has_onednn(), reason="this PyTorch has no oneDNN")
ROWS, D_IN, D_OUT = 300, 257, 263


@pytest.fixture(autouse=True)
def all_are_large(monkeypatch):
    monkeypatch.setattr(products, "LEAST", 1)


@pytest.fixture
def called(monkeypatch):
    """The shapes that oneDNN multiplied."""
    shapes, real = [], products._by_onednn
    monkeypatch.setattr(
        products, "_by_onednn", lambda X, W, b=None: shapes.append((*X.shape, len(W))) or real(X, W, b)
    )
    return shapes


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(ROWS, D_IN), (2, 3, 5, D_IN)])
def test_the_product_and_its_derivatives_are_those_of_pytorch(bias, shape, called):
    torch.manual_seed(0)
    layer, X = nn.Linear(D_IN, D_OUT, bias=bias), torch.randn(shape, requires_grad=True)
    dY, found = torch.randn(*shape[:-1], D_OUT), []
    for change in (nn.Module.train, multiply_by_onednn):
        change(layer)
        X.grad = None
        layer.zero_grad()
        Y = layer(X)
        Y.backward(dY)
        found.append([Y.detach(), X.grad, *(one.grad for one in layer.parameters())])
    assert len(called) == 3 and len(found[0]) == 3 + bias
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(
            one, other, rtol=1e-4, atol=1e-4
        )  # sums of 300 numbers in another order: 2e-5


def test_only_the_derivatives_that_are_needed_are_computed(called):
    layer, X = nn.Linear(D_IN, D_OUT).requires_grad_(False), torch.randn(ROWS, D_IN, requires_grad=True)
    multiply_by_onednn(layer)
    layer(X).sum().backward()
    assert len(called) == 2 and layer.weight.grad is None and X.grad is not None


def test_a_second_derivative_is_refused_and_not_wrong():
    layer, X = nn.Linear(D_IN, D_OUT), torch.randn(ROWS, D_IN, requires_grad=True)
    multiply_by_onednn(layer)
    (slope,) = torch.autograd.grad(layer(X).square().sum(), X, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        slope.sum().backward()


@pytest.mark.parametrize("kind", ["float64", "bfloat16", "one vector", "small", "meta"])
def test_what_gains_nothing_is_left_to_pytorch(kind, called, monkeypatch):
    layer, X = nn.Linear(D_IN, D_OUT), torch.randn(ROWS, D_IN)
    if kind in ("float64", "bfloat16"):
        layer, X = layer.to(getattr(torch, kind)), X.to(getattr(torch, kind))
    elif kind == "one vector":
        X = X[0]
    elif kind == "small":
        monkeypatch.setattr(products, "LEAST", ROWS * D_IN * D_OUT + 1)
    else:
        layer, X = layer.to("meta"), X.to("meta")
    expected = layer(X)
    multiply_by_onednn(layer)
    found = layer(X)
    assert not called and (kind == "meta" or torch.equal(found, expected))


def test_autocast_transforms_and_the_compiler_are_left_to_pytorch(called):
    layer, X = nn.Linear(D_IN, D_OUT), torch.randn(4, ROWS, D_IN)
    multiply_by_onednn(layer)
    with torch.autocast("cpu", torch.bfloat16):
        assert layer(X).dtype == torch.bfloat16
    torch.vmap(layer)(X)
    torch.func.grad(lambda A: layer(A).sum())(X)
    torch.compile(layer, backend="eager")(X)
    assert not called


class Doubled(nn.Module):
    def forward(self, W):
        return 2 * W


def test_hooks_are_called_and_a_parametrised_map_is_left_alone(called):
    model, X, seen = (
        nn.Sequential(nn.Linear(D_IN, D_OUT), nn.Linear(D_OUT, D_IN)),
        torch.randn(ROWS, D_IN),
        [],
    )
    model[0].register_forward_hook(lambda layer, inputs, Y: seen.append(Y))
    parametrize.register_parametrization(model[1], "weight", Doubled())
    expected = model(X)
    multiply_by_onednn(model)
    torch.testing.assert_close(model(X), expected, rtol=1e-4, atol=1e-4)
    assert len(seen) == 2 and len(called) == 1


def test_a_copy_multiplies_its_own_parameters_and_names_stay():
    layer, X = nn.Linear(D_IN, D_OUT), torch.randn(ROWS, D_IN)
    before = list(layer.state_dict())
    multiply_by_onednn(layer)
    other = copy.deepcopy(layer)
    with torch.no_grad():
        other.weight.zero_()
    assert torch.equal(other(X), other.bias.expand(ROWS, -1)) and not torch.equal(layer(X), other(X))
    assert list(layer.state_dict()) == before


def test_a_recomputed_block_is_recomputed_in_the_same_way(called):
    block, X = nn.Sequential(nn.Linear(D_IN, D_OUT), nn.GELU()), torch.randn(ROWS, D_IN, requires_grad=True)
    multiply_by_onednn(block)
    recompute([block])
    block(X).sum().backward()
    assert len(called) == 4  # twice forward, and two derivatives


def test_a_step_of_a_gpt_has_the_same_loss_and_gradients(called):
    torch.manual_seed(0)
    model = GPT(ModelConfig(vocab=19, context=8, d_model=16, n_heads=2, n_layers=2))
    tokens, found = torch.randint(19, (3, 8)), []
    for change in (nn.Module.train, multiply_by_onednn):
        change(model)
        model.zero_grad()
        loss = F.cross_entropy(model(tokens)[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        found.append([loss.detach(), *(one.grad for one in model.parameters())])
    assert len(called) == 3 * (2 * 6 + 1)
    for one, other in zip(*found, strict=True):
        assert_close(one, other, "float32")


def test_the_size_that_gains_is_counted_in_multiplications(monkeypatch):
    monkeypatch.setattr(products, "LEAST", 2 * 3 * 5)
    W = torch.zeros(5, 3)
    assert gains(torch.zeros(2, 3), W) and not gains(torch.zeros(1, 3), W)
