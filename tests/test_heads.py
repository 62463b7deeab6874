"""Heads as an axis: nothing but order changes, and each of split and merge undoes the other."""

import numpy as np
import pytest
import torch
from einops import rearrange

from attnlib.nn import heads as nn_heads
from attnlib.reference import heads
from attnlib.testing import assert_close, central_difference

B, N, H, D = 2, 5, 3, 7


def test_both_twins_and_einops_cut_the_same_heads(rng):
    X = rng.normal(size=(B, N, H * D))
    Z = heads.split_heads(X, H)
    assert np.array_equal(Z, rearrange(X, "b n (h d) -> b h n d", h=H))
    assert np.array_equal(Z, nn_heads.split_heads(torch.tensor(X), H).numpy())
    assert np.array_equal(heads.merge_heads(Z), X)
    assert np.array_equal(nn_heads.merge_heads(torch.tensor(Z)).numpy(), X)
    for i in range(H):
        assert np.array_equal(Z[:, i], X[..., i * D : (i + 1) * D])


def test_it_works_without_a_batch_and_with_two_batch_axes(rng):
    for batch in [(), (2, 3)]:
        X = rng.normal(size=(*batch, N, H * D))
        Z = heads.split_heads(X, H)
        assert Z.shape == (*batch, H, N, D) and np.array_equal(heads.merge_heads(Z), X)
        assert np.array_equal(Z, nn_heads.split_heads(torch.tensor(X), H).numpy())


def test_each_is_the_others_backward(rng):
    X, dZ = rng.normal(size=(N, H * 2)), rng.normal(size=(H, N, 2))
    by_steps = central_difference(lambda X: heads.split_heads(X, H), X, dZ)
    assert_close(heads.merge_heads(dZ), by_steps, "central difference")
    by_steps = central_difference(heads.merge_heads, dZ, X)
    assert_close(heads.split_heads(X, H), by_steps, "central difference")


def test_splitting_copies_nothing_and_merging_after_it_neither():
    X = torch.zeros(B, N, H * D)
    Z = nn_heads.split_heads(X, H)
    assert Z.data_ptr() == X.data_ptr() and nn_heads.merge_heads(Z).data_ptr() == X.data_ptr()
    assert nn_heads.merge_heads(Z.contiguous()).data_ptr() != X.data_ptr()
    X = np.zeros((B, N, H * D))
    assert np.shares_memory(heads.split_heads(X, H), X)


def test_a_shared_mask_gets_an_axis_of_heads_and_a_mask_with_heads_keeps_its_own():
    for module, ones in [(heads, np.ones), (nn_heads, torch.ones)]:
        mask = ones((B, 1, N)) > 0
        assert tuple(module.mask_for_heads(mask, 3).shape) == (B, 1, 1, N)
        assert tuple(module.mask_for_heads(mask[0], 3).shape) == (1, 1, N)
        assert module.mask_for_heads(ones((B, H, N, N)) > 0, 3).shape == (B, H, N, N)
        assert module.mask_for_heads(mask[0, 0], 3).shape == (N,)
        assert module.mask_for_heads(None, 3) is None


@pytest.mark.bad_input
@pytest.mark.parametrize("module", [heads, nn_heads], ids=["reference", "nn"])
def test_wrong_heads_get_one_clear_sentence_from_both_twins(module):
    zeros = np.zeros if module is heads else torch.zeros
    with pytest.raises(
        ValueError,
        match=r"split_heads: the width d must split evenly into n_heads; got the width d=10, n_heads=3 "
        r"\(10 / 3 leaves 1\). Try n_heads=2 or 5.",
    ):
        module.split_heads(zeros((5, 10)), 3)
    with pytest.raises(ValueError, match=r"Try n_heads=10\."):
        module.split_heads(zeros((5, 10)), 11)
    with pytest.raises(ValueError, match="split_heads: n_heads must be at least 1; got n_heads=0"):
        module.split_heads(zeros((5, 10)), 0)
    with pytest.raises(
        ValueError, match=r"merge_heads: Z needs three axes or more, \(\*b, h, n, d_head\); got"
    ):
        module.merge_heads(zeros((5, 10)))
