"""Every module of `attnlib.nn` and `attnlib.models` under everything that PyTorch offers to do with a module.

One table: a module that is not in it fails, and so does an exception that is none any more.
"""

import copy
import importlib
import inspect
import pkgutil
from functools import partial
from typing import NamedTuple

import pytest
import torch
from test_one_forward import rotated
from torch import nn
from torch.func import functional_call, grad, vmap
from torch.utils import checkpoint
from torch.utils._pytree import tree_flatten, tree_map

import attnlib.models
import attnlib.nn
from attnlib.models.config import ModelConfig
from attnlib.models.encoder_decoder import EncoderDecoder, TokenEmbedding, encoder_decoder_config
from attnlib.models.gpt import GPT
from attnlib.models.seq2seq import (
    AdditiveDecoder,
    DotDecoder,
    Encoder,
    FixedDecoder,
    Memory,
    Seq2Seq,
    Seq2SeqConfig,
)
from attnlib.models.stack import Stack, stack_config
from attnlib.nn.attention import AttentionLayer
from attnlib.nn.block import BlockStack
from attnlib.nn.cache import KVCache
from attnlib.nn.convolution import ConvolvedFeedForward, ShortConvolution
from attnlib.nn.delta_rule import DeltaRule
from attnlib.nn.depth import StochasticDepth
from attnlib.nn.indexer import LightningIndexer
from attnlib.nn.latent import LatentAttention
from attnlib.nn.layers import CrossAttention, SelfAttention
from attnlib.nn.linear_attention import LinearAttention
from attnlib.nn.multihead import MultiHeadAttention
from attnlib.nn.positional import (
    IndexPositions,
    LearnedPositions,
    NoPositions,
    NormalisedIndexPositions,
    PartlyRotary,
    Rotary,
    SinusoidalPositions,
)
from attnlib.nn.relative import Alibi, OffsetBias, clipped
from attnlib.nn.s4d import DiagonalStateSpace
from attnlib.nn.scores import AdditiveScore, LocationScore, MultiplicativeScore
from attnlib.nn.selective_scan import SelectiveScan
from attnlib.nn.state_space import StateSpace
from attnlib.nn.transformer import Block, FeedForward
from attnlib.testing import assert_close, tolerance

B, N, M, H, D_K, D_V, D, D_SOURCE, VOCAB = 2, 5, 3, 7, 4, 6, 11, 13, 17
CAUSAL = {"causal": True, "n_kv_heads": 1, "norm": nn.RMSNorm, "d_k": D_K}


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def tokens(*shape, seed=0):
    return torch.randint(3, VOCAB, shape, generator=torch.Generator().manual_seed(seed))


MASK = torch.tensor([[True, False, True], [True, True, True]])[:, None].expand(B, N, M)
MASK_OF_ALL = torch.ones(N, N, dtype=torch.bool).tril()
REAL = torch.tensor([[True] * 3 + [False] * 2, [True] * 5])


