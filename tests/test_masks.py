"""Masks: True means "may look" in both twins, and each other convention is translated where it enters."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from attnlib.nn import masks as nn_masks
from attnlib.reference import masks
from attnlib.reference.attention import scaled_dot_product_attention
from attnlib.testing import assert_close

B, N, M, D = 2, 5, 3, 7
LENGTHS = np.array([2, 5])


def same(by_numpy, by_torch):
    return by_numpy.dtype == bool and np.array_equal(by_numpy, by_torch.numpy())


def test_each_mask_is_its_rule_pair_by_pair_and_the_twins_agree():
    rules = {
        ("causal_mask", (N,)): lambda i, j: j <= i,
        ("window_mask", (N, 1, 2)): lambda i, j: i - 1 <= j <= i + 2,
        ("prefix_mask", (N, 2)): lambda i, j: j <= i or j < 2,
        ("prefix_mask", (N, 0)): lambda i, j: j <= i,
    }
    for (name, arguments), rule in rules.items():
        by_rule = np.array([[rule(i, j) for j in range(N)] for i in range(N)])
        mask = getattr(masks, name)(*arguments)
        assert np.array_equal(mask, by_rule), name
        assert same(mask, getattr(nn_masks, name)(*arguments)), name


def test_the_last_queries_of_a_causal_mask_are_its_last_rows():
    for m in range(1, N + 1):
        assert np.array_equal(masks.causal_mask(N, m), masks.causal_mask(N)[-m:])
        assert same(masks.causal_mask(N, m), nn_masks.causal_mask(N, m))


def test_padding_hides_keys_and_not_queries():
    mask = masks.padding_mask(LENGTHS, N)
    assert mask.shape == (B, 1, N)
    assert same(mask, nn_masks.padding_mask(torch.tensor(LENGTHS), N))
    assert mask.sum(axis=-1)[:, 0].tolist() == LENGTHS.tolist() and mask[0, 0, :2].all()


def test_padded_keys_change_nothing(rng):
    Q, K, V = rng.normal(size=(M, D)), rng.normal(size=(N, D)), rng.normal(size=(N, D))
    padded, _ = scaled_dot_product_attention(Q[None], K[None], V[None], masks.padding_mask(LENGTHS[:1], N))
    cut, _ = scaled_dot_product_attention(Q, K[: LENGTHS[0]], V[: LENGTHS[0]])
    assert_close(padded[0], cut, "float64")


def test_combined_masks_allow_what_all_allow(rng):
    causal, padding, window = masks.causal_mask(N), masks.padding_mask(LENGTHS, N), masks.window_mask(N, 1, 1)
    both = masks.combine_masks(causal, padding, window)
    assert both.shape == (B, N, N)
    for b, i, j in np.ndindex(B, N, N):
        assert both[b, i, j] == (causal[i, j] and padding[b, 0, j] and window[i, j])
    twins = [torch.tensor(mask) for mask in (causal, padding, window)]
    assert same(both, nn_masks.combine_masks(*twins))
    assert np.array_equal(masks.combine_masks(causal), causal)


def test_rows_without_a_key_are_the_rows_of_zeros(rng):
    mask = masks.combine_masks(masks.window_mask(N, 0, 0), masks.padding_mask(LENGTHS, N))
    empty = masks.rows_without_a_key(mask)
    assert same(empty, nn_masks.rows_without_a_key(torch.tensor(mask)))
    assert empty.tolist() == [[False, False, True, True, True], [False] * 5]
    ahead = masks.window_mask(N, 0, 1) & ~np.eye(N, dtype=bool)  # the last sees nobody, nobody sees the first
    assert masks.rows_without_a_key(ahead).tolist() == [False] * (N - 1) + [True]
    assert same(masks.rows_without_a_key(ahead), nn_masks.rows_without_a_key(torch.tensor(ahead)))
    Q, K, V = (rng.normal(size=(B, N, D)) for _ in range(3))
    O, _ = scaled_dot_product_attention(Q, K, V, mask)
    assert np.array_equal((O == 0).all(axis=-1), empty)


@pytest.mark.parametrize("fill", [-math.inf, -1e9, -1e4])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_an_additive_mask_goes_there_and_back(fill, dtype, rng):
    mask = rng.random((B, M, N)) < 0.5
    M_ = masks.additive_from_mask(mask, fill, np.dtype(dtype).type)
    twin = nn_masks.additive_from_mask(torch.tensor(mask), fill, getattr(torch, dtype))
    assert M_.dtype == dtype and np.array_equal(M_, twin.numpy())
    assert np.array_equal(masks.mask_from_additive(M_), mask)
    assert same(mask, nn_masks.mask_from_additive(twin))
    if dtype == "float16" and fill == -1e9:
        assert np.isneginf(M_[~mask]).all()


def test_adding_minus_infinity_is_the_boolean_mask(rng):
    Q, K, V = (torch.tensor(rng.normal(size=shape)) for shape in [(B, M, D), (B, N, D), (B, N, D)])
    mask = nn_masks.padding_mask(torch.tensor(LENGTHS), N)
    added = F.scaled_dot_product_attention(Q, K, V, attn_mask=nn_masks.additive_from_mask(mask))
    assert_close(added, scaled_dot_product_attention(*(t.numpy() for t in (Q, K, V, mask)))[0], "float64")


def test_pytorchs_module_ignores_where_its_masks_are_true(rng):
    module = torch.nn.MultiheadAttention(D, 1, batch_first=True).double()
    X = torch.tensor(rng.normal(size=(B, N, D)))
    ignore = torch.arange(N) >= torch.tensor(LENGTHS)[:, None]
    forbidden = torch.ones(N, N).triu(1).bool()
    P = module(X, X, X, key_padding_mask=ignore, attn_mask=forbidden)[1]
    ours = nn_masks.combine_masks(
        nn_masks.mask_from_torch_padding(ignore), nn_masks.mask_from_torch_attention(forbidden)
    )
    assert torch.equal(P > 0, ours)
    expected = nn_masks.combine_masks(
        nn_masks.causal_mask(N), nn_masks.padding_mask(torch.tensor(LENGTHS), N)
    )
    assert torch.equal(ours, expected)
    by_numpy = masks.mask_from_torch_padding(ignore.numpy()) & masks.mask_from_torch_attention(
        forbidden.numpy()
    )
    assert same(by_numpy, ours)


def as_kind(module, array):
    return array if module is masks else torch.tensor(array)


@pytest.mark.usefixtures("checked_values")
@pytest.mark.bad_input
@pytest.mark.parametrize("module", [masks, nn_masks], ids=["reference", "nn"])
@pytest.mark.parametrize(
    ("name", "arguments", "error", "sentence"),
    [
        ("causal_mask", (3, 4), ValueError, "causal_mask: m must be between 1 and n=3; got m=4."),
        ("causal_mask", (0,), ValueError, "causal_mask: n must be at least 1; got n=0."),
        ("causal_mask", (3.0,), TypeError, "causal_mask: n must be an integer; got float."),
        ("window_mask", (3, -1, 0), ValueError, "window_mask: before must be at least 0; got before=-1."),
        ("prefix_mask", (3, 4), ValueError, "prefix_mask: prefix must be between 0 and n=3; got prefix=4."),
        (
            "padding_mask",
            (np.array([1, 4]), 3),
            ValueError,
            "padding_mask: lengths must lie between 0 and n = 3; got values from 1 to 4.",
        ),
        (
            "padding_mask",
            (np.array([1.0]), 3),
            TypeError,
            "padding_mask: lengths must be an array of integers; got float64.",
        ),
        (
            "padding_mask",
            (np.array(2), 3),
            ValueError,
            r"lengths needs one axis or more, \(\*a, b\); got \(\)",
        ),
        ("combine_masks", (), ValueError, "combine_masks: there must be one mask or more; got none."),
        (
            "combine_masks",
            (np.ones((3, 3), bool), np.ones((2, 3), bool)),
            ValueError,
            r"combine_masks: masks must broadcast to one shape; got \(3, 3\), \(2, 3\). A mask over keys",
        ),
        (
            "combine_masks",
            (np.ones((3, 3), bool), np.zeros((3, 3))),
            TypeError,
            "combine_masks: mask 1 must be boolean; got float64. An additive mask becomes boolean with",
        ),
        (
            "mask_from_additive",
            (np.array([0.0, -1.0, math.nan]),),
            ValueError,
            r"must hold 0 \(may look\) or at most -10000 \(may not\); got 2 other entries in M \(3,\)",
        ),
        ("mask_from_torch_padding", (np.zeros((2, 3)),), TypeError, "key_padding_mask must be boolean"),
        ("mask_from_torch_attention", (np.zeros((2, 3)),), TypeError, "attn_mask must be boolean"),
        ("rows_without_a_key", (np.zeros((2, 3)),), TypeError, "rows_without_a_key: mask must be boolean"),
        ("additive_from_mask", (np.zeros((2, 3)),), TypeError, "additive_from_mask: mask must be boolean"),
    ],
)
def test_wrong_masks_get_one_clear_sentence_from_both_twins(module, name, arguments, error, sentence):
    given = [as_kind(module, a) if isinstance(a, np.ndarray) else a for a in arguments]
    with pytest.raises(error, match=sentence):
        getattr(module, name)(*given)
