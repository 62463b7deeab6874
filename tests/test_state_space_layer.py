"""The layer of Mamba, and the same with fixed maps: in one call or token after token, and equal to Hugging Face's."""

from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from attnlib.nn.block import BlockStack
from attnlib.nn.cache import KVCache
from attnlib.nn.multihead import MultiHeadAttention
from attnlib.nn.state_cache import StateCache
from attnlib.nn.state_space import StateSpace
from attnlib.nn.transformer import Block, FeedForward
from attnlib.reference import hippo, s4d, selective_scan
from attnlib.reference.activations import swish
from attnlib.reference.convolution import depthwise_convolution
from attnlib.testing import assert_close, tolerance

B, N, H, D, D_STATE = 2, 11, 3, 9, 6
LAYERS = {
    "selective": lambda: StateSpace(d_model=D, n_heads=H, d_state=D_STATE),
    "fixed": lambda: StateSpace(d_model=D, n_heads=H, d_state=D_STATE, selective=False),
    "selective, normed, without a convolution": lambda: StateSpace(
        d_model=D, n_heads=H, d_state=5, width=1, bias=False, step_rank=4, norm=partial(nn.RMSNorm, eps=1e-5)
    ),
}


def made(name):
    torch.manual_seed(0)
    return LAYERS[name]().double(), torch.randn(B, N, D, dtype=torch.float64)


def mapped(W, X):
    bias = 0 if W.bias is None else W.bias.detach().numpy()
    return X @ W.weight.detach().numpy().T + bias


def numbers(parameter):
    return parameter.detach().numpy()


# --- what it computes ----------------------------------------------------------------------------------------------


def around(layer, X, scanned):
    """What stands before the scan and after it, in NumPy."""
    U, _ = depthwise_convolution(mapped(layer.W_X, X), numbers(layer.filter), numbers(layer.filter_bias))
    Y = scanned(swish(U)) + numbers(layer.skip) * swish(U)
    return mapped(layer.W_O, Y * swish(mapped(layer.W_Z, X)))


def test_the_layer_is_the_reference_between_its_maps():
    layer, X = made("selective")
    scan: Any = layer.scan

    def scanned(U):
        step = np.logaddexp(0, mapped(scan.W_step, mapped(scan.W_low, U)))
        A = -np.exp(numbers(scan.A_log))
        return selective_scan.selective_scan(U, step, A, mapped(scan.W_B, U), mapped(scan.W_C, U))[0]

    assert_close(layer(X), around(layer, X.numpy(), scanned), "float64")


def test_the_fixed_layer_is_the_diagonal_recurrence_between_the_same_maps():
    layer, X = made("fixed")
    scan: Any = layer.scan

    def scanned(U):
        A = -np.exp(numbers(scan.A_log)) + 1j * numbers(scan.A_angle)
        C = numbers(scan.C)[..., 0] + 1j * numbers(scan.C)[..., 1]
        A, W = s4d.diagonal_zero_order_hold(A, np.ones_like(A), np.exp(numbers(scan.step_log)))
        return s4d.diagonal_recurrence(U, A, W, C)[0]

    assert_close(layer(X), around(layer, X.numpy(), scanned), "float64")


def test_it_begins_as_mamba_and_as_s4d_lin():
    torch.manual_seed(0)
    scans: list[Any] = [StateSpace(d_model=64, selective=one).scan for one in (True, False)]
    selective, fixed = scans
    assert_close(-torch.exp(selective.A_log), np.tile(hippo.s4d_real(16), (128, 1)), "float32")
    steps = nn.functional.softplus(selective.W_step.bias)
    assert steps.min() >= 0.001 and steps.max() <= 0.1 and steps.log().std() > 0.5
    A = torch.complex(-torch.exp(fixed.A_log), fixed.A_angle)
    np.testing.assert_allclose(A.detach().numpy(), np.tile(hippo.s4d_lin(16), (128, 1)), rtol=1e-6)


def test_it_is_the_mixer_of_hugging_face():
    from transformers import MambaConfig
    from transformers.models.mamba.modeling_mamba import MambaMixer

    torch.manual_seed(0)
    config = MambaConfig(
        hidden_size=16, state_size=6, expand=2, conv_kernel=4, time_step_rank=3, num_hidden_layers=1
    )
    theirs: Any = MambaMixer(config, layer_idx=0).eval()
    ours: Any = StateSpace(d_model=16, d_state=6, step_rank=3, bias=False)
    low, maps = theirs.x_proj.weight[:3], theirs.x_proj.weight[3:]
    pairs = [
        (ours.W_X.weight, theirs.in_proj.weight[:32]), (ours.W_Z.weight, theirs.in_proj.weight[32:]),
        (ours.filter, theirs.conv1d.weight[:, 0].T), (ours.filter_bias, theirs.conv1d.bias),
        (ours.scan.W_low.weight, low), (ours.scan.W_B.weight, maps[:6]), (ours.scan.W_C.weight, maps[6:]),
        (ours.scan.W_step.weight, theirs.dt_proj.weight), (ours.scan.W_step.bias, theirs.dt_proj.bias),
        (ours.scan.A_log, theirs.A_log), (ours.skip, theirs.D), (ours.W_O.weight, theirs.out_proj.weight),
    ]  # fmt: skip
    X = torch.randn(B, N, 16)
    with torch.no_grad():
        for mine, other in pairs:
            mine.copy_(other)
        expected = theirs(X)
        assert (ours(X) - expected).abs().max() < 1e-5 * expected.abs().max()
    mine = sum(one.numel() for one in ours.parameters())
    assert mine == sum(one.numel() for one in theirs.parameters())


