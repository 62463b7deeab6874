"""Losses: their slopes, their twins, PyTorch's own, and what label smoothing and padding do to them."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from attnlib.nn import losses as twin
from attnlib.reference import losses
from attnlib.reference.ops import entropy, log_sum_exp, softmax
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


def test_the_loss_of_a_text_is_minus_the_logarithm_of_its_likelihood(S):
    P = np.exp(S) / np.exp(S).sum(axis=-1, keepdims=True)
    likelihood = np.prod(np.take_along_axis(P, TARGETS[..., None], -1), axis=(1, 2))
    L = losses.cross_entropy(S, TARGETS)[0]
    assert_close(L.sum(axis=-1), -np.log(likelihood), "float64")
    assert_close(
        losses.cross_entropy(0 * S, TARGETS)[0].sum(axis=-1), np.full(B, N * math.log(VOCAB)), "float64"
    )


def test_scores_of_the_vocabulary_become_probabilities_and_the_surprise_needs_no_division(rng):
    """One token: the score of the right one and the logarithm of the sum are enough."""
    Y, W_U, b = rng.normal(size=(B, N, 3)), rng.normal(size=(3, VOCAB)), rng.normal(size=VOCAB)
    S = Y @ W_U + b
    P = softmax(S)
    assert_close(P.sum(axis=-1), np.ones((B, N)), "float64")
    right = np.take_along_axis(S, TARGETS[..., None], -1)[..., 0]
    surprise = losses.cross_entropy(S, TARGETS)[0]
    assert_close(surprise, -right + log_sum_exp(S), "float64")
    assert_close(np.exp(-surprise), np.take_along_axis(P, TARGETS[..., None], -1)[..., 0], "float64")
    theirs = F.cross_entropy(torch.tensor(S).flatten(0, 1), torch.tensor(TARGETS).flatten(), reduction="none")
    assert_close(surprise.reshape(-1), theirs, "float64")


def test_a_table_learns_from_log_v_down_to_the_entropy_rate_and_no_further(rng):
    """All pairs of letters of a long text, each as often as it comes; full steps down the slope."""
    source = rng.dirichlet(np.ones(VOCAB), size=VOCAB)
    often = np.full(VOCAB, 1 / VOCAB)
    for _ in range(500):
        often = often @ source
    share = (often[:, None] * source).reshape(-1)
    before, after = (one.reshape(-1) for one in np.indices((VOCAB, VOCAB)))
    floor = -share @ np.log(source.reshape(-1))
    Z, seen = np.zeros((VOCAB, VOCAB)), []
    for _ in range(250):
        L, cache = losses.cross_entropy(Z[before], after)
        seen.append(share @ L)
        np.add.at(Z, before, -10 * losses.cross_entropy_backward(share, cache))
    assert abs(seen[0] - math.log(VOCAB)) < 1e-12
    assert min(seen) > floor - 1e-12 and seen[-1] - floor < 5e-3


def test_smoothing_of_a_tenth_over_37_000_tokens_is_best_at_nine_tenths():
    """And the right score then stands 12.72 above the others: it would grow without end if the labels were plain."""
    vocab, epsilon, right = 37_000, 0.1, np.array([0])

    def loss(confidence):
        P = np.full((1, vocab), (1 - confidence) / (vocab - 1))
        P[0, 0] = confidence
        return losses.smoothed_cross_entropy(np.log(P), right, epsilon)

    best = 1 - epsilon + epsilon / vocab
    assert round(best, 4) == 0.9 and round(float(loss(best)[0][0]), 3) == 1.377
    assert abs(losses.smoothed_cross_entropy_backward(np.ones(1), loss(best)[1])).max() < 1e-12
    assert all(loss(other)[0] > loss(best)[0] for other in (0.5, best - 1e-3, best + 1e-3, 0.999))
    P = np.exp(loss(best)[1].L[0])
    gap = math.log((vocab * (1 - epsilon) + epsilon) / epsilon)
    assert round(gap, 2) == 12.72 and abs(math.log(P[0] / P[1]) - gap) < 1e-9
