"""A scaled loss: gradients that would be zero arrive, and the scale moves as PyTorch's does."""

import numpy as np
import pytest
import torch

from attnlib.reference.loss_scale import LossScale, next_scale, scaled, unscaled
from attnlib.testing import assert_close, central_difference


def test_gradients_grow_with_the_scale(rng):
    x, w, scale = rng.normal(size=5), rng.normal(size=5), LossScale(1024.0)
    loss = lambda w: np.tanh(w @ x)  # noqa: E731
    found = central_difference(lambda w: np.array(scaled(float(loss(w)), scale)), w, np.ones(()))
    assert_close(found / 1024, (1 - loss(w) ** 2) * x, "central difference")


def test_what_float16_makes_zero_comes_back_within_a_fifth_of_a_percent():
    dW = np.array([1e-8])
    assert dW.astype(np.float16) == 0
    (found,), finite = unscaled((1024 * dW).astype(np.float16), scale=LossScale(1024.0))
    assert finite and found.dtype == np.float32
    np.testing.assert_allclose(found, dW, rtol=2e-3)


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_one_number_that_is_not_finite_is_seen_in_any_gradient(bad):
    assert unscaled(np.ones(3), np.array([[1.0, bad]]), scale=LossScale())[1] is False
    assert unscaled(np.ones(3), np.array([[1.0, 2.0]]), scale=LossScale())[1] is True


def test_unscaled_in_float32_or_wider():
    for kind, wide in ((np.float16, np.float32), (np.float32, np.float32), (np.float64, np.float64)):
        (found,), _ = unscaled(np.ones(2, kind), scale=LossScale(8.0))
        assert found.dtype == wide and np.array_equal(found, [0.125, 0.125])


def test_the_scale_moves_step_by_step_like_that_of_pytorch(rng):
    """Two hundred steps, some of them too large: when it falls, when it grows, and which steps are left out."""
    leaf = torch.zeros(3, requires_grad=True)
    optimizer = torch.optim.SGD([leaf], lr=1.0)
    theirs = torch.amp.GradScaler("cpu", init_scale=2.0**16, growth_interval=7)
    ours, skipped = LossScale(2.0**16), 0
    for _ in range(200):
        slope = rng.normal(size=3) * (np.inf if rng.random() < 0.1 else 1)
        before = leaf.detach().clone()
        optimizer.zero_grad()
        theirs.scale((leaf * torch.tensor(slope, dtype=torch.float32)).sum()).backward()
        (dW,), finite = unscaled(leaf.grad.numpy().copy(), scale=ours)
        theirs.step(optimizer)
        theirs.update()
        moved = before - leaf.detach()
        assert finite == bool(moved.abs().sum() > 0)
        if finite:
            assert_close(moved, dW, "float32")
        ours, skipped = next_scale(ours, finite, every=7), skipped + (not finite)
        assert ours == LossScale(theirs.get_scale(), theirs._get_growth_tracker())
    assert 5 < skipped < 100
