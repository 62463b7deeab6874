"""Bad input gets one clear sentence, who, the rule, what came, what to do, before anything is computed with it."""

import importlib
import inspect
import pkgutil
import re

import numpy as np
import pytest
import torch

import attnlib.nn
from attnlib.interpret import patterns
from attnlib.nn import attention as nn_attention
from attnlib.nn import flash as nn_flash
from attnlib.nn import gates as nn_gates
from attnlib.nn import grouped as nn_grouped
from attnlib.nn import heads as nn_heads
from attnlib.nn import masks as nn_masks
from attnlib.nn import ops as nn_ops
from attnlib.nn.cache import KVCache
from attnlib.nn.layers import CrossAttention, SelfAttention
from attnlib.nn.multihead import MultiHeadAttention
from attnlib.reference import attention, flash, gates, grouped, heads, layers, masks, multihead, ops
from attnlib.reference.attention import AttentionParameters
from attnlib.reference.multihead import MultiHeadParameters
from attnlib.train.fit import fit

pytestmark = pytest.mark.bad_input

X, Z, EYE = np.ones((2, 3, 4)), np.ones((2, 2, 3, 2)), np.eye(4)
MASK, P = np.ones((3, 3), dtype=bool), np.full((2, 3, 3), 1 / 3)
PARAMETERS, LAYER = MultiHeadParameters(EYE, EYE, EYE, EYE), AttentionParameters(EYE, EYE, EYE)

# What both twins take: the function in either, and arguments that are right.
TWINS = [
    (attention.scaled_dot_product_attention, nn_attention.scaled_dot_product_attention, (X, X, X, MASK)),
    (attention.attend, nn_attention.attend, (P, X, MASK)),
    (flash.flash_attention, nn_flash.flash_attention, (X, X, X)),
    (heads.split_heads, nn_heads.split_heads, (X, 2)),
    (heads.merge_heads, nn_heads.merge_heads, (Z,)),
    (heads.mask_for_heads, nn_heads.mask_for_heads, (MASK, 3)),
    (grouped.repeat_heads, nn_grouped.repeat_heads, (Z, 2)),
    (gates.gate_heads, nn_gates.gate_heads, (Z, np.ones(2))),
    (ops.linear, nn_ops.linear, (X, EYE, np.ones(4))),
    (ops.softmax, nn_ops.softmax, (X,)),
    (ops.masked_softmax, nn_ops.masked_softmax, (P, MASK)),
    (ops.entropy, nn_ops.entropy, (P,)),
    (masks.padding_mask, nn_masks.padding_mask, (np.array([1, 2]), 3)),
    (masks.combine_masks, nn_masks.combine_masks, (MASK, MASK)),
    (masks.rows_without_a_key, nn_masks.rows_without_a_key, (MASK,)),
    (masks.additive_from_mask, nn_masks.additive_from_mask, (MASK, -1e9)),
    (masks.mask_from_additive, nn_masks.mask_from_additive, (0 * X,)),
    (masks.mask_from_torch_padding, nn_masks.mask_from_torch_padding, (MASK,)),
    (masks.mask_from_torch_attention, nn_masks.mask_from_torch_attention, (MASK,)),
]
ONE_KIND = [
    (layers.self_attention, (X, LAYER, MASK)),
    (layers.cross_attention, (X, X, LAYER, MASK)),
    (multihead.multi_head_attention, (X, X, PARAMETERS, 2, MASK)),
    (multihead.multi_head_attention_by_loops, (X, X, PARAMETERS, 2, MASK)),
    (multihead.multi_head_as_sum, (X, X, PARAMETERS, 2, MASK)),
    (multihead.grouped_query_attention, (X, X, PARAMETERS, 2, 2, MASK)),
    (gates.gated_multi_head_attention, (X, X, PARAMETERS, np.ones(2), MASK)),
    (attention.attention_by_loops, (X[0], X[0], X[0])),
    (ops.softmax_backward, (P, P)),
    (ops.softmax_jacobian, (P[0, 0],)),
    (patterns.measure_pattern, (P, MASK)),
    (patterns.content_share, (P,)),
    (patterns.evenness, (P, MASK)),
    (patterns.mass_on, (P, P)),
]


def tensors(arguments):
    return tuple(torch.tensor(a) if isinstance(a, np.ndarray) else a for a in arguments)


