"""Multi-head attention: loop, matrices, sum and twin agree; the slopes do too; and what several heads never change."""

import numpy as np
import pytest
import torch

from attnlib.nn.cache import KVCache
from attnlib.nn.heads import split_heads as nn_split_heads
from attnlib.nn.multihead import MultiHeadAttention
from attnlib.reference import multihead
from attnlib.reference.attention import AttentionParameters, attention_layer
from attnlib.reference.masks import causal_mask, combine_masks, padding_mask
from attnlib.reference.multihead import (
    MultiHeadParameters,
    multi_head_attention,
    multi_head_attention_backward,
)
from attnlib.testing import assert_close, check_gradients, check_twin, copy_parameters

B, N, M, H, D_K, D_V, D_Q, D_SOURCE, D_OUT = 2, 3, 5, 3, 7, 11, 13, 17, 19
D = H * D_K


def random_parameters(rng, d_q=D_Q, d_source=D_SOURCE, k=H * D_K, v=H * D_V, d_out=D_OUT, bias=True):
    shapes = [(d_q, k), (d_source, k), (d_source, v), (v, d_out)]
    matrices = [rng.normal(size=shape) / np.sqrt(shape[0]) for shape in shapes]
    return MultiHeadParameters(*matrices, *(rng.normal(size=W.shape[1]) if bias else None for W in matrices))


@pytest.fixture
def inputs(rng):
    return rng.normal(size=(B, M, D_Q)), rng.normal(size=(B, N, D_SOURCE))


@pytest.fixture
def masks(rng):
    shared = rng.random((B, M, N)) < 0.6
    shared[0, 2] = False
    return {
        "none": None,
        "shared": shared,
        "of queries and keys": shared[1],
        "of keys": padding_mask(np.array([2, 3]), N),
        "of each head": rng.random((B, H, M, N)) < 0.6,
    }


KINDS = ["none", "shared", "of queries and keys", "of keys", "of each head"]


def twin_of(parameters, **options):
    module = MultiHeadAttention(**options, bias=parameters.b_Q is not None).double()
    copy_parameters(parameters, module)
    return module


def square_parameters(rng, d_source=D, bias=True):
    return random_parameters(rng, d_q=D, d_source=d_source, v=D, d_out=D, bias=bias)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bias", [True, False])
def test_loop_matrices_and_sum_agree(inputs, masks, kind, bias, rng):
    parameters = random_parameters(rng, bias=bias)
    by_loops = multihead.multi_head_attention_by_loops(*inputs, parameters, H, masks[kind])
    Y, cache = multi_head_attention(*inputs, parameters, H, masks[kind])
    by_sum, sum_cache = multihead.multi_head_as_sum(*inputs, parameters, H, masks[kind])
    assert Y.shape == (B, M, D_OUT)
    assert_close(by_loops, Y, "float64")
    assert_close(by_sum, Y, "float64")
    assert_close(sum_cache.C.sum(axis=1) + (parameters.b_O if bias else 0), Y, "float64")
    assert cache.P.shape == (B, H, M, N) and np.array_equal(cache.P, sum_cache.heads.P)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["multi_head_attention", "multi_head_as_sum"])
def test_the_backward_is_the_slope(inputs, masks, kind, name, rng):
    small = random_parameters(rng, d_q=2, d_source=4, k=H * 2, v=H, d_out=1)
    inputs = [inputs[0][..., :2], inputs[1][..., :4]]

    def forward(X, source, *parameters):
        return getattr(multihead, name)(X, source, MultiHeadParameters(*parameters), H, masks[kind])

    def backward(dY, cache):
        dX, dsource, d_parameters = getattr(multihead, f"{name}_backward")(dY, cache)
        return dX, dsource, *d_parameters

    check_gradients(forward, backward, [*inputs, *small], rng)


