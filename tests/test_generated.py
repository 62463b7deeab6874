"""Thousands of generated shapes, masks and magnitudes: finite, rows of sum one or zero, nothing changed in place."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlib.nn import attention as nn_attention
from attnlib.nn import ops as nn_ops
from attnlib.reference import ops, scores
from attnlib.reference.attention import scaled_dot_product_attention, scaled_dot_product_attention_backward

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