class Turned(nn.Module):
    """A layer with rotary positions, which are a function: it cannot be an input of an exported program."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = MultiHeadAttention(d_model=D, n_heads=H, **CAUSAL)

    def forward(self, X):
        return self.layer(X, rotate=rotated)


class Reads(nn.Module):
    """A block of a decoder, with the memory as its second input."""

    def __init__(self) -> None:
        super().__init__()
        attention, cross = (
            MultiHeadAttention(d_model=8, n_heads=2, causal=causal) for causal in (True, False)
        )
        self.block = Block(attention=attention, cross=cross, feed_forward=FeedForward(d_model=8, d_hidden=9))

    def forward(self, X, memory):
        return self.block(X, memory=memory)


class Scored(nn.Module):
    """Scores with a bias for each distance added, which is made of two sizes and no tensor."""

    def __init__(self, bias) -> None:
        super().__init__()
        self.bias = bias

    def forward(self, S):
        return S + self.bias(*S.shape[-2:])


class Case(NamedTuple):
    """How to make a module, and inputs of its forward."""

    kind: type
    make: object
    inputs: tuple


def seq2seq(kind, **options):
    config = Seq2SeqConfig(VOCAB, VOCAB, d_embedding=6, d_hidden=8, d_attention=5, **options)
    return lambda: kind(config)


def stack(kind, **options):
    return lambda: kind(stack_config(VOCAB, 3, d_model=8, n_heads=2, n_layers=2, **options))


def post_norm_block():
    attention = MultiHeadAttention(d_model=8, n_heads=2)
    return Block(attention=attention, feed_forward=FeedForward(d_model=8, d_hidden=9), order="post")


def attention_alone():
    attention = MultiHeadAttention(d_model=8, n_heads=2)
    return Block(attention=attention, feed_forward=None, norm=nn.Identity, order="without residual")


def offset_bias():
    bias = OffsetBias(H, 7, partial(clipped, most=3))
    nn.init.normal_(bias.weight)  # it begins as zeros
    return Scored(bias)


def stack_of_blocks():
    return BlockStack(
        [post_norm_block() for _ in range(2)],
        rotate=Rotary(4, context=8, layout="halves"),
        score_bias=Alibi(2),
        window=(1, 2),
    )


def encoder_decoder(kind, *first, **options):
    config = encoder_decoder_config(VOCAB, VOCAB, context=8, d_model=8, n_heads=2, **options)
    return lambda: kind(*first, config)


def gpt(**options):
    return lambda: GPT(ModelConfig(VOCAB, context=8, d_model=8, n_heads=2, n_layers=2, **options))


LLAMA = {
    "positions": "rotary",
    "layout": "halves",
    "norm": "rms",
    "activation": "swish",
    "gated": True,
    "bias": False,
    "tied": False,
}
MEMORY = Memory(draw(B, N, 8), REAL, draw(B, 8, seed=1))
DECODED = (tokens(B, M), draw(B, 8, seed=2), MEMORY)
FULL = {"causal": True, "d_hidden": 9, "norm": True, "n_kv_heads": 1}
CASES = {
    "AttentionLayer": Case(
        AttentionLayer,
        lambda: AttentionLayer(d_model=D, d_source=D_SOURCE, d_k=D_K, d_v=D_V),
        (draw(B, N, D), draw(B, M, D_SOURCE), MASK),
    ),
    "SelfAttention": Case(
        SelfAttention, lambda: SelfAttention(d_model=D, d_k=D_K, d_v=D_V), (draw(B, N, D),)
    ),
    "CrossAttention": Case(
        CrossAttention,
        lambda: CrossAttention(d_model=D, d_source=D_SOURCE, d_k=D_K, d_v=D_V),
        (draw(B, N, D), draw(B, M, D_SOURCE)),
    ),
    "MultiHeadAttention": Case(
        MultiHeadAttention, lambda: MultiHeadAttention(d_model=12, n_heads=3), (draw(B, N, 12),)
    ),
    "MultiHeadAttention, crossed and masked, with a bias": Case(
        MultiHeadAttention,
        lambda: MultiHeadAttention(d_model=D, n_heads=H, d_source=D_SOURCE, d_k=D_K, d_v=D_V),
        (draw(B, N, D), draw(B, M, D_SOURCE), MASK, draw(H, N, M)),
    ),
    "MultiHeadAttention, causal, shared, normed, turned": Case(MultiHeadAttention, Turned, (draw(B, N, D),)),
    "LatentAttention": Case(
        LatentAttention,
        lambda: LatentAttention(d_model=12, n_heads=3, d_latent=5, d_rotated=2, causal=True),
        (draw(B, N, 12),),
    ),
    "LightningIndexer": Case(
        LightningIndexer, lambda: LightningIndexer(d_model=12, n_heads=3, d_k=4), (draw(B, N, 12),)
    ),
    "LightningIndexer, queries from a latent": Case(
        LightningIndexer,
        lambda: LightningIndexer(d_model=D, n_heads=H, d_k=D_K, d_query=D_SOURCE),
        (draw(B, N, D), draw(B, N, D_SOURCE)),
    ),
    "LinearAttention": Case(
        LinearAttention, lambda: LinearAttention(d_model=12, n_heads=3, chunk=2), (draw(B, N, 12),)
    ),
    "LinearAttention, with decays, not normalised": Case(
        LinearAttention,
        lambda: LinearAttention(
            d_model=D,
            n_heads=H,
            d_k=D_K,
            d_v=D_V,
            feature_map="none",
            normalised=False,
            decay="learned",
            norm=nn.RMSNorm,
        ),
        (draw(B, N, D),),
    ),
    "DeltaRule": Case(DeltaRule, lambda: DeltaRule(d_model=12, n_heads=3, chunk=2), (draw(B, N, 12),)),
    "DeltaRule, with decays and steps up to two": Case(
        DeltaRule,
        lambda: DeltaRule(
            d_model=D,
            n_heads=H,
            d_k=D_K,
            d_v=D_V,
            largest_step=2.0,
            decay="learned",
            bias=False,
            norm=nn.RMSNorm,
        ),
        (draw(B, N, D),),
    ),
    "DeltaRule, as in Qwen3-Next": Case(
        DeltaRule,
        lambda: DeltaRule(
            d_model=12, n_heads=3, decay="learned", conv=4, gate=True, chunk=2, norm=nn.LayerNorm
        ),
        (draw(B, N, 12),),
    ),
    "LinearAttention, with convolution and gate": Case(
        LinearAttention,
        lambda: LinearAttention(d_model=12, n_heads=3, decay="learned", conv=4, gate=True, chunk=2),
        (draw(B, N, 12),),
    ),
    "ShortConvolution": Case(ShortConvolution, lambda: ShortConvolution(D, width=3), (draw(B, N, D),)),
    "SelectiveScan": Case(
        SelectiveScan, lambda: SelectiveScan(d=12, d_state=4, step_rank=2), (draw(B, N, 12), draw(B, 12, 4))
    ),
    "DiagonalStateSpace": Case(
        DiagonalStateSpace, lambda: DiagonalStateSpace(d=12, d_state=4), (draw(B, N, 12), draw(B, 12, 4))
    ),
    "StateSpace": Case(StateSpace, lambda: StateSpace(d_model=12, n_heads=3, d_state=4), (draw(B, N, 12),)),
    "StateSpace, with fixed maps": Case(
        StateSpace,
        lambda: StateSpace(d_model=D, d_state=4, width=1, selective=False, bias=False, norm=nn.RMSNorm),
        (draw(B, N, D),),
    ),
    "PartlyRotary": Case(
        PartlyRotary, lambda: PartlyRotary(2, context=8, layout="halves"), (draw(B, N, D_K),)
    ),
    "Rotary": Case(Rotary, lambda: Rotary(D_K, context=8, layout="halves"), (draw(B, N, D_K),)),
    "FeedForward": Case(FeedForward, lambda: FeedForward(d_model=D, d_hidden=9), (draw(B, N, D),)),
    "FeedForward, gated": Case(
        FeedForward,
        lambda: FeedForward(d_model=D, d_hidden=9, activation="swish", gated=True, bias=False),
        (draw(B, N, D),),
    ),
    "ConvolvedFeedForward": Case(
        ConvolvedFeedForward, lambda: ConvolvedFeedForward(d_model=D, d_hidden=9), (draw(B, N, D),)
    ),
    "StochasticDepth": Case(StochasticDepth, lambda: StochasticDepth(0.0), (draw(B, N, D),)),
    "Block": Case(Block, post_norm_block, (draw(B, N, 8), MASK_OF_ALL)),
    "Block, attention alone": Case(Block, attention_alone, (draw(B, N, 8),)),
    "Block, of a decoder": Case(Block, Reads, (draw(B, M, 8), draw(B, N, 8))),
    "BlockStack": Case(BlockStack, stack_of_blocks, (draw(B, N, 8),)),
    "OffsetBias": Case(OffsetBias, offset_bias, (draw(B, H, N, N),)),
    "Alibi": Case(Alibi, lambda: Scored(Alibi(H)), (draw(B, H, N, N),)),
    "TokenEmbedding": Case(TokenEmbedding, encoder_decoder(TokenEmbedding, VOCAB), (tokens(B, N),)),
    "EncoderDecoder": Case(
        EncoderDecoder, encoder_decoder(EncoderDecoder, tied=True), (tokens(B, N), REAL, tokens(B, M, seed=1))
    ),
    "EncoderDecoder, of 2017": Case(
        EncoderDecoder,
        encoder_decoder(EncoderDecoder, order="post", positions="learned"),
        (tokens(B, N), REAL, tokens(B, M, seed=1)),
    ),
    "GPT": Case(GPT, gpt(), (tokens(B, N),)),
    "GPT, of Llama's kind": Case(GPT, gpt(n_kv_heads=1, qk_norm=True, **LLAMA), (tokens(B, N),)),
    "GPT, latent, with sandwich norms": Case(
        GPT, gpt(mixer="latent", d_latent=5, d_rotated=2, order="sandwich", **LLAMA), (tokens(B, N),)
    ),
    "GPT, of several mixers": Case(
        GPT, gpt(mixer=("delta", "window"), window=1, positions="none"), (tokens(B, N),)
    ),
    "AdditiveScore": Case(
        AdditiveScore,
        lambda: AdditiveScore(d_q=D, d_k=D_SOURCE, d_a=D_K),
        (draw(B, N, D), draw(B, M, D_SOURCE)),
    ),
    "MultiplicativeScore": Case(
        MultiplicativeScore,
        lambda: MultiplicativeScore(d_q=D, d_k=D_SOURCE),
        (draw(B, N, D), draw(B, M, D_SOURCE)),
    ),
    "LocationScore": Case(LocationScore, lambda: LocationScore(d_q=D, n=M), (draw(B, N, D),)),
    **{
        kind.__name__: Case(kind, partial(kind, 9, 8), (draw(B, N, 8),))
        for kind in (
            NoPositions,
            LearnedPositions,
            SinusoidalPositions,
            IndexPositions,
            NormalisedIndexPositions,
        )
    },
    "Stack": Case(Stack, stack(Stack, **FULL), (tokens(B, N),)),
    "Encoder": Case(Encoder, seq2seq(Encoder), (tokens(B, N), REAL)),
    "FixedDecoder": Case(FixedDecoder, seq2seq(FixedDecoder, attention="none"), DECODED),
    "AdditiveDecoder": Case(AdditiveDecoder, seq2seq(AdditiveDecoder), DECODED),
    "DotDecoder": Case(DotDecoder, seq2seq(DotDecoder, attention="dot"), DECODED),
    "Seq2Seq": Case(Seq2Seq, seq2seq(Seq2Seq), (tokens(B, N), REAL, tokens(B, M, seed=1))),
}


def made(name, seed=0):
    torch.manual_seed(seed)
    return CASES[name].make(), CASES[name].inputs


def leaves(outputs):
    """The tensors of real numbers in what a module returned."""
    return [x for x in tree_flatten(outputs)[0] if isinstance(x, torch.Tensor) and x.is_floating_point()]


def loss(outputs):
    return sum((x * draw(*x.shape, seed=i)).sum() for i, x in enumerate(leaves(outputs)))


def same(ours, theirs, kind="float32"):
    assert len(leaves(ours)) == len(leaves(theirs)) > 0
    for one, other in zip(leaves(ours), leaves(theirs), strict=True):
        assert_close(one, other, kind)


def slopes(module):
    """The slopes of the last loss, by name; those of parameters that it does not depend on are None."""
    found = {name: parameter.grad for name, parameter in module.named_parameters()}
    module.zero_grad()
    return found


def same_slopes(ours, theirs):
    assert ours.keys() == theirs.keys()
    for name, slope in theirs.items():
        assert (ours[name] is None) == (slope is None), name
        if slope is not None:
            assert_close(ours[name], slope, "float32")


def forward_and_backward(call, module, inputs):
    outputs = call(*inputs)
    if any(True for _ in module.parameters()):
        loss(outputs).backward()
    return outputs, slopes(module)


# --- the ways -----------------------------------------------------------------------------------------------------


def compile_(name):
    module, inputs = made(name)
    torch._dynamo.reset()
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
    outputs, found = forward_and_backward(compiled, module, inputs)
    right, expected = forward_and_backward(module, module, inputs)
    same(outputs, right)
    same_slopes(found, expected)


def vmap_(name):
    module, inputs = made(name)
    both = tree_map(lambda x: torch.stack([x, x.flip(0)]), inputs)
    shared = [
        i for i, x in enumerate(inputs) if isinstance(x, torch.Tensor) and x.shape[0] != B
    ]  # no batch axis
    both = tuple(inputs[i] if i in shared else x for i, x in enumerate(both))
    axes = tuple(None if i in shared else 0 for i in range(len(inputs)))
    outputs = vmap(lambda *x: tuple(leaves(module(*x))), in_dims=axes)(*both)
    right = leaves(module(*inputs))
    for found, one in zip(outputs, right, strict=True):
        assert_close(found[0], one, "float32")
        assert_close(found[1], one.flip(0), "float32")


def grad_(name):
    module, inputs = made(name)
    parameters = dict(module.named_parameters())
    found = grad(lambda given: loss(functional_call(module, given, inputs)))(parameters)
    _, expected = forward_and_backward(module, module, inputs)
    same_slopes(found, {key: 0 * parameters[key] if g is None else g for key, g in expected.items()})


def functional_call_(name):
    module, inputs = made(name)
    other, _ = made(name, seed=1)
    same(functional_call(module, dict(other.named_parameters()), inputs), other(*inputs))
    assert not parameters_of(module) or not torch.equal(leaves(module(*inputs))[0], leaves(other(*inputs))[0])


def meta(name):
    module, inputs = made(name)
    with torch.device("meta"):
        shapes, _ = made(name)
    assert all(parameter.is_meta for parameter in shapes.parameters())
    outputs = shapes(*tree_map(lambda x: x.to("meta"), inputs))
    right = leaves(module(*inputs))
    assert [(x.shape, x.dtype) for x in leaves(outputs)] == [(x.shape, x.dtype) for x in right]
    assert all(x.is_meta for x in leaves(outputs))


def export(name):
    module, inputs = made(name)
    program = torch.export.export(module, inputs)
    changed = tree_map(lambda x: x.flip(0) if isinstance(x, torch.Tensor) and x.shape[0] == B else x, inputs)
    same(program.module()(*changed), module(*changed))


def autocast(name):
    module, inputs = made(name)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        outputs = leaves(module(*inputs))
    error = 0.0
    for low, full in zip(outputs, leaves(module(*inputs)), strict=True):
        error = max(error, float(((low.float() - full).abs().max() / full.abs().max()).detach()))
    assert error < tolerance("bfloat16")[0]
    assert error > 0 or name.split(",")[0] in WITHOUT_PRODUCTS, "it was computed in float32"


def deepcopy(name):
    module, inputs = made(name)
    twin, before = copy.deepcopy(module), leaves(module(*inputs))
    same(twin(*inputs), before)
    with torch.no_grad():
        for parameter in twin.parameters():
            parameter.add_(1.0)
    same(module(*inputs), before)


def state_dict(name):
    (module, inputs), (other, _) = made(name), made(name, seed=1)
    assert other.load_state_dict(module.state_dict(), strict=True)
    assert all(
        torch.equal(a, b) for a, b in zip(leaves(module(*inputs)), leaves(other(*inputs)), strict=True)
    )


def checkpoint_(name):
    module, inputs = made(name)

    def call(*inputs):
        return checkpoint.checkpoint(module, *inputs, use_reentrant=False)

    outputs, found = forward_and_backward(call, module, inputs)
    right, expected = forward_and_backward(module, module, inputs)
    same(outputs, right)
    same_slopes(found, expected)


def parameters_of(module):
    return list(module.parameters())


TRACED = (compile_, export)  # annotations that are checked at each call cannot be traced
WAYS = (compile_, vmap_, grad_, functional_call_, meta, export, autocast, deepcopy, state_dict, checkpoint_)

GRU = "PyTorch's recurrent network has no rule for it"
LENGTHS = "packing a padded batch reads its lengths on the processor"
EXCEPTIONS = {
    **{(name, way): GRU for name in ("FixedDecoder", "DotDecoder") for way in ("compile", "vmap")},
    **{
        (name, way): f"{GRU}, and {LENGTHS}"
        for name in ("Encoder", "Seq2Seq")
        for way in ("compile", "vmap", "grad", "meta", "export")
    },
}
WITHOUT_PRODUCTS = (  # autocast leaves these in float32: a table, rotations, and a recurrent network
    "TokenEmbedding",
    "ShortConvolution",
    "Rotary",
    "PartlyRotary",
    "NoPositions",
    "LearnedPositions",
    "SinusoidalPositions",
    "IndexPositions",
    "NormalisedIndexPositions",
    "OffsetBias",
    "Alibi",
    "StochasticDepth",
    "DiagonalStateSpace",
    "Encoder",
)


def modules_of(package):
    """The modules that a package's own files define."""
    for file in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        for kind in vars(importlib.import_module(file.name)).values():
            if inspect.isclass(kind) and issubclass(kind, nn.Module) and kind.__module__ == file.name:
                yield kind


