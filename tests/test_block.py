"""A whole block by hand: its slope, its twin, and PyTorch's own encoder layer, in both orders; stacks of it."""

import numpy as np
import pytest
import torch
from torch import nn

from attnlib.nn import depth as nn_depth
from attnlib.nn.multihead import MultiHeadAttention
from attnlib.nn.transformer import Block, FeedForward
from attnlib.reference import block, depth
from attnlib.reference.block import BlockParameters
from attnlib.reference.projections import MultiHeadParameters
from attnlib.reference.transformer import FeedForwardParameters, NormParameters
from attnlib.testing import assert_close, central_difference, check_gradients, check_twin, copy_parameters

B, N, HEADS, D, HIDDEN = 4, 3, 2, 6, 7
CAUSAL = np.tril(np.ones((N, N), dtype=bool))
MASKS = {"none": None, "causal": CAUSAL}
EXACT = {"rtol": 0, "atol": 1e-12}  # float64: the order of the additions is all that differs


def parameters(rng):
    def drawn(*shapes):
        return [rng.normal(size=shape) / 2 for shape in shapes]

    return BlockParameters(
        NormParameters(*drawn(D, D)),
        MultiHeadParameters(*drawn(*[(D, D)] * 4, *[D] * 4)),
        NormParameters(*drawn(D, D)),
        FeedForwardParameters(*drawn((D, HIDDEN), HIDDEN, (HIDDEN, D), D)),
    )


def flat(parts):
    return [array for part in parts for array in part]


def folded(arrays):
    arrays = iter(arrays)
    kinds = (NormParameters, MultiHeadParameters, NormParameters, FeedForwardParameters)
    return BlockParameters(*(kind(*(next(arrays) for _ in kind._fields)) for kind in kinds))


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("order", ["pre", "post"])
def test_the_whole_block_has_its_slope(order, mask, rng):
    def forward(X, *learned):
        return getattr(block, f"{order}_norm_block")(X, folded(learned), HEADS, MASKS[mask])

    def backward(dY, cache):
        dX, gradients = getattr(block, f"{order}_norm_block_backward")(dY, cache)
        return dX, *flat(gradients)

    check_gradients(forward, backward, [rng.normal(size=(B, N, D)), *flat(parameters(rng))], rng)


def ours_in_pytorch(learned, order, causal):
    module = Block(
        attention=MultiHeadAttention(d_model=D, n_heads=HEADS, causal=causal),
        feed_forward=FeedForward(d_model=D, d_hidden=HIDDEN),
        order=order,
    ).double()
    copy_parameters(learned.attention, module.attention)
    copy_parameters(learned.feed_forward, module.feed_forward)
    with torch.no_grad():
        for norm, (gain, shift) in zip(
            (module.norm_1, module.norm_2), (learned.norm_1, learned.norm_2), strict=True
        ):
            norm.weight.copy_(torch.tensor(gain))
            norm.bias.copy_(torch.tensor(shift))
    return module


def gradients_of(module):
    """Of our Block, in the order of BlockParameters; a map is (in, out)."""
    a, f = module.attention, module.feed_forward
    maps = [a.W_Q, a.W_K, a.W_V, a.W_O]
    norms = [[norm.weight.grad, norm.bias.grad] for norm in (module.norm_1, module.norm_2)]
    attention = [W.weight.grad.T for W in maps] + [W.bias.grad for W in maps]
    network = [f.W_1.weight.grad.T, f.W_1.bias.grad, f.W_2.weight.grad.T, f.W_2.bias.grad]
    return [*norms[0], *attention, *norms[1], *network]


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("order", ["pre", "post"])
def test_the_whole_block_and_all_its_slopes_are_the_twins(order, mask, rng):
    learned, X, dY = parameters(rng), rng.normal(size=(B, N, D)), rng.normal(size=(B, N, D))
    Y, cache = getattr(block, f"{order}_norm_block")(X, learned, HEADS, MASKS[mask])
    dX, gradients = getattr(block, f"{order}_norm_block_backward")(dY, cache)
    module = ours_in_pytorch(learned, order, causal=mask == "causal")
    inputs = torch.tensor(X, requires_grad=True)
    outputs = module(inputs)
    outputs.backward(torch.tensor(dY))
    assert_close(outputs, Y, "float64")
    assert_close(inputs.grad, dX, "float64")
    for theirs, mine in zip(gradients_of(module), flat(gradients), strict=True):
        assert_close(theirs, mine, "float64")