CALLS = [
    *((f, arguments, "torch tensor") for f, _, arguments in TWINS),
    *((f, tensors(arguments), "NumPy array") for _, f, arguments in TWINS),
    *((f, arguments, "torch tensor") for f, arguments in ONE_KIND),
]


def names(calls):
    return [f"{call[0].__module__.removeprefix('attnlib.')}.{call[0].__name__}" for call in calls]


def is_a_sentence(error):
    """Who, the rule, what came: and raised by a rule, not by a library below."""
    return re.match(r"\w[\w.]*: .+ (must|needs?|may) .*got ", str(error))


def is_an_array(argument):
    return isinstance(argument, np.ndarray | torch.Tensor)


@pytest.mark.parametrize(("function", "arguments", "other"), CALLS, ids=names(CALLS))
def test_every_array_that_is_none_is_refused_by_its_name(function, arguments, other):
    function(*arguments)
    for i, argument in enumerate(arguments):
        wrong = "three", 3.5, np.ones((2, 3, 4)).tolist(), [True], np.ones((2, 3, 4), dtype=complex)
        wrong = (*wrong, torch.from_numpy(argument)) if isinstance(argument, np.ndarray) else wrong
        wrong = (*wrong, argument.numpy()) if isinstance(argument, torch.Tensor) else wrong
        for value in wrong if is_an_array(argument) else ():
            with pytest.raises(TypeError) as caught:
                function(*arguments[:i], value, *arguments[i + 1 :])
            assert is_a_sentence(caught.value), f"argument {i}, {type(value).__name__}: {caught.value}"


@pytest.mark.parametrize(("function", "arguments", "other"), CALLS, ids=names(CALLS))
def test_an_array_of_another_rank_is_refused_or_understood(function, arguments, other):
    for i, argument in enumerate(arguments):
        if is_an_array(argument):
            for value in (
                argument.reshape(-1)[0].reshape(()),
                argument.reshape(-1),
                argument[None, None, None],
            ):
                try:
                    function(*arguments[:i], value, *arguments[i + 1 :])
                except (TypeError, ValueError) as error:
                    assert is_a_sentence(error), f"argument {i}, shape {tuple(value.shape)}: {error}"


@pytest.mark.parametrize(("function", "arguments"), ONE_KIND[:7], ids=names(ONE_KIND[:7]))
def test_parameters_come_by_their_names_and_none_is_missing(function, arguments):
    i = next(i for i, argument in enumerate(arguments) if hasattr(argument, "_asdict"))
    for wrong in (tuple(arguments[i]), arguments[i][0], None) if arguments[i] is PARAMETERS else ():
        with pytest.raises(TypeError, match="parameters must be .*Parameters with W_Q, W_K, W_V.*; got "):
            function(*arguments[:i], wrong, *arguments[i + 1 :])
    with pytest.raises(TypeError, match="W_K must be an array; got NoneType"):
        function(*arguments[:i], arguments[i]._replace(W_K=None), *arguments[i + 1 :])


def test_the_other_library_is_named_with_the_way_over():
    with pytest.raises(
        TypeError,
        match=r"softmax: S must be a NumPy array; got Tensor. `.detach\(\).cpu\(\).numpy\(\)` makes one; attnlib.nn",
    ):
        ops.softmax(torch.ones(3))
    with pytest.raises(
        TypeError,
        match="softmax: S must be a torch tensor; got ndarray. `torch.from_numpy` makes one; attnlib.ref",
    ):
        nn_ops.softmax(np.ones(3))
    with pytest.raises(TypeError, match="mask must be a torch tensor; got ndarray"):
        MultiHeadAttention(d_model=4, n_heads=2)(torch.ones(2, 3, 4), mask=MASK)


@pytest.mark.parametrize(
    ("make", "widths"),
    [
        (MultiHeadAttention, {"d_model": 4, "n_heads": 2, "n_kv_heads": 1, "d_source": 4}),
        (SelfAttention, {"d_model": 4, "d_k": 2, "d_v": 3}),
        (CrossAttention, {"d_model": 4, "d_source": 5, "d_k": 2, "d_v": 3}),
    ],
)
def test_widths_are_whole_numbers_from_one(make, widths):
    for name in widths:
        for wrong in (0, -1, 2.0, "2", True):
            with pytest.raises((TypeError, ValueError)) as caught:
                make(**widths | {name: wrong})
            assert is_a_sentence(caught.value), f"{name}={wrong!r}: {caught.value}"
    make(**{name: np.int64(width) for name, width in widths.items()})


