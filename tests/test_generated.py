"""Thousands of generated shapes, masks and magnitudes: finite, rows of sum one or zero, nothing changed in place."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlib.nn import attention as nn_attention
from attnlib.nn import ops as nn_ops
from attnlib.nn.cache import KVCache
from attnlib.nn.multihead import MultiHeadAttention
from attnlib.reference import masks, ops, scores
from attnlib.reference.attention import scaled_dot_product_attention, scaled_dot_product_attention_backward
from attnlib.reference.gates import gated_multi_head_attention, gated_multi_head_attention_backward
from attnlib.reference.heads import mask_for_heads, merge_heads, split_heads
from attnlib.reference.multihead import (
    MultiHeadParameters,
    grouped_query_attention,
    grouped_query_attention_backward,
    multi_head_as_sum,
    multi_head_attention,
    multi_head_attention_by_loops,
)
from attnlib.testing import copy_parameters

sizes = st.integers(1, 6)
magnitudes = st.sampled_from([0.0, 1e-4, 1.0, 30.0, 800.0, 1e4])
dtypes = st.sampled_from([np.float16, np.float32, np.float64])
ROUNDING = {np.dtype(np.float16): 6e-3, np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-12}


@st.composite
def scores_and_mask(draw):
    shape = tuple(draw(st.lists(sizes, min_size=1, max_size=4)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    S = (draw(magnitudes) * rng.uniform(-1, 1, size=shape)).astype(draw(dtypes))
    return S, rng.random(shape) < draw(st.sampled_from([0.0, 0.3, 0.9, 1.0]))


@settings(max_examples=500)
@given(scores_and_mask())
def test_masked_softmax_is_finite_and_sums_to_one_or_zero(case):
    S, mask = case
    S_before, mask_before = S.copy(), mask.copy()
    P = ops.masked_softmax(S, mask)
    assert P.dtype == S.dtype and np.isfinite(P).all() and (P >= 0).all()
    assert (P[~mask] == 0).all()
    rounding = ROUNDING[S.dtype]
    np.testing.assert_allclose(P.sum(axis=-1), mask.any(axis=-1), atol=rounding)
    twin = nn_ops.masked_softmax(torch.tensor(S), torch.tensor(mask)).numpy()
    np.testing.assert_allclose(P, twin, atol=rounding)
    dS = ops.masked_softmax_backward(np.cos(np.arange(S.size)).reshape(S.shape).astype(S.dtype), P)
    assert dS.dtype == S.dtype and np.isfinite(dS).all() and (dS[~mask] == 0).all()
    assert np.array_equal(S, S_before) and np.array_equal(mask, mask_before)


@settings(max_examples=500)
@given(scores_and_mask(), st.floats(-1e4, 1e4))
def test_softmax_does_not_see_a_constant_and_its_backward_sums_to_zero(case, constant):
    S = case[0].astype(np.float64)
    P = ops.softmax(S)
    np.testing.assert_allclose(ops.softmax(S + constant), P, atol=1e-9)
    dS = ops.softmax_backward(np.cos(np.arange(S.size)).reshape(S.shape), P)
    assert np.isfinite(dS).all()
    np.testing.assert_allclose(dS.sum(axis=-1), 0, atol=1e-12)
    assert np.isfinite(ops.log_sum_exp(S)).all() and np.isfinite(ops.log_softmax(S)).all()
    assert (ops.entropy(P) <= np.log(S.shape[-1]) + 1e-9).all()


@st.composite
def attention_inputs(draw):
    b, m, n, d_k, d_v = (draw(sizes) for _ in range(5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size, dtype = (
        draw(magnitudes),
        draw(st.sampled_from([np.float32, np.float64])),
    )  # 1e4 squared is no float16
    arrays = [
        (size * rng.uniform(-1, 1, size=s)).astype(dtype) for s in [(b, m, d_k), (b, n, d_k), (b, n, d_v)]
    ]
    return arrays, rng.random((b, m, n)) < draw(st.sampled_from([0.0, 0.3, 0.9, 1.0]))


@settings(max_examples=400)
@given(attention_inputs())
def test_attention_stays_in_the_box_of_its_values_and_its_slopes_are_finite(case):
    arrays, mask = case
    before = [array.copy() for array in arrays]
    O, cache = scaled_dot_product_attention(*arrays, mask)
    V = arrays[2]
    seen = mask.any(axis=-1)
    low, high = (np.where(mask[..., None], V[:, None], fill) for fill in (np.inf, -np.inf))
    slack = 1e-5 * (1 + np.abs(V).max())
    assert O.dtype == V.dtype and np.isfinite(O).all()
    assert ((low.min(axis=2) - slack <= O) & (high.max(axis=2) + slack >= O))[seen].all()
    assert (O[~seen] == 0).all()
    np.testing.assert_allclose(cache.P.sum(axis=-1), seen, atol=1e-6)
    gradients = scaled_dot_product_attention_backward(np.ones_like(O), cache)
    assert all(np.isfinite(gradient).all() and gradient.dtype == V.dtype for gradient in gradients)
    assert all(np.array_equal(a, b) for a, b in zip(arrays, before, strict=True))
    if arrays[0].dtype == np.float64 and np.abs(V).max() < 100:
        twin = nn_attention.scaled_dot_product_attention(
            *map(torch.tensor, arrays), torch.tensor(mask)
        ).numpy()
        np.testing.assert_allclose(O, twin, atol=1e-9)


@settings(max_examples=200)
@given(attention_inputs())
def test_scores_are_finite_for_every_legal_input(case):
    (Q, K, _), _ = case
    Q, K = Q / 100, K / 100
    for function in (scores.dot_scores, scores.scaled_dot_scores):
        assert np.isfinite(function(Q, K)[0]).all()
    if (np.abs(Q).sum(axis=-1) > 1e-3).all() and (np.abs(K).sum(axis=-1) > 1e-3).all():
        assert (np.abs(scores.cosine_scores(Q, K)[0]) <= 1 + 1e-5).all()


@settings(max_examples=300)
@given(sizes, sizes, sizes, st.integers(0, 2**32 - 1))
def test_masks_of_all_kinds_allow_what_their_rules_say(n, before, after, seed):
    rng = np.random.default_rng(seed)
    m, prefix, lengths = rng.integers(1, n + 1), rng.integers(0, n + 1), rng.integers(0, n + 1, size=3)
    causal, window = masks.causal_mask(n), masks.window_mask(n, before, after)
    assert np.array_equal(masks.causal_mask(n, int(m)), causal[n - m :])
    assert np.array_equal(masks.window_mask(n, n, 0), causal) and window.diagonal().all()
    assert np.array_equal(masks.prefix_mask(n, int(prefix)) & ~causal, ~causal & (np.arange(n) < prefix))
    both = masks.combine_masks(causal, window, masks.padding_mask(lengths, n))
    assert both.shape == (3, n, n) and not (both & ~causal).any()
    assert np.array_equal(masks.rows_without_a_key(both), both.sum(axis=-1) == 0)
    assert np.array_equal(masks.mask_from_additive(masks.additive_from_mask(both, dtype=np.float16)), both)
    assert np.array_equal(masks.mask_from_torch_attention(~both), both)


@st.composite
def layers_with_heads(draw):
    b, m, n, d_k, d_v, d_out, groups, share = (draw(sizes) for _ in range(8))
    d_q, d_source, h = draw(sizes), draw(sizes), groups * min(share, 3)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size, dtype = (
        draw(st.sampled_from([0.0, 1e-4, 1.0, 30.0])),
        draw(st.sampled_from([np.float32, np.float64])),
    )
    shapes = [(d_q, h * d_k), (d_source, groups * d_k), (d_source, groups * d_v), (h * d_v, d_out)]
    matrices = [rng.uniform(-1, 1, size=shape).astype(dtype) for shape in shapes]
    biases = [rng.uniform(-1, 1, size=shape[1]).astype(dtype) for shape in shapes]
    inputs = [(size * rng.uniform(-1, 1, size=s)).astype(dtype) for s in [(b, m, d_q), (b, n, d_source)]]
    # Where sizes are equal a mask with fewer axes could be read in two ways, and is refused.
    shared, each = (m, n) if m != b else (1, m, n), (b, m, n) if b != h else (b, 1, m, n)
    mask = rng.random(draw(st.sampled_from([each, shared, (b, 1, n), (b, h, m, n)]))) < 0.6
    return inputs, MultiHeadParameters(*matrices, *(biases if draw(st.booleans()) else [])), h, groups, mask


@settings(max_examples=300)
@given(layers_with_heads())
def test_layers_with_heads_agree_are_finite_and_leave_their_inputs_alone(case):
    inputs, parameters, h, groups, mask = case
    before = [array.copy() for array in [*inputs, *parameters[:4], mask]]
    Y, cache = grouped_query_attention(*inputs, parameters, h, groups, mask)
    dX, dsource, d_parameters = grouped_query_attention_backward(np.cos(Y), cache)
    given_ = [array for array in [*inputs, *parameters] if array is not None]
    gradients = [array for array in [dX, dsource, *d_parameters] if array is not None]
    for array, gradient in zip(given_, gradients, strict=True):
        assert gradient.shape == array.shape and gradient.dtype == array.dtype
        assert np.isfinite(gradient).all()
    rounding = {"float32": 3e-4, "float64": 1e-12}[str(Y.dtype)]
    seen = np.broadcast_to(mask_for_heads(mask, 3), cache.P.shape).any(axis=-1)
    np.testing.assert_allclose(cache.P.sum(axis=-1), seen, atol=1e-5)
    times = h // groups
    wide = parameters._replace(
        **{name: repeated(getattr(parameters, name), groups, times) for name in SHARED}
    )
    scale = 1 + np.abs(Y).max()
    for other in (
        multi_head_attention(*inputs, wide, h, mask)[0],
        multi_head_as_sum(*inputs, wide, h, mask)[0],
        multi_head_attention_by_loops(*inputs, wide, h, mask),
        gated_multi_head_attention(*inputs, wide, np.ones(h, dtype=Y.dtype), mask)[0],
    ):
        assert other.dtype == Y.dtype
        np.testing.assert_allclose(other, Y, atol=rounding * scale)
    _, gated = gated_multi_head_attention(*inputs, wide, np.zeros(h, dtype=Y.dtype), mask)
    *_, d_gates = gated_multi_head_attention_backward(np.cos(Y), gated)
    assert d_gates.shape == (h,) and d_gates.dtype == Y.dtype and np.isfinite(d_gates).all()
    assert all(np.array_equal(a, b) for a, b in zip([*inputs, *parameters[:4], mask], before, strict=True))


SHARED = ("W_K", "W_V", "b_K", "b_V")


def repeated(W, groups, times):
    """The columns of each shared head written out once for every head that reads them."""
    if W is None:
        return None
    parts = W.reshape(*W.shape[:-1], groups, -1)
    return np.repeat(parts, times, axis=-2).reshape(*W.shape[:-1], -1)


@settings(max_examples=100)
@given(sizes, sizes, sizes, sizes, st.integers(0, 2**32 - 1))
def test_the_module_equals_the_reference_and_its_steps_equal_the_full_pass(b, n, h, d_k, seed):
    rng, d = np.random.default_rng(seed), h * d_k
    X, matrices = rng.normal(size=(b, n, d)), [rng.normal(size=(d, d)) for _ in range(4)]
    assert np.array_equal(merge_heads(split_heads(X, h)), X)
    parameters = MultiHeadParameters(*matrices, *(rng.normal(size=d) for _ in range(4)))
    module = MultiHeadAttention(d_model=d, n_heads=h).double()
    copy_parameters(parameters, module)
    causal = masks.causal_mask(n)[None]  # all axes: with n texts (n, n) could also be read as one of keys
    with torch.no_grad():
        full = module(torch.tensor(X), mask=torch.tensor(causal)).numpy()
        module.causal = True
        cache, first = KVCache(), int(rng.integers(0, n))
        parts = [part for part in torch.tensor(X).tensor_split([first], dim=1) if part.shape[1]]
        steps = torch.cat([module(part, kv_cache=cache) for part in parts], dim=1).numpy()
    np.testing.assert_allclose(multi_head_attention(X, X, parameters, h, causal)[0], full, atol=1e-9)
    np.testing.assert_allclose(steps, full, atol=1e-9)