def pytorchs_own(learned, order):
    layer = nn.TransformerEncoderLayer(
        D, HEADS, HIDDEN, dropout=0, batch_first=True, norm_first=order == "pre", dtype=torch.float64
    ).train()  # in evaluation it takes another way, which has no gradients
    a, f = learned.attention, learned.feed_forward
    values = {
        "self_attn.in_proj_weight": np.concatenate([W.T for W in (a.W_Q, a.W_K, a.W_V)]),
        "self_attn.in_proj_bias": np.concatenate([a.b_Q, a.b_K, a.b_V]),
        "self_attn.out_proj.weight": a.W_O.T, "self_attn.out_proj.bias": a.b_O,
        "linear1.weight": f.W_1.T, "linear1.bias": f.b_1, "linear2.weight": f.W_2.T, "linear2.bias": f.b_2,
        "norm1.weight": learned.norm_1.gain, "norm1.bias": learned.norm_1.shift,
        "norm2.weight": learned.norm_2.gain, "norm2.bias": learned.norm_2.shift,
    }  # fmt: skip
    layer.load_state_dict({name: torch.tensor(value) for name, value in values.items()})
    return layer


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("order", ["pre", "post"])
def test_pytorchs_own_encoder_layer_is_this_block_to_twelve_digits(order, mask, rng):
    learned, X, dY = parameters(rng), rng.normal(size=(B, N, D)), rng.normal(size=(B, N, D))
    layer = pytorchs_own(learned, order)
    inputs = torch.tensor(X, requires_grad=True)
    forbidden = None if mask == "none" else torch.tensor(~CAUSAL)  # theirs says where not to look
    outputs = layer(inputs, src_mask=forbidden)
    outputs.backward(torch.tensor(dY))
    Y, cache = getattr(block, f"{order}_norm_block")(X, learned, HEADS, MASKS[mask])
    dX, gradients = getattr(block, f"{order}_norm_block_backward")(dY, cache)
    np.testing.assert_allclose(Y, outputs.detach(), **EXACT)
    np.testing.assert_allclose(dX, inputs.grad, **EXACT)
    np.testing.assert_allclose(gradients.attention.W_O.T, layer.self_attn.out_proj.weight.grad, **EXACT)
    np.testing.assert_allclose(gradients.feed_forward.W_1.T, layer.linear1.weight.grad, **EXACT)
    np.testing.assert_allclose(gradients.norm_1.gain, layer.norm1.weight.grad, **EXACT)
    torch_block = ours_in_pytorch(learned, order, causal=mask == "causal")
    np.testing.assert_allclose(torch_block(inputs).detach(), outputs.detach(), **EXACT)


def test_a_stack_has_its_slope_and_is_its_blocks_one_behind_the_other(rng):
    layers, X, dY = [parameters(rng), parameters(rng)], rng.normal(size=(B, N, D)), rng.normal(size=(B, N, D))
    Y, caches = block.block_stack(block.pre_norm_block, X, layers, HEADS, CAUSAL)
    by_hand = X
    for learned in layers:
        by_hand, _ = block.pre_norm_block(by_hand, learned, HEADS, CAUSAL)
    assert np.array_equal(Y, by_hand)
    dX, gradients = block.block_stack_backward(block.pre_norm_block_backward, dY, caches)
    last = block.pre_norm_block_backward(dY, caches[1])[1]
    assert len(gradients) == 2 and np.array_equal(gradients[1].feed_forward.W_1, last.feed_forward.W_1)
    assert_close(
        dX,
        central_difference(
            lambda X: block.block_stack(block.pre_norm_block, X, layers, HEADS, CAUSAL)[0], X, dY
        ),
        "central difference",
    )

    def of_the_first(W_1):
        first = layers[0]._replace(feed_forward=layers[0].feed_forward._replace(W_1=W_1))
        return block.block_stack(block.pre_norm_block, X, [first, layers[1]], HEADS, CAUSAL)[0]

    slope = central_difference(of_the_first, layers[0].feed_forward.W_1, dY)
    assert_close(gradients[0].feed_forward.W_1, slope, "central difference")
    assert len(gradients) == 2


# ---- Stochastic depth -----------------------------------------------------------------------------------------------

KEPT = np.array([True, False, True, True])


def test_stochastic_depth_has_its_slope_and_its_twin(rng):
    Y = rng.normal(size=(B, N, D))
    forward = lambda Y: (depth.stochastic_depth(Y, KEPT, 0.7), None)  # noqa: E731
    backward = lambda dY, cache: depth.stochastic_depth_backward(dY, KEPT, 0.7)  # noqa: E731
    check_gradients(forward, backward, [Y], rng)
    twin = lambda Y: nn_depth.stochastic_depth(Y, torch.tensor(KEPT), 0.7)  # noqa: E731
    check_twin(forward, backward, twin, [Y], rng)


def test_on_average_nothing_changes(rng):
    """Four standard errors of 4,000 draws, each 1 / 0.7 with probability 0.7 and else 0: sigma = sqrt(0.3 / 0.7)."""
    torch.manual_seed(0)
    drawn = nn_depth.StochasticDepth(0.3)(torch.ones(4000, 1, 1))
    assert abs(drawn.mean().item() - 1) < 4 * (0.3 / 0.7) ** 0.5 / 4000**0.5


def test_in_a_block_a_skipped_sublayer_leaves_the_sequence_as_it_was_and_use_skips_nothing(rng):
    torch.manual_seed(0)
    skipping = Block(
        attention=MultiHeadAttention(d_model=D, n_heads=HEADS), feed_forward=FeedForward(d_model=D, d_hidden=HIDDEN),
        skipped=0.6,
    )  # fmt: skip
    X = torch.randn(64, N, D)
    unchanged = (skipping(X) == X).all(dim=(1, 2)).float().mean()
    assert abs(unchanged - 0.36) < 4 * (0.36 * 0.64 / 64) ** 0.5
    skipping.eval()
    whole = X + skipping.attention(skipping.norm_1(X))
    assert_close(skipping(X), whole + skipping.feed_forward(skipping.norm_2(whole)), "float32")


@pytest.mark.parametrize("part", range(2))
@pytest.mark.parametrize("order", ["pre", "post"])
def test_a_cache_with_a_part_that_is_no_cache_says_so(order, part, rng):
    X = rng.normal(size=(B, N, D))
    Y, cache = getattr(block, f"{order}_norm_block")(X, parameters(rng), HEADS)
    residuals = [None if i == part else one for i, one in enumerate(cache.residuals)]
    with pytest.raises(ValueError, match="the cache must be what the forward returned"):
        getattr(block, f"{order}_norm_block_backward")(X, cache._replace(residuals=residuals))