def test_without_biases_there_are_no_gradients_of_biases(inputs, rng):
    for name in ("multi_head_attention", "multi_head_as_sum"):
        Y, cache = getattr(multihead, name)(*inputs, random_parameters(rng, bias=False), H)
        *_, d_parameters = getattr(multihead, f"{name}_backward")(Y, cache)
        assert [db is None for db in d_parameters] == [False] * 4 + [True] * 4


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bias", [True, False])
def test_the_module_equals_the_reference_and_so_do_its_slopes(masks, kind, bias, rng):
    parameters, mask = square_parameters(rng, D_SOURCE, bias), masks[kind]
    X, source = rng.normal(size=(B, M, D)), rng.normal(size=(B, N, D_SOURCE))
    module = twin_of(parameters, d_model=D, n_heads=H, d_source=D_SOURCE)
    given = None if mask is None else torch.tensor(mask)
    check_twin(
        lambda X, source, parameters: multi_head_attention(X, source, parameters, H, mask),
        multi_head_attention_backward,
        lambda X, source: module(X, source, given),
        [X, source],
        rng,
        parameters,
        module,
    )
    inputs = [*map(torch.tensor, (X, source)), given]
    P = multi_head_attention(X, source, parameters, H, mask)[1].P
    C = multihead.multi_head_as_sum(X, source, parameters, H, mask)[1].C
    assert_close(P, module.attention_weights(*inputs), "float64")
    assert_close(C, module.contributions(*inputs), "float64")


def test_self_attention_adds_the_two_gradients_of_its_input(rng):
    parameters, X = square_parameters(rng), rng.normal(size=(B, M, D))
    module = twin_of(parameters, d_model=D, n_heads=H)

    def backward(dY, cache):
        dX, dsource, d_parameters = multi_head_attention_backward(dY, cache)
        return dX + dsource, d_parameters

    check_twin(
        lambda X, parameters: multi_head_attention(X, X, parameters, H, causal_mask(M)),
        backward,
        lambda X: module(X, mask=torch.tensor(causal_mask(M))),
        [X],
        rng,
        parameters,
        module,
    )


def test_one_head_is_the_attention_layer_and_a_linear_map(inputs, rng):
    parameters = random_parameters(rng, bias=False)
    O, _ = attention_layer(*inputs, AttentionParameters(*parameters[:3]))
    assert_close(multi_head_attention(*inputs, parameters, 1)[0], O @ parameters.W_O, "float64")


