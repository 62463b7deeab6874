"""A block that reads a memory: its slopes, its twin, and PyTorch's own decoder layer, in both orders."""

import numpy as np
import pytest
import torch
from test_block import EXACT, HEADS, HIDDEN, B, D
from test_block import parameters as encoder_parameters
from torch import nn

from attnlib import shapes
from attnlib.nn.cache import KVCache, SourceCache
from attnlib.nn.multihead import MultiHeadAttention
from attnlib.nn.transformer import Block, FeedForward
from attnlib.reference import block, decoder_block
from attnlib.reference.decoder_block import DecoderBlockParameters
from attnlib.reference.projections import MultiHeadParameters
from attnlib.reference.transformer import FeedForwardParameters, NormParameters
from attnlib.testing import assert_close, central_difference, check_gradients, copy_parameters

M, N = 3, 5
KINDS = (NormParameters, MultiHeadParameters) * 2 + (NormParameters, FeedForwardParameters)
CAUSAL = np.tril(np.ones((M, M), dtype=bool))
SAID = np.arange(M) < np.array([2, 3, 1, 3])[:, None]  # the tokens of each target; the others are padding
READ = np.arange(5) < np.array([5, 3, 4, 1])[:, None]  # those of each source
MASKS = {
    "none": (None, None),
    "causal": (CAUSAL, None),
    "causal, both padded": (CAUSAL & SAID[:, None], np.repeat(READ[:, None], M, axis=1)),
}
ORDERS = ("pre", "post")
by_order = pytest.mark.parametrize("order", ORDERS)
by_mask = pytest.mark.parametrize("masks", MASKS)


def parameters(rng):
    encoder, cross = encoder_parameters(rng), encoder_parameters(rng)
    return DecoderBlockParameters(
        encoder.norm_1, encoder.attention, cross.norm_1, cross.attention, encoder.norm_2, encoder.feed_forward
    )


def flat(parts):
    return [array for part in parts for array in part]


def folded(arrays):
    arrays = iter(arrays)
    return DecoderBlockParameters(*(kind(*(next(arrays) for _ in kind._fields)) for kind in KINDS))


def ours(order):
    return getattr(decoder_block, f"{order}_norm_decoder_block")


def ours_backward(order):
    return getattr(decoder_block, f"{order}_norm_decoder_block_backward")


@pytest.fixture
def drawn(rng):
    """Target, memory, the slope of the output, and parameters."""
    X, memory, dY = (rng.normal(size=(B, n, D)) for n in (M, N, M))
    return X, memory, dY, parameters(rng)


@pytest.fixture
def quickly(monkeypatch):
    """Differences call a forward a thousand times, and no other test leaves its inner calls unchecked."""
    monkeypatch.setattr(shapes, "INTERCEPT", None)


@pytest.mark.usefixtures("quickly")
@by_mask
@by_order
def test_the_whole_block_has_its_slope_and_so_has_the_memory(order, masks, rng, drawn):
    X, memory, _, learned = drawn

    def forward(X, memory, *learned):
        return ours(order)(X, memory, folded(learned), HEADS, *MASKS[masks])

    def backward(dY, cache):
        dX, d_memory, gradients = ours_backward(order)(dY, cache)
        return dX, d_memory, *flat(gradients)

    check_gradients(forward, backward, [X, memory, *flat(learned)], rng)


def in_pytorch(learned, order, causal):
    module = Block(
        attention=MultiHeadAttention(d_model=D, n_heads=HEADS, causal=causal),
        cross=MultiHeadAttention(d_model=D, n_heads=HEADS),
        feed_forward=FeedForward(d_model=D, d_hidden=HIDDEN),
        order=order,
    ).double()
    for part in ("attention", "cross", "feed_forward"):
        copy_parameters(getattr(learned, part), getattr(module, part))
    for norm in ("norm_1", "norm_2", "norm_3"):
        gain, shift = map(torch.tensor, getattr(learned, norm))
        getattr(module, norm).load_state_dict({"weight": gain, "bias": shift})
    return module


def gradients_of(module):
    """In the order of DecoderBlockParameters; a map is (in, out)."""

    def of_attention(a):
        maps = [a.W_Q, a.W_K, a.W_V, a.W_O]
        return [W.weight.grad.T for W in maps] + [W.bias.grad for W in maps]

    def of_norm(norm):
        return [norm.weight.grad, norm.bias.grad]

    f = module.feed_forward
    return [
        *of_norm(module.norm_1), *of_attention(module.attention), *of_norm(module.norm_2), *of_attention(module.cross),
        *of_norm(module.norm_3), f.W_1.weight.grad.T, f.W_1.bias.grad, f.W_2.weight.grad.T, f.W_2.bias.grad,
    ]  # fmt: skip


