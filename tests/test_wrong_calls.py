"""A sweep of wrong calls over every public function of both twins: each ends in one sentence, never in a raw traceback.

Right arguments are made from the annotations; then one of them at a time is replaced by something wrong.
"""

import importlib
import inspect
import math
import pkgutil
import re
from types import NoneType
from typing import Annotated, get_args, get_origin, get_type_hints

import numpy as np
import pytest
import torch

import attnlib.nn
import attnlib.reference
from attnlib import shapes
from attnlib.checking import factors_of
from attnlib.nn.kernel import exponential_kernel as nn_kernel
from attnlib.nn.ops import unit as nn_unit
from attnlib.nn.recurrent import rnn_cell as nn_cell
from attnlib.reference import block, decoder_block, flash, gpt, patterns, recurrent, sharded_optim, tiles
from attnlib.reference.kernel import exponential_kernel
from attnlib.reference.transformer import NormParameters

pytestmark = pytest.mark.bad_input
SENTENCE = re.compile(r"[\w.]+: .+; got .+")
SIZES = {  # two heads; what is not here has the size 2
    "*b": (6,),  # other than the number of heads: a mask would fit in two ways
    "m": 3,
    "n": 5,
    "T": 3,
    "d_v": 3,
    "d": 4,
    "d_in": 3,
    "d_model": 7,
    "d_out": 5,
    "d_a": 3,
}
NUMBERS = {"axis": -1, "axes": 3, "before": 1, "after": 1, "prefix": 2, "T": 0.5, "ahead": 1, "buckets": 4}
NUMBERS["n_keys"] = 5


def public_functions():
    for package in (attnlib.reference, attnlib.nn):
        for module in pkgutil.iter_modules(package.__path__):
            if module.name != "debug" and module.name[0] != "_":  # what looks at values when it is asked to
                module = importlib.import_module(f"{package.__name__}.{module.name}")
                for name, function in vars(module).items():
                    if (
                        inspect.isfunction(function)
                        and function.__module__ == module.__name__
                        and name[0] != "_"
                    ):
                        yield function


FUNCTIONS = list(public_functions())
NAMES = [f"{f.__module__.removeprefix('attnlib.')}.{f.__name__}" for f in FUNCTIONS]


def options(said):
    return get_args(said) if get_origin(said) not in (Annotated, None) else (said,)


class Maker:
    """Arguments for one function, with the arrays of its library."""

    def __init__(self, function):
        self.function, self.nn = function, "attnlib.nn" in function.__module__
        self.sizes, self.same = SIZES, getattr(function, "same", {})
        self.rng = np.random.default_rng(0)

    def size(self, word):
        """The sizes that a word of an annotation stands for: a batch has several, `3d` and `h*d_k` are products."""
        if word[0] in "*.":
            return list(self.sizes.get(word, (2,)))
        factors = [self.same.get(factor, factor) for factor in factors_of(self.same.get(word, word))]
        return [math.prod(int(one) if one.isdigit() else self.sizes.get(one, 2) for one in factors)]

    def array(self, kind, text, name):
        shape = []
        for word in re.sub("[#{}]", "", text).split():
            shape += self.size(word)
        if kind == "float":  # rows of probabilities suit every rule but that of additive masks
            value = self.rng.uniform(0.1, 1, shape) * (name != "M")
            value = value / np.maximum(value.sum(-1, keepdims=True), 1e-9) if shape else value
        elif kind == "complex":
            value = self.rng.uniform(0.1, 1, shape) + 1j * self.rng.uniform(0.1, 1, shape)
        else:
            value = np.ones(shape, dtype={"int": int, "bool": bool}[kind])
        return torch.tensor(value) if self.nn else np.asarray(value)

    def of(self, said, name):
        """A right value for an annotation."""
        said = options(said)[0]
        if get_origin(said) is Annotated:
            kind, text = get_args(said)[1]
            if kind != "number":
                return self.array(kind, text, name)
            return NUMBERS.get(name, self.sizes.get(name, 2 if get_args(said)[0] is int else 0.5))
        if hasattr(said, "_fields"):
            fields = get_type_hints(said, include_extras=True)
            return said(**{field: self.of(fields[field], field) for field in said._fields})
        if said is bool:
            return False
        if said.__name__ == "Generator":
            return torch.Generator().manual_seed(0) if self.nn else np.random.default_rng(0)
        return 2

    def arguments(self):
        hints = get_type_hints(self.function, include_extras=True)
        given = {}
        for name, one in inspect.signature(self.function).parameters.items():
            special = SPECIAL.get((self.function.__name__, name))
            if special:
                given[name] = special(self)
            elif one.kind is one.VAR_POSITIONAL:
                given["*"] = [self.of(hints[name], name)] * 2
            elif one.default is one.empty or get_origin(options(hints[name])[0]) is Annotated:
                given[name] = self.of(hints[name], name)
        return given


