"""The feed-forward network and the two ways around a sublayer: slopes by hand, and PyTorch's own encoder layer."""

import numpy as np
import pytest
import torch

from attnlib.nn.multihead import MultiHeadAttention
from attnlib.nn.positional import Rotary
from attnlib.nn.transformer import Block, FeedForward
from attnlib.reference import transformer
from attnlib.reference.transformer import (
    FeedForwardParameters,
    NormParameters,
    feed_forward,
    feed_forward_backward,
)
from attnlib.testing import assert_close, check_gradients, check_twin

B, N, D, HIDDEN = 2, 3, 5, 11


def parameters(rng):
    shapes = [(D, HIDDEN), (HIDDEN,), (HIDDEN, D), (D,)]
    return FeedForwardParameters(*(rng.normal(size=shape) / 2 for shape in shapes))


def test_the_feed_forward_network_has_its_slope(rng):
    def forward(X, *learned):
        return feed_forward(X, FeedForwardParameters(*learned))

    def backward(dY, cache):
        dX, d_learned = feed_forward_backward(dY, cache)
        return dX, *d_learned

    check_gradients(forward, backward, [rng.normal(size=(B, N, D)), *parameters(rng)], rng)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_feed_forward_network_and_all_its_slopes_are_the_twins(dtype, rng):
    module = FeedForward(d_model=D, d_hidden=HIDDEN).to(torch.tensor(dtype(0)).dtype)
    learned = FeedForwardParameters(*(array.astype(dtype) for array in parameters(rng)))
    X = rng.normal(size=(B, N, D)).astype(dtype)
    check_twin(feed_forward, feed_forward_backward, module, [X], rng, learned, module)


@pytest.mark.parametrize("way", ["pre_norm", "post_norm"])
def test_both_ways_around_a_sublayer_have_their_slope(way, rng):
    around, around_backward = getattr(transformer, way), getattr(transformer, f"{way}_backward")

    def forward(X, gamma, beta, *learned):
        return around(
            X, NormParameters(gamma, beta), lambda Z: feed_forward(Z, FeedForwardParameters(*learned))
        )

    def backward(dY, cache):
        dX, d_norm, d_learned = around_backward(dY, cache, feed_forward_backward)
        return dX, *d_norm, *d_learned

    arrays = [rng.normal(size=(B, N, D)), rng.normal(size=D), rng.normal(size=D), *parameters(rng)]
    check_gradients(forward, backward, arrays, rng)


@pytest.mark.parametrize("way", ["pre_norm", "post_norm"])
def test_with_silent_attention_pytorchs_encoder_layer_is_this_sublayer(way, rng):
    learned, X = parameters(rng), rng.normal(size=(B, N, D))
    layer = torch.nn.TransformerEncoderLayer(
        D, 1, HIDDEN, dropout=0, batch_first=True, norm_first=way == "pre_norm", dtype=torch.float64
    ).train()
    with torch.no_grad():
        layer.self_attn.out_proj.weight.zero_()
        for target, W in zip(
            (layer.linear1.weight, layer.linear1.bias, layer.linear2.weight, layer.linear2.bias),
            learned,
            strict=True,
        ):
            target.copy_(torch.tensor(W.T))
    norm, around = NormParameters(np.ones(D), np.zeros(D)), getattr(transformer, way)
    Y, _ = around(X, norm, lambda Z: (0 * Z, None))  # what the silent attention leaves
    Y, _ = around(Y, norm, lambda Z: feed_forward(Z, learned))
    assert_close(Y, layer(torch.tensor(X)), "float64")


def test_a_sublayer_that_says_nothing_is_no_change_before_and_a_norm_after(rng):
    X, norm = rng.normal(size=(B, N, D)), NormParameters(np.ones(D), np.zeros(D))
    silent = lambda Z: (0 * Z, None)  # noqa: E731
    assert np.array_equal(transformer.pre_norm(X, norm, silent)[0], X)
    assert_close(transformer.post_norm(X, norm, silent)[0].mean(axis=-1), np.zeros((B, N)), "float64")


def test_each_position_goes_through_the_network_alone(rng):
    X, learned = rng.normal(size=(B, N, D)), parameters(rng)
    moved = X.copy()
    moved[:, 1] += 1
    before, after = feed_forward(X, learned)[0], feed_forward(moved, learned)[0]
    assert np.array_equal(before[:, [0, 2]], after[:, [0, 2]]) and abs(before[:, 1] - after[:, 1]).max() > 0.1


def test_the_residual_stream_is_what_came_in_and_the_sum_of_what_each_part_wrote():
    """eq-stream: hooks hear each part; behind post-norm it is no such sum."""
    torch.manual_seed(0)
    X, heard = torch.randn(2, 5, 8, dtype=torch.float64), []
    for order in ("pre", "post"):
        heard.clear()
        parts = [
            (MultiHeadAttention(d_model=8, n_heads=2, causal=True), FeedForward(d_model=8, d_hidden=32))
            for _ in range(3)
        ]
        blocks = [Block(attention=a, feed_forward=f, order=order).double() for a, f in parts]
        for part in (part for pair in parts for part in pair):
            part.register_forward_hook(lambda module, given, said: heard.append(said))
        Y = torch.nn.Sequential(*blocks)(X)
        assert len(heard) == 6
        assert torch.allclose(Y, X + sum(heard), rtol=1e-10, atol=1e-12) == (order == "pre")


@pytest.mark.parametrize("order", ["pre", "post"])
def test_what_a_block_is_told_its_attention_hears(order, rng):
    torch.manual_seed(0)
    heads, network = MultiHeadAttention(d_model=6, n_heads=3), FeedForward(d_model=6, d_hidden=HIDDEN)
    block = Block(attention=heads, feed_forward=network, order=order).double()
    X = torch.from_numpy(rng.normal(size=(B, N, 6)))
    mask, bias = torch.ones(N, N).tril().bool(), torch.from_numpy(rng.normal(size=(3, N, N)))
    for told in ({"mask": mask}, {"bias": bias}, {"rotate": Rotary(2, context=N, layout="halves")}):
        if order == "pre":
            Z = X + heads(block.norm_1(X), **told)
            Y = Z + network(block.norm_2(Z))
        else:
            Z = block.norm_1(X + heads(X, **told))
            Y = block.norm_2(Z + network(Z))
        assert_close(block(X, **told), Y, "float64")