def test_every_module_is_in_the_table():
    found = {kind for package in (attnlib.nn, attnlib.models) for kind in modules_of(package)}
    missing = sorted(kind.__name__ for kind in found - {case.kind for case in CASES.values()})
    assert not missing, f"give these a row in CASES: {missing}"
    assert len(found) >= 14


@pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning")  # vmap takes a slower way there
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    "way", [pytest.param(way, marks=pytest.mark.traced) if way in TRACED else way for way in WAYS]
)
def test_it_works_under(way, name):
    reason = EXCEPTIONS.get((name, way.__name__.rstrip("_")))
    if reason is None:
        way(name)
        return
    with pytest.raises(Exception) as caught:  # noqa: B017
        way(name)
    assert not isinstance(caught.value, AssertionError), f"wrong, not impossible: {caught.value}"


@pytest.mark.traced
@pytest.mark.training  # like a training it takes half a minute, so `make check` leaves it out
def test_a_layer_under_the_whole_compiler():
    """`inductor`, once, for the layer with everything."""
    module, inputs = made("MultiHeadAttention, causal, shared, normed, turned")
    torch._dynamo.reset()
    outputs, found = forward_and_backward(torch.compile(module, fullgraph=True), module, inputs)
    right, expected = forward_and_backward(module, module, inputs)
    same(outputs, right)
    same_slopes(found, expected)


@pytest.mark.traced
@torch.no_grad()
def test_a_compiled_step_reads_and_fills_a_cache():
    torch.manual_seed(0)
    module, X = MultiHeadAttention(d_model=D, n_heads=H, **CAUSAL), draw(B, 9, D)
    torch._dynamo.reset()
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
    cache = KVCache(capacity=9)
    steps = [compiled(part, rotate=rotated, kv_cache=cache) for part in X.split([3, 1, 1, 2, 1, 1], dim=1)]
    same(torch.cat(steps, dim=1), module(X, rotate=rotated))


@pytest.mark.traced
def test_an_exported_stack_takes_any_batch_and_length():
    module, (inputs,) = made("Stack")
    sizes = {0: torch.export.Dim("batch", min=2), 1: torch.export.Dim("length", min=2, max=64)}
    program = torch.export.export(module, (inputs,), dynamic_shapes=(sizes,)).module()
    for shape in ((B, N), (3, 23), (7, 64)):
        same(program(tokens(*shape)), module(tokens(*shape)))