def tensors(*masks):
    return [None if mask is None else torch.tensor(mask) for mask in masks]


@by_mask
@by_order
def test_the_whole_block_and_all_its_slopes_are_the_twins(order, masks, drawn):
    X, memory, dY, learned = drawn
    mask, source_mask = MASKS[masks]
    Y, cache = ours(order)(X, memory, learned, HEADS, mask, source_mask)
    dX, d_memory, gradients = ours_backward(order)(dY, cache)
    module = in_pytorch(learned, order, causal=mask is not None)
    inputs = [torch.tensor(array, requires_grad=True) for array in (X, memory)]
    mask, source_mask = tensors(mask, source_mask)
    outputs = module(inputs[0], mask, memory=inputs[1], source_mask=source_mask)
    outputs.backward(torch.tensor(dY))
    assert_close(outputs, Y, "float64")
    for array, slope in zip(inputs, (dX, d_memory), strict=True):
        assert_close(array.grad, slope, "float64")
    for theirs, mine in zip(gradients_of(module), flat(gradients), strict=True):
        assert_close(theirs, mine, "float64")


def pytorchs_own(learned, order):
    layer = nn.TransformerDecoderLayer(
        D, HEADS, HIDDEN, dropout=0, batch_first=True, norm_first=order == "pre", dtype=torch.float64
    ).train()
    f, values = learned.feed_forward, {}
    for theirs, a in (("self_attn", learned.attention), ("multihead_attn", learned.cross)):
        values |= {
            f"{theirs}.in_proj_weight": np.concatenate([W.T for W in (a.W_Q, a.W_K, a.W_V)]),
            f"{theirs}.in_proj_bias": np.concatenate([a.b_Q, a.b_K, a.b_V]),
            f"{theirs}.out_proj.weight": a.W_O.T, f"{theirs}.out_proj.bias": a.b_O,
        }  # fmt: skip
    values |= {
        "linear1.weight": f.W_1.T,
        "linear1.bias": f.b_1,
        "linear2.weight": f.W_2.T,
        "linear2.bias": f.b_2,
    }
    for i, norm in enumerate((learned.norm_1, learned.norm_2, learned.norm_3), 1):
        values |= {f"norm{i}.weight": norm.gain, f"norm{i}.bias": norm.shift}
    layer.load_state_dict({name: torch.tensor(value) for name, value in values.items()})
    return layer


@by_mask
@by_order
def test_pytorchs_own_decoder_layer_is_this_block_to_twelve_digits(order, masks, drawn):
    X, memory, dY, learned = drawn
    layer, (mask, source_mask) = pytorchs_own(learned, order), MASKS[masks]
    padded = "padded" in masks  # theirs says where not to look
    inputs = [torch.tensor(array, requires_grad=True) for array in (X, memory)]
    outputs = layer(
        *inputs,
        tgt_mask=None if mask is None else torch.tensor(~CAUSAL),
        tgt_key_padding_mask=torch.tensor(~SAID) if padded else None,
        memory_key_padding_mask=torch.tensor(~READ) if padded else None,
    )
    outputs.backward(torch.tensor(dY))
    Y, cache = ours(order)(X, memory, learned, HEADS, mask, source_mask)
    dX, d_memory, gradients = ours_backward(order)(dY, cache)
    np.testing.assert_allclose(Y, outputs.detach(), **EXACT)
    np.testing.assert_allclose(dX, inputs[0].grad, **EXACT)
    np.testing.assert_allclose(d_memory, inputs[1].grad, **EXACT)
    np.testing.assert_allclose(gradients.cross.W_O.T, layer.multihead_attn.out_proj.weight.grad, **EXACT)
    np.testing.assert_allclose(gradients.norm_2.gain, layer.norm2.weight.grad, **EXACT)
    np.testing.assert_allclose(gradients.feed_forward.W_1.T, layer.linear1.weight.grad, **EXACT)
    module = in_pytorch(learned, order, causal=mask is not None)
    mask, source_mask = tensors(mask, source_mask)
    twin = module(inputs[0], mask, memory=inputs[1], source_mask=source_mask)
    np.testing.assert_allclose(twin.detach(), outputs.detach(), **EXACT)