@pytest.mark.parametrize("name", LAYERS)
def test_every_parameter_gets_a_gradient(name):
    layer, X = made(name)
    layer(X).square().sum().backward()
    for parameter_name, parameter in layer.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().max() > 1e-12, parameter_name


@pytest.mark.parametrize("name", LAYERS)
def test_what_comes_later_and_what_another_sequence_says_change_nothing(name):
    layer, X = made(name)
    other = X.clone()
    other[0, 6:] += 1
    before, after = layer(X), layer(other)
    assert_close(after[0, :6], before[0, :6], "float64")
    assert_close(after[1], before[1], "float64")
    assert ((after - before)[0, 6:].abs().amax(dim=-1) > 1e-6).all()


# --- the cache -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("name", LAYERS)
def test_in_parts_with_a_cache_it_is_the_whole_text(name, grad):
    layer, X = made(name)
    with torch.set_grad_enabled(grad):
        whole = layer(X)
        for sizes in ([N], [1] * N, [5, 1, 1, 4], [2, 9]):
            cache = StateCache()
            parts = [layer(part, kv_cache=cache) for part in X.split(sizes, dim=1)]
            assert_close(torch.cat(parts, dim=1), whole, "float64")
            assert len(cache) == cache.length == N


@pytest.mark.parametrize("name", LAYERS)
def test_the_cache_has_one_size_however_long_the_text_is(name):
    layer, X = made(name)
    cache, sizes = StateCache(), set()
    with torch.no_grad():
        for _ in range(30):
            layer(X, kv_cache=cache)
            sizes.add(cache.nbytes)
    assert sizes == {B * 2 * D * (layer.d_state + layer.width - 1) * 8} and len(cache) == 30 * N


def test_a_cache_is_reordered_and_reset():
    layer, X = made("selective")
    cache = StateCache()
    with torch.no_grad():
        layer(X[:, :6], kv_cache=cache)
        cache.reorder(torch.tensor([1, 1, 0]))
        assert_close(layer(X[[1, 1, 0], 6:], kv_cache=cache), layer(X)[[1, 1, 0], 6:], "float64")
        cache.reset()
        assert_close(layer(X, kv_cache=cache), layer(X), "float64")


@torch.no_grad()
def test_it_stands_beside_attention_in_one_stack():
    torch.manual_seed(0)
    mixers = [
        StateSpace(d_model=8, n_heads=2),
        MultiHeadAttention(d_model=8, n_heads=2, causal=True),
        StateSpace(d_model=8, selective=False),
    ]
    stack = BlockStack(
        [
            Block(attention=mixer, feed_forward=FeedForward(d_model=8, d_hidden=9), norm=nn.RMSNorm)
            for mixer in mixers
        ]
    ).double()
    X, caches = torch.randn(B, N, 8, dtype=torch.float64), [StateCache(), KVCache(), StateCache()]
    parts = [stack(part, kv_cache=caches) for part in X.split([4, 1, 1, 5], dim=1)]
    assert_close(torch.cat(parts, dim=1), stack(X), "float64")


# --- what passes through -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LAYERS)
def test_maps_and_heads_are_called_so_hooks_see_and_replace_them(name):
    layer, X = made(name)
    seen = []
    layer.heads.register_forward_hook(lambda module, inputs, Z: seen.append(Z.shape))
    before = layer(X)
    assert seen == [(B, H, N, 2 * D // H)]
    layer.W_X.register_forward_hook(lambda module, inputs, U: U + 1)
    assert (layer(X) - before).abs().max() > 1e-3


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", LAYERS)
def test_the_output_has_the_dtype_of_the_layer_and_the_state_at_least_float32(name, dtype):
    layer, X = made(name)
    cache, expected = StateCache(), layer(X)
    Y = layer.to(dtype)(X.to(dtype), kv_cache=cache)
    assert Y.dtype == dtype and cache.state is not None and cache.state.dtype == torch.float32
    error = (Y.double() - expected).abs().max() / expected.abs().max()
    assert error < 2 * tolerance(str(dtype).removeprefix("torch."))[0]  # several maps in a row


def test_a_sequence_without_a_batch_and_a_printed_layer():
    layer, X = made("selective")
    assert_close(layer(X[0]), layer(X)[0], "float64")
    assert "n_heads=3, d_state=6, width=4" in repr(layer)


# --- what is refused -----------------------------------------------------------------------------------------------


@pytest.mark.bad_input
def test_what_a_state_cannot_do_is_refused_in_one_sentence():
    layer, X = StateSpace(d_model=8, n_heads=2), torch.randn(3, 5, 8)
    with pytest.raises(ValueError, match="StateSpace: mask and bias must be None, for a state has no scores"):
        layer(X, mask=torch.ones(5, 5, dtype=torch.bool))
    with pytest.raises(
        ValueError, match="StateSpace: expand \\* d_model must split evenly into n_heads; got"
    ):
        StateSpace(d_model=8, n_heads=3)
    with pytest.raises(
        ValueError, match="DiagonalStateSpace: d_state must be even, two for each pair; got d_state=3"
    ):
        StateSpace(d_model=8, d_state=3, selective=False)
    with pytest.raises(TypeError, match="StateSpace: kv_cache must be a StateCache; got KVCache"):
        layer(X, kv_cache=KVCache())
    with pytest.raises(TypeError, match="StateSpace: all arrays must have the same dtype"):
        layer(X.double())
    cache = StateCache()
    layer(X, kv_cache=cache)
    held = cache.state
    with pytest.raises(
        ValueError, match=r"StateCache: the state must be \(1, 2, 8, 19\); got \(3, 2, 8, 19\)"
    ):
        layer(X[:1], kv_cache=cache)
    assert cache.state is held and len(cache) == 5  # a call that fails leaves the cache as it was