def rnn(maker):
    return maker.of(recurrent.RNNParameters, "")


def of_a_block(maker):
    maker.same = block.pre_norm_block.same
    return maker.of(block.BlockParameters, "")


def cache_of_a_block(maker, order):
    return order(maker.array("float", "*b n d_model", ""), of_a_block(maker), 2)[1]


def cache_of_tiles(maker):
    Q, K, V = (maker.array("float", text, "") for text in ("*b m d_k", "*b n d_k", "*b n d_v"))
    return flash.flash_attention(Q, K, V, tiles=tiles.block_mask(patterns.causal(), 3, 2, n_keys=5))[1]


SPECIAL = {
    ("kernel_regression", "kernel"): lambda maker: nn_kernel if maker.nn else exponential_kernel,
    ("unroll", "cell"): lambda maker: nn_cell if maker.nn else recurrent.rnn_cell,
    ("unroll", "state"): lambda maker: maker.array("float", "*b d", ""),
    ("unroll", "parameters"): rnn,
    ("unroll_backward", "cell_backward"): lambda maker: recurrent.rnn_cell_backward,
    ("unroll_backward", "d_states"): lambda maker: [maker.array("float", "*b d", "")],
    ("unroll_backward", "caches"): lambda maker: [maker.of(recurrent.RNNCache, "")],
    ("parameters_of", "cell"): lambda maker: torch.nn.RNNCell(3, 4),
    ("with_direct_calls", "module"): lambda maker: torch.nn.Linear(3, 4),
    ("gated_heads", "module"): lambda maker: importlib.import_module(
        "attnlib.nn.multihead"
    ).MultiHeadAttention(d_model=4, n_heads=2),
    ("gated_heads", "gates"): lambda maker: torch.ones(2),
    ("both", "a"): lambda maker: patterns.causal(),
    ("both", "b"): lambda maker: patterns.window(2),
    ("either", "a"): lambda maker: patterns.causal(),
    ("either", "b"): lambda maker: patterns.window(2),
    ("global_tokens", "indices"): lambda maker: (0, 2),
    **{
        (name, "pattern"): lambda maker: patterns.window(2)
        for name in ("dense_mask", "block_mask", "edges", "flex_mask", "pattern_attention")
    },
    ("flash_attention_backward", "cache"): lambda maker: cache_of_tiles(maker),
    ("sharded_adam", "states"): lambda maker: sharded_optim.sharded_adam_state(
        maker.array("float", "p n", "")
    ),
}

for order in (block.pre_norm_block, block.post_norm_block):
    SPECIAL[f"{order.__name__}_backward", "cache"] = lambda maker, order=order: cache_of_a_block(maker, order)
SPECIAL["block_stack", "block"] = lambda maker: block.pre_norm_block
SPECIAL["block_stack", "layers"] = lambda maker: [of_a_block(maker)]
SPECIAL["block_stack_backward", "block_backward"] = lambda maker: block.pre_norm_block_backward
SPECIAL["block_stack_backward", "caches"] = lambda maker: [cache_of_a_block(maker, block.pre_norm_block)]


def of_a_decoder_block(maker):
    maker.same = block.pre_norm_block.same
    return maker.of(decoder_block.DecoderBlockParameters, "")


def cache_of_a_decoder_block(maker, order):
    X, memory = (maker.array("float", f"*b {n} d_model", "") for n in "mn")
    return order(X, memory, of_a_decoder_block(maker), 2)[1]


for order in (decoder_block.pre_norm_decoder_block, decoder_block.post_norm_decoder_block):
    SPECIAL[f"{order.__name__}_backward", "cache"] = lambda maker, order=order: cache_of_a_decoder_block(
        maker, order
    )
SPECIAL["decoder_stack", "block"] = lambda maker: decoder_block.pre_norm_decoder_block
SPECIAL["decoder_stack", "layers"] = lambda maker: [of_a_decoder_block(maker)]
SPECIAL["decoder_stack_backward", "block_backward"] = lambda maker: (
    decoder_block.pre_norm_decoder_block_backward
)
SPECIAL["decoder_stack_backward", "caches"] = lambda maker: [
    cache_of_a_decoder_block(maker, decoder_block.pre_norm_decoder_block)
]


def of_a_gpt(maker):
    block_ = of_a_block(maker)
    E, norm = maker.array("float", "vocab d_model", ""), NormParameters(np.ones(7), np.zeros(7))
    return gpt.GPTParameters(E, np.ones((5, 7)), (block_, block_), norm)