def test_heads_have_no_order_once_W_O_moves_with_them(inputs, rng):
    parameters, order = random_parameters(rng), rng.permutation(H)

    def columns(W):
        return W.reshape(-1, H, W.shape[-1] // H)[:, order].reshape(W.shape)

    moved = MultiHeadParameters(
        *map(columns, parameters[:3]),
        parameters.W_O.reshape(H, -1, D_OUT)[order].reshape(parameters.W_O.shape),
        *map(columns, parameters[4:7]),
        parameters.b_O,
    )
    assert_close(
        multi_head_attention(*inputs, moved, H)[0], multi_head_attention(*inputs, parameters, H)[0], "float64"
    )


def test_the_bias_of_the_keys_is_invisible(inputs, masks, rng):
    """It adds q b_K to all scores of a query alike, and the softmax does not see a constant."""
    parameters = random_parameters(rng)
    Y, cache = multi_head_attention(*inputs, parameters, H, masks["shared"])
    other = parameters._replace(b_K=parameters.b_K + 10 * rng.normal(size=H * D_K))
    assert_close(multi_head_attention(*inputs, other, H, masks["shared"])[0], Y, "float64")
    *_, d_parameters = multi_head_attention_backward(rng.normal(size=Y.shape), cache)
    assert np.abs(d_parameters.b_K).max() < 1e-14 * np.abs(d_parameters.W_K).max()
    assert np.abs(d_parameters.b_Q).max() > 1e-3


def test_a_query_that_may_look_nowhere_gets_the_bias(inputs, masks, rng):
    parameters = random_parameters(rng)
    Y, cache = multi_head_attention(*inputs, parameters, H, masks["shared"])
    assert not cache.Z[0, :, 2].any() and not cache.P[0, :, 2].any()
    assert np.array_equal(Y[0, 2], parameters.b_O)
    dX, *_ = multi_head_attention_backward(rng.normal(size=Y.shape), cache)
    assert not dX[0, 2].any() and np.isfinite(dX).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_goes_in_in_one_precision_comes_out_in_it(inputs, dtype, rng):
    parameters = MultiHeadParameters(*(W.astype(dtype) for W in random_parameters(rng)))
    X, source = (array.astype(dtype) for array in inputs)
    for name in ("multi_head_attention", "multi_head_as_sum"):
        Y, cache = getattr(multihead, name)(X, source, parameters, H)
        dX, dsource, d_parameters = getattr(multihead, f"{name}_backward")(Y, cache)
        assert all(array.dtype == dtype for array in (Y, dX, dsource, *d_parameters))
    module = MultiHeadAttention(d_model=4, n_heads=2).to(getattr(torch, dtype))
    assert module(torch.zeros(3, 4, dtype=getattr(torch, dtype))).dtype == getattr(torch, dtype)


def test_nothing_leaks_across_the_batch_and_inputs_stay_as_they_were(inputs, rng):
    parameters, (X, source) = random_parameters(rng), inputs
    before = X.copy(), source.copy()
    Y, cache = multi_head_attention(X, source, parameters, H)
    dX, dsource, _ = multi_head_attention_backward(np.eye(B)[0][:, None, None] * np.ones_like(Y), cache)
    assert not dX[1].any() and not dsource[1].any() and dsource[0].any()
    assert all(np.array_equal(now, then) for now, then in zip(inputs, before, strict=True))


def test_it_works_without_a_batch_and_with_two_batch_axes(rng):
    parameters = square_parameters(rng)
    module = twin_of(parameters, d_model=D, n_heads=H)
    for batch in [(), (2, 3)]:
        X = rng.normal(size=(*batch, M, D))
        mask = combine_masks(causal_mask(M), np.ones((*batch, 1, M), dtype=bool))
        Y, _ = multi_head_attention(X, X, parameters, H, mask)
        assert_close(Y, module(torch.tensor(X), mask=torch.tensor(mask)), "float64")
        by_loops = multihead.multi_head_attention_by_loops(X, X, parameters, H, mask)
        assert_close(Y, by_loops, "float64")


@pytest.mark.parametrize("n_kv_heads", [1, 2, 6])
def test_a_decoders_steps_equal_one_full_pass(n_kv_heads, rng):
    module = MultiHeadAttention(d_model=30, n_heads=6, n_kv_heads=n_kv_heads).double()
    X = torch.tensor(rng.normal(size=(B, 7, 30)))
    full = module(X, mask=torch.tensor(causal_mask(7)))
    causal = MultiHeadAttention(d_model=30, n_heads=6, n_kv_heads=n_kv_heads, causal=True).double()
    causal.load_state_dict(module.state_dict())
    assert_close(causal(X), full, "float64")
    for parts in ([1] * 7, [3, 1, 2, 1], [7]):
        cache = KVCache()
        steps = [causal(part, kv_cache=cache) for part in X.split(parts, dim=1)]
        assert_close(torch.cat(steps, dim=1), full, "float64")
        assert len(cache) == 7 and cache.nbytes == 2 * B * n_kv_heads * 7 * 5 * 8


@pytest.mark.usefixtures("checked_values")
def test_a_step_that_fails_leaves_the_cache_as_it_was():
    module, cache = MultiHeadAttention(d_model=H * 5, n_heads=H, causal=True), KVCache()
    X = torch.randn(B, 3, H * 5)
    first = module(X[:, :2], kv_cache=cache)
    with pytest.raises(ValueError, match="NaN"):
        module(X[:, 2:] * torch.nan, kv_cache=cache)
    assert len(cache) == 2
    both = torch.cat([first, module(X[:, 2:], kv_cache=cache)], dim=1)
    assert_close(both, module(X, mask=torch.tensor(causal_mask(3))), "float32")


def test_an_empty_cache_costs_nothing():
    assert len(KVCache()) == 0 and KVCache().nbytes == 0


def test_a_hook_on_the_heads_reads_what_each_head_says(inputs, rng):
    parameters, X = square_parameters(rng), rng.normal(size=(B, M, D))
    module, heard = twin_of(parameters, d_model=D, n_heads=H), []
    module.heads.register_forward_hook(lambda heads, inputs, Z: heard.append(Z))
    module(torch.tensor(X))
    assert_close(heard[0], multi_head_attention(X, X, parameters, H)[1].Z, "float64")
    assert nn_split_heads(torch.tensor(X), H).shape == heard[0].shape


@pytest.mark.bad_input
def test_parameters_that_do_not_fit_are_named(inputs, rng):
    parameters = random_parameters(rng)
    right = parameters._asdict()
    for name, value, sentence in [
        (
            "W_Q",
            np.ones((2, 21)),
            r"X and parameters.W_Q must have the same width d_model; got X .* with d_model=13",
        ),
        (
            "W_K",
            np.ones((2, 21)),
            r"source and parameters.W_K must have the same width d_source; got source .* with d_source=17",
        ),
        (
            "W_Q",
            np.ones((D_Q, 20)),
            r"the width of parameters.W_Q must split evenly into n_heads; got .*=20, n_heads=3",
        ),
        (
            "W_K",
            np.ones((D_SOURCE, 24)),
            r"parameters.W_K must be \(d_source, g\*d_k\) with g\*d_k=21; got \(17, 24\). Parameters are stored",
        ),
        (
            "W_O",
            np.ones((32, 19)),
            r"parameters.W_O must be \(h\*d_v, d_out\) with h\*d_v=33; got \(32, 19\). Parameters are stored",
        ),
        (
            "b_V",
            np.ones(32),
            r"parameters.b_V must be \(g\*d_v,\) with g\*d_v=33; got \(32,\)",
        ),
        ("b_V", np.ones(33, dtype="float32"), "all arrays must have the same dtype; got .*b_V float32"),
    ]:
        with pytest.raises((ValueError, TypeError), match="multi_head_attention: " + sentence):
            multi_head_attention(
                *inputs, MultiHeadParameters(**(right | {f"b_{name[-1]}": None} | {name: value})), H
            )


@pytest.mark.bad_input
def test_inputs_that_do_not_fit_the_module_are_named():
    with pytest.raises(
        ValueError,
        match=r"MultiHeadAttention: d_model must split evenly into n_heads; got d_model=10, n_heads=3 "
        r"\(10 / 3 leaves 1\). Try n_heads=2 or 5.",
    ):
        MultiHeadAttention(d_model=10, n_heads=3)
    with pytest.raises(
        ValueError, match="n_heads must split evenly into n_kv_heads; got n_heads=4, n_kv_hea"
    ):
        MultiHeadAttention(d_model=8, n_heads=4, n_kv_heads=3)
    module = MultiHeadAttention(d_model=8, n_heads=2, d_source=6)
    X, Y = torch.zeros(B, M, 8), torch.zeros(B, N, 6)
    for given, sentence in [
        ((Y, Y), r"X must be \(\*b, m, d_model\) with d_model=8; got \(2, 3, 6\)"),
        ((X, X), r"source must be \(\*b, n, d_source\) with d_source=6; got \(2, 5, 8\)"),
        ((X, Y[0]), "X and source must have the same batch axes"),
        ((X, Y, torch.ones(M, M) > 0), r"mask must broadcast to the shape of the scores \(2, 5, 3\); got"),
        (
            (X, Y, torch.ones(B, 3, M, N) > 0),
            r"mask must broadcast to the shape of the scores \(2, 2, 5, 3\); got \(2, 3, 5, 3\)",
        ),
        ((X, Y, torch.ones(M, N)), "mask must be boolean with True = may look; got float32"),
    ]:
        with pytest.raises((ValueError, TypeError), match="MultiHeadAttention: " + sentence):
            module(*given)


@pytest.mark.usefixtures("checked_values")
@pytest.mark.bad_input
def test_nan_in_an_input_is_refused_where_it_would_count(rng):
    module, X = MultiHeadAttention(d_model=8, n_heads=2), torch.ones(1, 3, 8)
    X[0, 2] = torch.nan
    with pytest.raises(ValueError, match="V must be finite; got 8 NaN or infinite entries in V"):
        module(X, mask=torch.tensor([[True, True, False]]))


def kept_for_the_derivatives(layer, *inputs, **options):
    """Bytes that autograd holds after a forward pass."""
    storages = {}

    def note(tensor):
        storages[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        output = layer(*inputs, **options)  # alive until all is counted
    assert output.requires_grad
    return sum(storages.values())


@pytest.mark.parametrize("batch", [(), (1,)])
@pytest.mark.parametrize("masked", [False, True])
def test_no_head_keeps_its_weights(batch, masked, rng):
    n, h = 512, 16
    layer, X = (
        MultiHeadAttention(d_model=32, n_heads=h),
        torch.tensor(rng.normal(size=(*batch, n, 32))).float(),
    )
    mask = torch.from_numpy(causal_mask(n)) if masked else None
    one_table = 4 * n * n  # a mask is one, for all heads; it may be held as numbers and as booleans
    assert kept_for_the_derivatives(layer, X, mask=mask) < (2.5 if masked else 1) * one_table
    assert kept_for_the_derivatives(layer.attention_weights, X, mask=mask) > h * one_table


# ---- Masks that can be read in two ways -----------------------------------------------------------------------------


def layer_and_batch(b, m, h):
    torch.manual_seed(0)
    return MultiHeadAttention(d_model=2 * h, n_heads=h), torch.randn(b, m, 2 * h)


@pytest.mark.bad_input
def test_a_mask_of_keys_for_as_many_sequences_as_queries_is_refused_and_can_be_named():
    """(b, n) with b = m fits as query by key as well, which would give other numbers silently."""
    layer, X = layer_and_batch(4, 4, 3)
    keys = torch.tensor([[True, True, True, False]] * 2 + [[True, True, False, False]] * 2)
    with pytest.raises(
        ValueError, match=r"mask must fit the scores in one way; got \(4, 4\).*`mask\[None\]`.*key_mask="
    ):
        layer(X, mask=keys)
    named = layer(X, key_mask=keys)
    assert torch.equal(named, layer(X, mask=keys[:, None, :])) and torch.equal(
        named, layer(X, mask=keys[:, None, None, :])
    )
    assert (named - layer(X, mask=keys[None])).abs().max() > 1e-3
    assert torch.equal(
        layer.attention_weights(X, key_mask=keys), layer.attention_weights(X, mask=keys[:, None, :])
    )
    both = layer(X, mask=torch.ones(1, 4, 4).tril() > 0, key_mask=keys)
    assert torch.equal(both, layer(X, mask=(torch.ones(1, 4, 4).tril() > 0) & keys[:, None, :]))
    with pytest.raises(ValueError, match=r"key_mask must be \(4, 4\), one entry for each key; got \(4, 3\)"):
        layer(X, key_mask=keys[:, :3])


def test_a_named_mask_of_keys_counts_those_in_the_cache():
    layer, X = layer_and_batch(2, 5, 3)
    cache, seen = KVCache(), torch.rand(2, 5) < 0.7
    causal = MultiHeadAttention(d_model=6, n_heads=3, causal=True)
    whole = causal(X, key_mask=seen)
    parts = [
        causal(X[:, :3], kv_cache=cache, key_mask=seen[:, :3]),
        causal(X[:, 3:], kv_cache=cache, key_mask=seen),
    ]
    assert_close(torch.cat(parts, dim=1), whole, "float32")


@pytest.mark.bad_input
def test_a_mask_for_as_many_heads_as_sequences_is_refused_unless_it_has_all_axes():
    layer, X = layer_and_batch(3, 5, 3)
    mask = torch.rand(3, 5, 5) < 0.7
    with pytest.raises(
        ValueError, match=r"fits as \(b, m, n\) and as \(h, m, n\).*`mask\[:, None\]`.*`mask\[None\]`"
    ):
        layer(X, mask=mask)
    assert (layer(X, mask=mask[None]) - layer(X, mask=mask[:, None])).abs().max() > 1e-3
    layer(X, mask=mask[:, :1])  # (b, 1, n): what `padding_mask` makes


@pytest.mark.bad_input
@pytest.mark.parametrize("shape", [(5, 5), (3, 4, 4)])
def test_the_equations_refuse_the_same_masks(shape, rng):
    b, m = (5, 5) if len(shape) == 2 else (3, 4)
    X, W = rng.normal(size=(b, m, 6)), rng.normal(size=(4, 6, 6))
    with pytest.raises(ValueError, match="mask must fit the scores in one way"):
        multi_head_attention(X, X, MultiHeadParameters(*W), 3, np.ones(shape, dtype=bool))


def test_a_window_is_read_in_one_way_whatever_the_sizes():
    """The stack's own mask is query by key, also for as many sequences as positions or heads."""
    from attnlib.models.config import ModelConfig
    from attnlib.models.gpt import GPT

    torch.manual_seed(0)
    model = GPT(ModelConfig(7, d_model=8, n_heads=4, n_layers=1, window=1))
    tokens = torch.randint(7, (4, 4))
    assert_close(model(tokens), torch.cat([model(one[None]) for one in tokens]), "float32")


@pytest.mark.bad_input
def test_keys_and_values_apart_and_arguments_without_names_get_a_remedy():
    layer, X = layer_and_batch(2, 5, 3)
    with pytest.raises(TypeError, match=r"Keys and values come from one source: `layer\(X, source\)`"):
        layer(X, X, X)
    with pytest.raises(
        TypeError, match=r"MultiHeadAttention: arguments must be named; .*Write `MultiHeadAttention\(d_"
    ):
        MultiHeadAttention(8, 2)
    with pytest.raises(
        TypeError, match="MultiHeadAttention: got an unexpected keyword argument 'heads'. The arg.*n_heads"
    ):
        MultiHeadAttention(d_model=8, n_heads=2, heads=2)
