"""Layers with a state of fixed size: in one call or token after token, alone and beside attention in one stack."""

from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

from attnlib.nn.block import BlockStack
from attnlib.nn.cache import KVCache
from attnlib.nn.delta_rule import DeltaRule
from attnlib.nn.linear_attention import LinearAttention
from attnlib.nn.multihead import MultiHeadAttention
from attnlib.nn.positional import Rotary
from attnlib.nn.state_cache import StateCache
from attnlib.nn.transformer import Block, FeedForward
from attnlib.reference import delta_rule as delta
from attnlib.reference import linear_attention as linear
from attnlib.reference.heads import merge_heads, split_heads
from attnlib.testing import assert_close, tolerance

B, N, H, D, D_K, D_V = 2, 11, 3, 13, 5, 7
NORM = partial(nn.RMSNorm, eps=1e-5)  # by default eps depends on the dtype
SIZES = {"d_model": D, "n_heads": H, "d_k": D_K, "d_v": D_V, "chunk": 4}
LAYERS = {
    "linear": lambda: LinearAttention(**SIZES),
    "linear, with decays": lambda: LinearAttention(**SIZES, decay="learned"),
    "linear, not normalised": lambda: LinearAttention(
        **SIZES, feature_map="none", normalised=False, decay="learned", norm=NORM
    ),
    "delta": lambda: DeltaRule(**SIZES),
    "delta, with decays": lambda: DeltaRule(**SIZES, decay="learned", largest_step=2.0, norm=NORM),
}


def made(name):
    torch.manual_seed(0)
    return LAYERS[name]().double(), torch.randn(B, N, D, dtype=torch.float64)


def mapped(W, X):
    """What a layer's map makes of X, in NumPy."""
    return X @ W.weight.detach().numpy().T + W.bias.detach().numpy()


def heads_of(layer, X):
    return [split_heads(mapped(W, X), H) for W in (layer.W_Q, layer.W_K, layer.W_V)]


# --- what they compute ---------------------------------------------------------------------------------------------


def test_linear_attention_is_the_reference_between_its_maps():
    layer, X = made("linear")
    Q, K, V = heads_of(layer, X.numpy())
    O, _ = linear.normalised_linear_attention(linear.elu_plus_one(Q), linear.elu_plus_one(K), V)
    assert_close(layer(X), mapped(layer.W_O, merge_heads(O)), "float64")


def test_decays_are_exp_of_minus_softplus_of_a_map():
    torch.manual_seed(0)
    layer = LinearAttention(**SIZES, feature_map="none", normalised=False, decay="learned").double()
    X = torch.randn(B, N, D, dtype=torch.float64)
    Q, K, V = heads_of(layer, X.numpy())
    scores = torch.tensor(mapped(layer.W_decay, X.numpy()))
    decay = torch.exp(-nn.functional.softplus(scores)).numpy().swapaxes(-1, -2)
    O, _ = linear.linear_attention(Q / D_K**0.5, K, V, decay)
    assert_close(layer(X), mapped(layer.W_O, merge_heads(O)), "float64")
    at_first = torch.sigmoid(-layer.W_decay.bias.detach())
    assert (at_first.diff() > 0).all() and at_first[0] > 0.8 and at_first[-1] < 1  # each head its own


@pytest.mark.parametrize("largest_step", [1.0, 2.0])
def test_the_delta_layer_is_the_reference_with_keys_of_length_one(largest_step):
    torch.manual_seed(0)
    layer = DeltaRule(**SIZES, largest_step=largest_step, decay="learned").double()
    X = torch.randn(B, N, D, dtype=torch.float64)
    Q, K, V = heads_of(layer, X.numpy())
    Q, K = (A / np.linalg.norm(A, axis=-1, keepdims=True) for A in (Q, K))
    step, decay = (mapped(W, X.numpy()).swapaxes(-1, -2) for W in (layer.W_step, layer.W_decay))
    step, decay = largest_step / (1 + np.exp(-step)), 1 / (1 + np.exp(decay))
    O, _ = delta.delta_rule(Q, K, V, step, decay)
    assert_close(layer(X), mapped(layer.W_O, merge_heads(O)), "float64")


@pytest.mark.parametrize("name", LAYERS)
def test_every_parameter_gets_a_gradient(name):
    layer, X = made(name)
    layer(X).square().sum().backward()
    for parameter_name, parameter in layer.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().max() > 1e-9, parameter_name


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
        for sizes in ([N], [1] * N, [5, 1, 1, 4], [3, 8]):
            cache = StateCache()
            parts = [layer(part, kv_cache=cache) for part in X.split(sizes, dim=1)]
            assert_close(torch.cat(parts, dim=1), whole, "float64")
            assert len(cache) == cache.length == N


@pytest.mark.parametrize("name", LAYERS)
def test_the_cache_has_one_size_however_long_the_text_is(name):
    layer, X = made(name)
    cache, sizes = StateCache(), []
    with torch.no_grad():
        for _ in range(30):
            layer(X, kv_cache=cache)
            sizes.append(cache.nbytes)
    column = 1 if name.startswith("linear") and layer.normalised else 0
    assert set(sizes) == {B * H * D_K * (D_V + column) * 8} and len(cache) == 30 * N


def test_a_cache_is_reordered_cropped_and_reset():
    layer, X = made("delta")
    cache = StateCache()
    with torch.no_grad():
        layer(X[:, :6], kv_cache=cache)
        cache.reorder(torch.tensor([1, 1, 0]))
        Y = layer(X[[1, 1, 0], 6:], kv_cache=cache)
        assert_close(Y, layer(X)[[1, 1, 0], 6:], "float64")
        cache.crop(N)
        assert len(cache) == N
        cache.crop(0)
        assert len(cache) == cache.nbytes == 0
        assert_close(layer(X, kv_cache=cache), layer(X), "float64")
        cache.reset()
        assert cache.state is None


