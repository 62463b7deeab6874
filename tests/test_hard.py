"""Hard attention: draws follow the weights, estimates have the exact mean, a baseline moves their variance alone."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlib.nn import hard as nn_hard
from attnlib.reference import hard
from attnlib.reference.attention import attend
from attnlib.reference.ops import softmax
from attnlib.testing import assert_close, central_difference, check_twin

B, N, M, D_V = 2, 3, 5, 7
# N queries, M keys


def within_four_standard_errors(samples, mean):
    error = np.abs(samples.mean(axis=0) - mean)
    return (error <= 4 * samples.std(axis=0) / np.sqrt(len(samples)) + 1e-12).all()


def seeded(module):
    return np.random.default_rng(0) if module is hard else torch.Generator().manual_seed(0)


@pytest.mark.parametrize("seed", [0, 1])
def test_draws_follow_the_weights(seed):
    """20,000 draws of each of six rows; the share of a key has standard error sqrt(p (1 - p) / 20,000)."""
    rng = np.random.default_rng(seed)
    P = softmax(2 * rng.normal(size=(B, N, M)))
    many = np.broadcast_to(P, (20_000, B, N, M))
    index = hard.sample_hard(many, rng)
    twin = nn_hard.sample_hard(torch.tensor(many), torch.Generator().manual_seed(seed)).numpy()
    for draws in (index, twin):
        assert draws.shape == (20_000, B, N)
        assert within_four_standard_errors(hard.one_hot(draws, P), P)


def test_the_same_seed_draws_the_same_keys(rng):
    P = softmax(rng.normal(size=(100, M)))
    first, second = (hard.sample_hard(P, np.random.default_rng(3)) for _ in range(2))
    assert np.array_equal(first, second)
    first, second = (nn_hard.sample_hard(torch.tensor(P), torch.Generator().manual_seed(3)) for _ in range(2))
    assert torch.equal(first, second)


@settings(max_examples=150)
@given(
    st.lists(st.sampled_from([0.0, 1e-9, 0.3, 1.0, 40.0]), min_size=1, max_size=7).filter(any),
    st.integers(0, 2**32 - 1),
    st.sampled_from([np.float16, np.float32, np.float64]),
)
def test_a_key_of_weight_zero_is_never_drawn(weights, seed, dtype):
    P = np.broadcast_to((np.array(weights) / sum(weights)).astype(dtype), (50, len(weights)))
    index = hard.sample_hard(P, np.random.default_rng(seed))
    twin = nn_hard.sample_hard(torch.tensor(P), torch.Generator().manual_seed(seed))
    for draws in (index, twin.numpy()):
        assert (P[np.arange(50), draws] > 0).all()


class Largest(np.random.Generator):
    """Its random numbers are as close to one as a float64 below one can be."""

    def random(self, *args: Any, **kwargs: Any) -> Any:
        return np.full(args[0], 1 - 2**-53)


def test_the_largest_random_number_draws_the_last_key_that_has_a_weight():
    tenths = np.array([0.1] * 10 + [0.0])  # adds up to 1 - 1e-16
    assert tenths.cumsum()[-1] < 1
    assert hard.sample_hard(tenths, Largest(np.random.PCG64(0))) == 9


@pytest.mark.parametrize("batch", [(), (B,), (B, 11)])
def test_hard_attention_is_attention_with_a_one_in_each_row(batch, rng):
    P, V = softmax(rng.normal(size=(*batch, N, M))), rng.normal(size=(*batch, M, D_V))
    index = rng.integers(M, size=(*batch, N))
    O = hard.hard_attention(P, V, index)
    assert_close(O, hard.one_hot(index, P) @ V, "float64")
    assert_close(O, nn_hard.hard_attention(*map(torch.tensor, (P, V, index))).numpy(), "float64")


def test_the_values_that_were_not_drawn_do_not_matter(rng):
    P, V = softmax(rng.normal(size=(N, M))), rng.normal(size=(M, D_V))
    index, changed = np.array([0, 2, 4]), V.copy()
    changed[[1, 3]] = 1e300
    assert np.array_equal(hard.hard_attention(P, changed, index), hard.hard_attention(P, V, index))


def test_the_mean_of_the_hard_output_is_the_soft_output(rng):
    S, V = rng.normal(size=(1, M)), rng.normal(size=(M, D_V))
    P = softmax(S)
    mean = sum(P[0, j] * hard.hard_attention(P, V, np.array([j])) for j in range(M))
    assert_close(mean, attend(S, V)[0], "float64")


def test_hard_attention_sends_a_gradient_to_the_values_and_none_to_the_weights(rng):
    P, V = softmax(rng.normal(size=(B, N, M))), rng.normal(size=(B, M, D_V))
    index, dO = rng.integers(M, size=(B, N)), rng.normal(size=(B, N, D_V))
    dP, dV = hard.hard_attention_backward(dO, P, index)
    moved = central_difference(lambda V: hard.hard_attention(P, V, index), V, dO)
    assert_close(dV, moved, "central difference")
    moved = central_difference(lambda P: hard.hard_attention(P, V, index), P, dO)
    assert not dP.any() and not moved.any()
    leaves = [torch.tensor(array, requires_grad=True) for array in (P, V)]
    loss = (nn_hard.hard_attention(leaves[0], leaves[1], torch.tensor(index)) * torch.tensor(dO)).sum()
    dP_twin, dV_twin = torch.autograd.grad(loss, leaves, allow_unused=True)
    assert dP_twin is None
    assert_close(dV, dV_twin.numpy(), "float64")


@pytest.mark.parametrize("shape", [(M,), (N, M), (B, N, M)])
def test_the_exact_gradient_is_the_slope_of_the_expected_reward(shape, rng):
    S, R = rng.normal(size=shape), rng.normal(size=shape)
    exact = hard.expected_reward_gradient(S, R)
    moved = central_difference(lambda S: hard.expected_reward(S, R), S, np.ones(shape[:-1]))
    assert_close(exact, moved, "central difference")
    S_twin, R_twin = torch.tensor(S), torch.tensor(R)
    reward = np.asarray(hard.expected_reward(S, R))
    assert_close(reward, nn_hard.expected_reward(S_twin, R_twin).numpy(), "float64")
    assert_close(exact, nn_hard.expected_reward_gradient(S_twin, R_twin).numpy(), "float64")


@pytest.mark.parametrize("baseline", [0.0, -3.0, 100.0])
def test_the_estimate_is_unbiased_whatever_the_baseline(baseline, rng):
    """No sampling: the mean over the M keys, each with its probability."""
    S, R = rng.normal(size=M), rng.normal(size=M)
    each = hard.reinforce_gradient(S, np.arange(M), R, baseline)
    mean = (softmax(S)[:, None] * each).sum(axis=0)
    # atol 1e-11: the estimates themselves are a hundred times larger than their mean
    np.testing.assert_allclose(mean, hard.expected_reward_gradient(S, R), rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("seed", [0, 1])
def test_sampled_estimates_have_the_exact_mean_and_the_stated_variance(seed):
    """100,000 draws; the standard error comes from the draws themselves."""
    rng = np.random.default_rng(seed)
    S, R = rng.normal(size=8), 2 + rng.normal(size=8)
    index = hard.sample_hard(np.broadcast_to(softmax(S), (100_000, 8)), rng)
    exact = hard.expected_reward_gradient(S, R)
    for baseline in (0.0, float(hard.optimal_baseline(S, R))):
        each = hard.reinforce_gradient(S, index, R[index], baseline)
        assert within_four_standard_errors(each, exact)
        squares = ((each - exact) ** 2).sum(axis=-1)
        assert within_four_standard_errors(squares, hard.reinforce_variance(S, R, baseline))


def test_the_estimate_equals_its_twin_and_minus_the_slope_of_the_loss(rng):
    S, index = rng.normal(size=(B, N, M)), rng.integers(M, size=(B, N))
    reward, baseline = rng.normal(size=(B, N)), rng.normal(size=N)
    by_hand = hard.reinforce_gradient(S, index, reward, baseline)
    others = list(map(torch.tensor, (index, reward, baseline)))
    assert_close(by_hand, nn_hard.reinforce_gradient(torch.tensor(S), *others).numpy(), "float64")
    leaf = torch.tensor(S, requires_grad=True)
    (dS,) = torch.autograd.grad(nn_hard.reinforce_loss(leaf, *others).sum(), leaf)
    assert_close(by_hand, -dS, "float64")


def test_the_loss_sends_no_gradient_to_the_reward_or_the_baseline(rng):
    S = torch.tensor(rng.normal(size=(N, M)), requires_grad=True)
    reward, baseline = (torch.tensor(rng.normal(size=N), requires_grad=True) for _ in range(2))
    nn_hard.reinforce_loss(S, torch.tensor([0, 1, 2]), reward, baseline).sum().backward()
    assert S.grad is not None and reward.grad is None and baseline.grad is None


def test_descending_the_loss_raises_the_reward(rng):
    S, R = torch.zeros(M, dtype=torch.float64, requires_grad=True), torch.tensor(rng.normal(size=M))
    before = float(nn_hard.expected_reward(S.detach(), R))
    every = nn_hard.reinforce_loss(S, torch.arange(M), R)
    mean = (torch.softmax(S.detach(), -1) * every).sum()
    (dS,) = torch.autograd.grad(mean, S)
    after = float(nn_hard.expected_reward(S.detach() - 0.1 * dS, R))
    assert after > before


@settings(max_examples=200)
@given(st.integers(0, 2**32 - 1), st.integers(1, 7), st.floats(-10, 10))
def test_no_baseline_has_less_variance_than_the_optimal_one(seed, n, elsewhere):
    rng = np.random.default_rng(seed)
    S, R = 2 * rng.normal(size=n), rng.normal(size=n)
    best = float(hard.optimal_baseline(S, R))
    least, there = np.asarray(hard.reinforce_variance(S, R, np.array([best, elsewhere])))
    P = softmax(S)
    bend = (P * hard.score_lengths(P)).sum()
    np.testing.assert_allclose(there - least, bend * (elsewhere - best) ** 2, rtol=1e-8, atol=1e-10)


def test_the_optimal_baseline_and_the_variance_equal_their_twins(rng):
    S, R = rng.normal(size=(B, N, M)), rng.normal(size=(B, N, M))
    S_twin, R_twin = torch.tensor(S), torch.tensor(R)
    best = hard.optimal_baseline(S, R)
    assert_close(best, nn_hard.optimal_baseline(S_twin, R_twin).numpy(), "float64")
    variance = nn_hard.reinforce_variance(S_twin, R_twin, torch.tensor(best)).numpy()
    assert_close(hard.reinforce_variance(S, R, best), variance, "float64")


@pytest.mark.parametrize("S", [np.array([0.0, -np.inf, -np.inf]), np.array([800.0, 0.0, 0.0])])
def test_where_the_draw_is_certain_the_baseline_is_the_expected_reward(S):
    R = np.array([3.0, 5.0, 7.0])
    assert hard.optimal_baseline(S, R) == 3
    assert nn_hard.optimal_baseline(torch.tensor(S), torch.tensor(R)) == 3
    assert hard.reinforce_variance(S, R) == 0


def test_straight_through_is_hard_forwards_and_soft_backwards(rng):
    S, V = rng.normal(size=(B, N, M)), rng.normal(size=(B, M, D_V))
    S[0, 1, 3] = -np.inf
    index = np.array([[0, 1, 2], [4, 3, 0]])
    O, cache = hard.straight_through_attention(S, V, index)
    assert np.array_equal(O, hard.hard_attention(cache.P, V, index))
    dO = rng.normal(size=O.shape)
    dS, dV = hard.straight_through_attention_backward(dO, cache)
    check_twin(
        lambda S, V: hard.straight_through_attention(S, V, index),
        hard.straight_through_attention_backward,
        lambda S, V: nn_hard.straight_through_attention(S, V, torch.tensor(index)),
        [S, V],
        rng,
    )
    assert dS[0, 1, 3] == 0
    soft = central_difference(lambda S: attend(S, V)[0], np.where(np.isfinite(S), S, -1e3), dO)
    assert_close(dS, soft, "central difference")
    truth = central_difference(lambda V: hard.straight_through_attention(S, V, index)[0], V, dO)
    assert_close(dV, truth, "central difference")


def test_straight_through_is_exact_for_a_linear_loss_and_biased_for_a_squared_one():
    S, V, goal = np.array([[0.3, -0.2, 0.5]]), np.array([[1.0, 0.0], [0.0, 2.0], [4.0, 4.0]]), np.ones(2)
    P = softmax(S)

    def mean_dS(d_loss):
        total = np.zeros_like(S)
        for j in range(3):
            O, cache = hard.straight_through_attention(S, V, np.array([j]))
            total += P[0, j] * hard.straight_through_attention_backward(d_loss(O), cache)[0]
        return total

    linear = hard.expected_reward_gradient(S, (V @ goal)[None])
    assert_close(mean_dS(lambda O: goal[None]), linear, "float64")
    squared = hard.expected_reward_gradient(S, ((V - goal) ** 2).sum(axis=-1)[None])
    assert np.abs(mean_dS(lambda O: 2 * (O - goal)) - squared).max() > 0.1


def test_float32_in_float32_out_and_inputs_unchanged(rng):
    S, R, V = (rng.normal(size=shape).astype(np.float32) for shape in [(N, M), (N, M), (M, D_V)])
    copies = [array.copy() for array in (S, R, V)]
    index = hard.sample_hard(softmax(S), rng)
    O, cache = hard.straight_through_attention(S, V, index)
    outputs = [
        *(O, *cache, *hard.straight_through_attention_backward(np.ones_like(O), cache)),
        *hard.hard_attention_backward(np.ones_like(O), softmax(S), index),
        hard.expected_reward(S, R),
        hard.expected_reward_gradient(S, R),
        hard.reinforce_gradient(S, index, R[np.arange(N), index], 0.5),
        hard.reinforce_variance(S, R, 0.5),
        hard.optimal_baseline(S, R),
    ]
    assert all(np.asarray(output).dtype == np.float32 for output in outputs)
    assert all(np.array_equal(a, c) for a, c in zip((S, R, V), copies, strict=True))


@pytest.mark.usefixtures("checked_values")
@pytest.mark.bad_input
@pytest.mark.parametrize("module", [hard, nn_hard], ids=["reference", "nn"])
@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (
            lambda h, a: h.sample_hard(a([[0.5, 0.5], [0.0, 0.0]]), seeded(h)),
            ValueError,
            "sample_hard: each row of P must sum to one; got a row that sums to 0. "
            "Draw from a softmax, and leave out a query that may look nowhere.",
        ),
        (
            lambda h, a: h.sample_hard(a([1.5, -0.5]), seeded(h)),
            ValueError,
            "sample_hard: probabilities must not be negative or NaN; got -0.5 in P.",
        ),
        (
            lambda h, a: h.sample_hard(a([0.5, 0.5]), 7),
            TypeError,
            r"sample_hard: rng must be a Generator; got int. Make one from a seed with `(np|torch)\.",
        ),
        (
            lambda h, a: h.hard_attention(a([[0.5, 0.5]]), a([[1.0], [2.0], [3.0]]), a([0])),
            ValueError,
            "hard_attention: P and values must have the same number of keys n; "
            r"got P \(1, 2\) with n=2 and V \(3, 1\) with n=3.",
        ),
        (
            lambda h, a: h.hard_attention(a([[0.5, 0.5]]), a([[1.0], [2.0]]), a([2])),
            ValueError,
            "hard_attention: index must lie between 0 and n - 1 = 1; got values from 2 to 2.",
        ),
        (
            lambda h, a: h.hard_attention(a([[0.5, 0.5]]), a([[1.0], [2.0]]), a([0.0])),
            TypeError,
            "hard_attention: index must be an array of integers; got float64.",
        ),
        (
            lambda h, a: h.hard_attention(a([[0.5, 0.5]]), a([[1.0], [2.0]]), a([0, 1])),
            ValueError,
            r"P and index must have the same number of queries m; got P \(1, 2\) with m=1 and index \(2,\) with m=2.",
        ),
        (
            lambda h, a: h.hard_attention(a([[1.0, 0.0]]), a([[1.0], [2.0]]), a([1])),
            ValueError,
            "hard_attention: a key of weight zero cannot have been drawn; got 1 in index. "
            "Draw index from the same weights.",
        ),
        (
            lambda h, a: h.expected_reward(a([0.0, 1.0]), a([1.0])),
            ValueError,
            r"expected_reward: S and R must have the same shape; got S \(2,\) and R \(1,\).",
        ),
        (
            lambda h, a: h.reinforce_gradient(a([0.0, 1.0]), a([0, 1]), a([1.0, 2.0, 3.0])),
            ValueError,
            r"index and reward must have the same shape; got index \(2,\) and reward \(3,\). "
            r"The rewards of all keys become those of the drawn ones with `R\[index\]`.",
        ),
        (
            lambda h, a: h.reinforce_gradient(a([[0.0, 1.0], [0.0, 1.0]]), a([0, 1, 1]), a([1.0, 2.0, 3.0])),
            ValueError,
            r"S must broadcast to \(\*b, n\) = \(3, 2\); got \(2, 2\). "
            "More draws of the same rows go into leading axes.",
        ),
    ],
)
def test_bad_input_gets_one_clear_sentence_from_both_twins(module, call, error, sentence):
    def make(values):
        array = np.asarray(values)
        return array if module is hard else torch.tensor(array)

    with pytest.raises(error, match=sentence):
        call(module, make)
