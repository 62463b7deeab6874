"""Losses: their slopes, their twins, PyTorch's own, and what label smoothing and padding do to them."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from attnlib.nn import losses as twin
from attnlib.reference import losses
from attnlib.reference.ops import entropy
from attnlib.testing import assert_close, check_gradients, check_twin

B, N, VOCAB = 2, 5, 7
TARGETS = np.array([[0, 6, 2, 3, 3], [5, 1, 1, 4, 0]])
REAL = np.array([[True, True, True, False, False], [True, True, True, True, False]])
CASES = {
    "cross_entropy": (TARGETS,),
    "smoothed_cross_entropy": (TARGETS, 0.1),
    "z_loss": (),
    "sequence_loss": (TARGETS, REAL),
}


def tensors(given):
    return [torch.tensor(one) if isinstance(one, np.ndarray) else one for one in given]


@pytest.fixture
def S(rng):
    return 3 * rng.normal(size=(B, N, VOCAB))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_slope_is_that_of_central_differences_and_of_the_twin(name, dtype, S, rng):
    def forward(S):
        return getattr(losses, name)(S, *CASES[name])

    backward = getattr(losses, f"{name}_backward")
    if dtype is np.float64:
        check_gradients(forward, backward, [S], rng)
    check_twin(
        forward, backward, lambda S: getattr(twin, name)(S, *tensors(CASES[name])), [S.astype(dtype)], rng
    )


def test_answers_may_be_rows_of_probabilities(S, rng):
    arrays = [S, rng.dirichlet(np.ones(VOCAB), size=(B, N))]
    check_gradients(losses.soft_cross_entropy, losses.soft_cross_entropy_backward, arrays, rng)
    check_twin(
        losses.soft_cross_entropy, losses.soft_cross_entropy_backward, twin.soft_cross_entropy, arrays, rng
    )


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("ignored", [False, True])
def test_losses_and_slopes_are_those_of_pytorch(reduction, epsilon, ignored, S):
    """PyTorch skips a token whose target is `ignore_index`, and its mean is over the others."""
    real = REAL if ignored else np.ones_like(REAL)
    theirs = torch.tensor(S, requires_grad=True)
    given = torch.tensor(np.where(real, TARGETS, -100)).flatten()
    right = F.cross_entropy(theirs.flatten(0, 1), given, reduction=reduction, label_smoothing=epsilon)
    right.sum().backward()
    L, cache = losses.smoothed_cross_entropy(S, TARGETS, epsilon)
    L, dL = L * real, real / (real.sum() if reduction == "mean" else 1)
    ours = {"none": L.reshape(-1), "mean": L.sum() / real.sum(), "sum": L.sum()}[reduction]
    np.testing.assert_allclose(ours, right.detach(), rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        losses.smoothed_cross_entropy_backward(dL, cache), theirs.grad, rtol=0, atol=1e-12
    )


def test_a_mean_over_padding_is_another_number(S):
    right = F.cross_entropy(torch.tensor(S)[torch.tensor(REAL)], torch.tensor(TARGETS[REAL]))
    found = losses.sequence_loss(S, TARGETS, REAL)[0]
    assert_close(found, right, "float64")
    over_all = (losses.cross_entropy(S, TARGETS)[0] * REAL).mean()
    assert abs(over_all / found - REAL.mean()) < 1e-12  # smaller by the share of real tokens


def test_nothing_leaks_out_of_the_padding(S):
    spoilt, wrong = S.copy(), np.where(REAL, TARGETS, -100)
    spoilt[~REAL] = math.nan
    for one, given in ((S, TARGETS), (spoilt, wrong)):
        loss, cache = losses.sequence_loss(one, given, REAL)
        assert_close(loss, losses.sequence_loss(S, TARGETS, REAL)[0], "float64")
        assert not losses.sequence_loss_backward(np.float64(1), cache)[~REAL].any()
        leaf = torch.tensor(one, requires_grad=True)
        value = twin.sequence_loss(leaf, torch.tensor(given), torch.tensor(REAL))
        value.backward()
        assert_close(value, loss, "float64")
        assert not leaf.grad[torch.tensor(~REAL)].any() and leaf.grad.isfinite().all()


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.6])
def test_the_two_conventions_of_smoothing_are_one_family(epsilon):
    over_all = losses.smoothed_over_all(TARGETS, VOCAB, epsilon)
    over_others = losses.smoothed_over_others(TARGETS, VOCAB, epsilon)
    right = np.take_along_axis(over_others, TARGETS[..., None], -1)
    assert_close(over_others.sum(-1), np.ones((B, N)), "float64")
    assert_close(right, np.full((B, N, 1), 1 - epsilon), "float64")
    assert_close(over_all.max(-1), np.full((B, N), 1 - epsilon + epsilon / VOCAB), "float64")
    larger = losses.smoothed_over_all(TARGETS, VOCAB, epsilon * VOCAB / (VOCAB - 1))
    assert_close(over_others, larger, "float64")
    assert (epsilon == 0) == np.allclose(over_all, over_others)
    for name in ("smoothed_over_all", "smoothed_over_others"):
        theirs = getattr(twin, name)(torch.tensor(TARGETS), VOCAB, epsilon)
        assert_close(theirs, getattr(losses, name)(TARGETS, VOCAB, epsilon), "float32")


def test_with_smoothed_labels_the_loss_has_a_floor_and_scores_stay_finite(S):
    """Plain cross-entropy falls as long as the right score grows; a smoothed one turns at its floor, the entropy."""
    Q = losses.smoothed_over_all(TARGETS, VOCAB, 0.1)
    floor = entropy(Q)
    at_best, cache = losses.smoothed_cross_entropy(np.log(Q), TARGETS, 0.1)
    assert_close(at_best, floor, "float64")
    assert abs(losses.smoothed_cross_entropy_backward(np.ones((B, N)), cache)).max() < 1e-12
    assert (losses.smoothed_cross_entropy(S, TARGETS, 0.1)[0] > floor).all()
    sure = 40 * np.eye(VOCAB)[TARGETS]
    assert losses.cross_entropy(sure, TARGETS)[0].max() < 1e-12
    assert (losses.smoothed_cross_entropy(sure, TARGETS, 0.1)[0] > floor + 1).all()


def test_what_is_added_to_all_scores_only_z_loss_feels(S):
    assert_close(losses.cross_entropy(S + 9, TARGETS)[0], losses.cross_entropy(S, TARGETS)[0], "float64")
    S = S - losses.z_loss(S)[1].Z[..., None]
    assert losses.z_loss(S)[0].max() < 1e-20
    assert_close(losses.z_loss(S + 9)[0], np.full((B, N), 81.0), "float64")


def test_equal_scores_surprise_by_log_v():
    assert_close(
        losses.cross_entropy(np.zeros((B, N, VOCAB)), TARGETS)[0], np.full((B, N), math.log(VOCAB)), "float64"
    )


def test_what_cannot_be_scored_is_named(S):
    with pytest.raises(
        ValueError, match="cross_entropy: targets must lie between 0 and vocab - 1 = 6; got .* 7"
    ):
        losses.cross_entropy(S, TARGETS + 1)
    with pytest.raises(ValueError, match="sequence_loss: there must be a real token; got none of 10"):
        losses.sequence_loss(S, TARGETS, np.zeros_like(REAL))