def cache_of_a_gpt(maker):
    return gpt.language_model(np.ones((6, 5), dtype=int), of_a_gpt(maker), 2)[1]


for name in ("all_arrays", "with_arrays", "language_model", "next_token_loss", "new_train_state"):
    SPECIAL[name, "parameters"] = of_a_gpt
SPECIAL["with_arrays", "arrays"] = lambda maker: gpt.all_arrays(of_a_gpt(maker))
SPECIAL["language_model_backward", "cache"] = cache_of_a_gpt
SPECIAL["train_step", "train_state"] = lambda maker: gpt.new_train_state(of_a_gpt(maker))

for around in ("pre_norm", "post_norm", "without_residual"):
    SPECIAL[around, "norm"] = lambda maker: nn_unit if maker.nn else maker.of(NormParameters, "")
    SPECIAL[around, "sublayer"] = lambda maker: lambda Z: Z if maker.nn else (Z, None)
    SPECIAL[f"{around}_backward", "sublayer_backward"] = lambda maker: lambda dY, cache: (dY, None)


def call(function, given):
    named = {name: value for name, value in given.items() if name != "*"}
    return function(*given["*"], **named) if "*" in given else function(**named)


def is_an_array(value):
    return isinstance(value, np.ndarray | torch.Tensor)


NOT_EVEN_ARRAYS = ("three", {}, [[1.0]], object(), ["x"], None, math.nan, 3.5, -1)


def changed(array):
    """The same array with another dtype, from the other library, of other ranks and sizes."""
    values = np.asarray(array)
    other = torch.tensor(values) if isinstance(array, np.ndarray) else values
    like = torch.tensor if isinstance(array, torch.Tensor) else np.asarray
    ranks = values.reshape(-1), values.reshape(-1)[0], values[None], values[None, None], values[..., None]
    sizes = [np.concatenate([values, values.take([0], axis)], axis) for axis in range(values.ndim)]
    empty = [values.take([], axis) for axis in range(values.ndim)]
    real = values.real
    dtypes = values.astype(complex), real.astype("int64"), real.astype(bool), real.astype("float32")
    return [other, *map(like, map(np.asarray, (*ranks, *sizes, *empty, *dtypes)))]


def wrong_values(value):
    """Things to try in the place of a right value."""
    if is_an_array(value):
        return [*NOT_EVEN_ARRAYS, *changed(value)]
    if hasattr(value, "_asdict"):
        fields = [
            value._replace(**{name: one})
            for name, old in value._asdict().items()
            for one in wrong_values(old)
        ]
        return ["three", None, 1, tuple(value), list(value), {}, value[0], *fields]
    if isinstance(value, list):
        return [None, 1, "three", [], [*value, None], [None]]
    return [0, -1, 99, 2.5, -0.5, math.nan, math.inf, "2", True, None, [1], np.ones(2), torch.ones(2), {}]


@pytest.fixture(autouse=True)
def as_a_reader_calls(monkeypatch):
    monkeypatch.setattr(shapes, "INTERCEPT", None)


@pytest.mark.parametrize("function", FUNCTIONS, ids=NAMES)
def test_every_public_function_has_a_door_and_takes_what_its_annotations_say(function):
    assert hasattr(function, "__wrapped__"), "decorate it with attnlib.shapes.checked"
    call(function, Maker(function).arguments())


@pytest.mark.parametrize("function", FUNCTIONS, ids=NAMES)
def test_every_wrong_argument_ends_in_one_sentence(function):
    for name, right in Maker(function).arguments().items():
        for wrong in (
            wrong_values(right) if name != "*" else [[one, right[1]] for one in wrong_values(right[0])]
        ):
            try:
                call(function, Maker(function).arguments() | {name: wrong})
            except (TypeError, ValueError) as error:
                came = f"{tuple(wrong.shape)} {wrong.dtype}" if is_an_array(wrong) else repr(wrong)[:60]
                assert SENTENCE.match(str(error)), f"{name}={came}: {error}"
            else:
                assert not isinstance(wrong, str | dict), f"{name}={wrong!r} passed"


def test_none_is_no_mask_and_nothing_else():
    optional = {
        name
        for function in FUNCTIONS
        for name, said in get_type_hints(function, include_extras=True).items()
        if name != "return" and NoneType in options(said)
    }
    no_mask = {"mask", "positions", "source_mask", "b", "m", "centers", "device", "bias", "n_keys", "tiles"}
    keep_all = {"decay", "state", "d_last", "before"}  # keep everything, begin with zeros, no gradient, zeros
    same = {"X_Q"}  # queries are made from X, too
    assert optional <= no_mask | keep_all | same