@by_order
def test_what_is_said_later_has_exactly_no_influence_and_every_token_of_the_source_has_one(order, drawn):
    X, memory, _, learned = drawn
    module = in_pytorch(learned, order, causal=True)
    of_X, of_memory = torch.autograd.functional.jacobian(
        lambda X, memory: module(X, memory=memory), (torch.tensor(X), torch.tensor(memory))
    )
    for b in range(B):
        for t in range(M):
            assert (of_X[b, t, :, b, t + 1 :] == 0).all()  # the future
            assert (of_X[b, t, :, b, : t + 1].abs().amax(dim=(0, 2)) > 0).all()
            assert (of_memory[b, t, :, b].abs().amax(dim=(0, 2)) > 0).all()
    assert (of_X[0, :, :, 1] == 0).all() and (of_memory[0, :, :, 1] == 0).all()  # another text


@pytest.mark.usefixtures("quickly")
def test_a_decoder_has_its_slopes_and_its_blocks_read_one_memory(rng, drawn):
    """From the scores' side to the encoder's first block: three stacks of two blocks, by hand and by differences."""
    X, source, dY, learned = drawn
    layers, encoder = [learned, parameters(rng)], [encoder_parameters(rng), encoder_parameters(rng)]

    def whole(X, source):
        memory, encoded = block.block_stack(block.pre_norm_block, source, encoder, HEADS)
        Y, decoded = decoder_block.decoder_stack(ours("pre"), X, memory, layers, HEADS, CAUSAL)
        return Y, (memory, encoded, decoded)

    Y, (memory, encoded, decoded) = whole(X, source)
    by_hand = ours("pre")(
        ours("pre")(X, memory, layers[0], HEADS, CAUSAL)[0], memory, layers[1], HEADS, CAUSAL
    )[0]
    assert np.array_equal(Y, by_hand)
    dX, d_memory, gradients = decoder_block.decoder_stack_backward(ours_backward("pre"), dY, decoded)
    d_source, _ = block.block_stack_backward(block.pre_norm_block_backward, d_memory, encoded)
    for slope, expected in (
        (dX, central_difference(lambda X: whole(X, source)[0], X, dY)),
        (d_source, central_difference(lambda source: whole(X, source)[0], source, dY)),
    ):
        assert_close(slope, expected, "central difference")

    def of_the_first(W_K):
        first = layers[0]._replace(cross=layers[0].cross._replace(W_K=W_K))
        return decoder_block.decoder_stack(ours("pre"), X, memory, [first, layers[1]], HEADS, CAUSAL)[0]

    slope = central_difference(of_the_first, layers[0].cross.W_K, dY)
    assert_close(gradients[0].cross.W_K, slope, "central difference")
    assert len(gradients) == 2


@by_order
def test_token_by_token_is_all_at_once_and_keys_of_the_memory_are_made_once_from_it_alone(order, drawn):
    """eq-cross-projections: keys and values do not depend on the target, so one projection serves all steps."""
    X, memory, _, learned = drawn
    module = in_pytorch(learned, order, causal=True)
    target, source, projected = torch.tensor(X), torch.tensor(memory), []
    seen = torch.tensor(READ)[:, None]
    whole = module(target, memory=source, source_mask=seen).detach()
    for name in ("W_K", "W_V"):
        getattr(module.cross, name).register_forward_hook(
            lambda layer, given, said: projected.append(given[0])
        )
    caches = {"kv_cache": KVCache(), "source_cache": SourceCache()}
    with torch.no_grad():
        parts = [
            module(part, memory=source, source_mask=seen, **caches) for part in target.split([1, 1, 1], dim=1)
        ]
    assert_close(torch.cat(parts, dim=1), whole, "float64")
    assert len(projected) == 2 and all(given is source for given in projected)


@by_order
@pytest.mark.parametrize("part", range(3))
def test_a_cache_with_a_part_that_is_no_cache_says_so(order, part, drawn):
    X, memory, dY, learned = drawn
    Y, cache = ours(order)(X, memory, learned, HEADS)
    residuals = [None if i == part else one for i, one in enumerate(cache.residuals)]
    with pytest.raises(ValueError, match="the cache must be what the forward returned"):
        ours_backward(order)(dY, cache._replace(residuals=residuals))