def hybrid():
    """Blocks of three kinds, with rotary positions for those that have scores."""
    torch.manual_seed(0)
    mixers = [
        LinearAttention(d_model=8, n_heads=2, decay="learned", chunk=3),
        MultiHeadAttention(d_model=8, n_heads=2, causal=True),
        DeltaRule(d_model=8, n_heads=2, chunk=3),
    ]
    blocks = [
        Block(attention=mixer, feed_forward=FeedForward(d_model=8, d_hidden=9), norm=nn.RMSNorm)
        for mixer in mixers
    ]
    return BlockStack(blocks, rotate=Rotary(4, context=N, layout="halves")).double()


@torch.no_grad()
def test_layers_of_three_kinds_make_one_stack_each_with_its_cache():
    stack, X = hybrid(), torch.randn(B, N, 8, dtype=torch.float64)
    caches = [StateCache(), KVCache(), StateCache()]
    parts = [stack(part, kv_cache=caches) for part in X.split([4, 1, 1, 5], dim=1)]
    assert_close(torch.cat(parts, dim=1), stack(X), "float64")
    assert [len(cache) for cache in caches] == [N] * 3


# --- what passes through -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LAYERS)
def test_maps_and_heads_are_called_so_hooks_see_and_replace_them(name):
    layer, X = made(name)
    seen = []
    layer.heads.register_forward_hook(lambda module, inputs, Z: seen.append(Z.shape))
    before = layer(X)
    assert seen == [(B, H, N, D_V)]
    handle = layer.heads.register_forward_hook(lambda module, inputs, Z: 0 * Z)
    assert_close(layer(X), layer.W_O.bias.expand(B, N, D), "float64")
    handle.remove()
    layer.W_V.register_forward_hook(lambda module, inputs, V: V + 1)
    assert (layer(X) - before).abs().max() > 1e-3


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", LAYERS)
def test_the_output_has_the_dtype_of_the_layer_and_the_state_at_least_float32(name, dtype):
    layer, X = made(name)
    cache, expected = StateCache(), layer(X)
    Y = layer.to(dtype)(X.to(dtype), kv_cache=cache)
    assert Y.dtype == dtype and cache.state is not None and cache.state.dtype == torch.float32
    error = (Y.double() - expected).abs().max() / expected.abs().max()
    assert error < tolerance(str(dtype).removeprefix("torch."))[0]


def test_a_sequence_without_a_batch_and_a_printed_layer():
    layer, X = made("delta")
    assert_close(layer(X[0]), layer(X)[0], "float64")
    assert "largest_step=1.0, chunk=4" in repr(layer) and "normalised=True" in repr(made("linear")[0])


# --- what is refused -----------------------------------------------------------------------------------------------


@pytest.mark.bad_input
@pytest.mark.parametrize(("kind", "who"), [(LinearAttention, "LinearAttention"), (DeltaRule, "DeltaRule")])
def test_what_a_state_cannot_do_is_refused_in_one_sentence(kind, who):
    layer, X = kind(d_model=8, n_heads=2), torch.randn(3, 5, 8)
    with pytest.raises(
        ValueError, match=f"{who}: mask and bias must be None, for a state has no scores; got a mask"
    ):
        layer(X, mask=torch.ones(5, 5, dtype=torch.bool))
    with pytest.raises(
        ValueError, match=f"{who}: mask and bias must be None, .* got a bias. A layer with scores"
    ):
        layer(X, bias=torch.ones(5, 5))
    with pytest.raises(ValueError, match=f"{who}: d_model must split evenly into n_heads; got d_model=8"):
        kind(d_model=8, n_heads=3)
    with pytest.raises(ValueError, match=f"{who}: decay must be None or 'learned'; got 'always'"):
        kind(d_model=8, n_heads=2, decay="always")
    with pytest.raises(TypeError, match=f"{who}: kv_cache must be a StateCache; got KVCache"):
        layer(X, kv_cache=KVCache())
    with pytest.raises(TypeError, match=f"{who}: all arrays must have the same dtype"):
        layer(X.double())


@pytest.mark.bad_input
def test_sizes_that_do_not_fit_are_refused():
    with pytest.raises(
        ValueError, match="LinearAttention: weights that sum to one need a positive feature map"
    ):
        LinearAttention(d_model=8, n_heads=2, feature_map="none")
    with pytest.raises(ValueError, match="feature_map must be one of elu_plus_one, none; got 'cosine'"):
        LinearAttention(d_model=8, n_heads=2, feature_map="cosine")
    with pytest.raises(ValueError, match="DeltaRule: largest_step must be between 0 and 2"):
        DeltaRule(d_model=8, n_heads=2, largest_step=2.5)
    layer, cache = DeltaRule(d_model=8, n_heads=2), StateCache()
    layer(torch.randn(3, 5, 8), kv_cache=cache)
    held = cache.state
    with pytest.raises(
        ValueError, match=r"StateCache: the state must be \(1, 2, 4, 4\); got \(3, 2, 4, 4\). Another"
    ):
        layer(torch.randn(1, 5, 8), kv_cache=cache)
    assert cache.state is held and len(cache) == 5  # a call that fails leaves the cache as it was
    with pytest.raises(
        ValueError, match="StateCache.crop: n must be 0 or all 5 positions; got n=3. Keep the state"
    ):
        cache.crop(3)
    with pytest.raises(ValueError, match="StateCache.reorder: there must be a batch of sequences"):
        StateCache().reorder(torch.tensor([0]))