def test_whole_numbers_of_numpy_are_whole_numbers():
    assert np.array_equal(masks.causal_mask(np.int64(3), np.int32(2)), masks.causal_mask(3, 2))
    assert np.array_equal(heads.split_heads(X, np.int64(2)), heads.split_heads(X, 2))
    assert np.array_equal(
        ops.softmax_with_temperature(P, np.float32(2)), ops.softmax_with_temperature(P, 2.0)
    )


def test_a_step_says_which_memory_does_not_fit():
    module, X = MultiHeadAttention(d_model=4, n_heads=2), torch.ones(2, 3, 4)
    cache = KVCache()
    module(X, kv_cache=cache)
    with pytest.raises(
        ValueError,
        match=r"new keys must have the batch axes, heads and width of those in the cache; "
        r"got K \(1, 2, 3, 2\) after \(2, 2, 3, 2\). Another batch",
    ):
        module(X[:1], kv_cache=cache)
    assert len(cache) == 3
    with pytest.raises(
        TypeError, match="kv_cache must be a KVCache or RingCache or SourceCache; got dict. Make one with"
    ):
        module(X, kv_cache={})  # pyright: ignore


def test_inputs_have_the_dtype_of_the_parameters_unless_torch_converts_both():
    module, X = MultiHeadAttention(d_model=4, n_heads=2), torch.ones(2, 3, 4)
    for layer in (module, SelfAttention(d_model=4, d_k=2, d_v=3)):
        with pytest.raises(
            TypeError, match="must have the same dtype; got X float64, the layer float32. Conv"
        ):
            layer(X.double())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert module(X.bfloat16()).dtype == torch.bfloat16


def test_a_bias_fits_its_matrix_in_both_twins():
    for linear, kind in ((ops.linear, np.ones), (nn_ops.linear, torch.ones)):
        with pytest.raises(
            ValueError,
            match=r"linear: W and b must have the same width d_out; got W \(4, 3\) with d_out=3 and b",
        ):
            linear(kind((5, 4)), kind((4, 3)), kind((2,)))


def test_measures_of_one_head_say_how_to_choose_it():
    with pytest.raises(
        ValueError, match=r"one head's weights, \(inputs, m, n\); got \(2, 2, 3, 3\). Take one head"
    ):
        patterns.measure_pattern(np.full((2, 2, 3, 3), 1 / 3))
    with pytest.raises(ValueError, match="content_share: some query must attend to a key; got zeros only"):
        patterns.content_share(0 * P)
    with pytest.raises(
        ValueError, match=r"truth must broadcast to \(\*b, m, n\) = \(2, 3, 3\); got \(2, 2, 3, 3\)"
    ):
        patterns.mass_on(P, np.ones((2, 2, 3, 3)))
    assert np.isnan(patterns.measure_pattern(np.ones((2, 1, 1))).evenness)  # one key: nothing to choose from


def test_training_takes_a_step_at_least():
    with pytest.raises(ValueError, match="fit: steps must be at least 1; got steps=0"):
        fit(torch.nn.Linear(1, 1), lambda model, batch: model(batch).sum(), [], steps=0)


def named_alone() -> list[type]:
    """The layers whose arguments are all named."""
    found = {}
    for module in pkgutil.iter_modules(attnlib.nn.__path__):
        for one in vars(importlib.import_module(f"attnlib.nn.{module.name}")).values():
            if isinstance(one, type) and issubclass(one, torch.nn.Module) and "__init__" in vars(one):
                kinds = {p.kind for p in list(inspect.signature(one.__init__).parameters.values())[1:]}
                if one.__module__.startswith("attnlib") and kinds == {inspect.Parameter.KEYWORD_ONLY}:
                    found[one.__qualname__] = one
    return list(found.values())


@pytest.mark.parametrize("layer", named_alone(), ids=lambda layer: layer.__name__)
def test_arguments_without_names_are_refused_with_the_call_to_write(layer: type) -> None:
    with pytest.raises(
        TypeError, match=rf"^{layer.__name__}: arguments must be named; .* `{layer.__name__}\("
    ):
        layer(8, 16)
