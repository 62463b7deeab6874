"""What a state recalls of random pairs, and what it counts (book: what-a-state-can-keep; eq-signal-to-noise,
eq-what-is-left, eq-error-flips): the laws of the page, with the functions of the package."""

import numpy as np
import pytest
import torch

from attnlib.nn import delta_rule as nn_delta
from attnlib.reference import delta_rule as delta
from attnlib.reference.linear_attention import linear_attention_recurrent
from attnlib.testing import assert_close

D_K, D_V, N = 23, 17, 41


def unit(A):
    return A / np.linalg.norm(A, axis=-1, keepdims=True)


def pairs(rng, draws):
    """Random keys of length one, and values that are one of D_V words."""
    return unit(rng.normal(size=(draws, N, D_K))), np.eye(D_V)[rng.integers(D_V, size=(draws, N))]


def within(values, expected, errors=4):
    """Whether the mean of independent values is within so many standard errors of what is expected."""
    values = np.asarray(values)
    return abs(values.mean() - expected) < errors * values.std(ddof=1) / np.sqrt(len(values))


def test_crosstalk_in_a_sum_has_the_mean_square_of_pairs_over_numbers(rng):
    """eq-signal-to-noise: what a key reads beside its own value; 4 standard errors of 400 draws."""
    K, V = pairs(rng, 400)
    _, S = linear_attention_recurrent(K, K, V)
    noise = K[:, 0, None] @ S - V[:, 0, None]
    assert within((noise**2).mean(axis=(1, 2)), (N - 1) / (D_K * D_V))


@pytest.mark.parametrize("step", [0.1, 0.5, 1.0])
def test_each_pair_takes_the_same_share_of_an_older_one(step, rng):
    """eq-what-is-left: the signal of the first pair after all others, and the size of the state that is its noise."""
    K, V = pairs(rng, 4000)
    first = np.zeros_like(V)
    first[:, 0] = V[:, 0]  # the rule is linear in the values: what is left of this one alone
    steps = np.full(K.shape[:2], step)
    _, S = delta.delta_rule(K, K, first, steps)
    left = ((K[:, 0, None] @ S)[:, 0] * V[:, 0]).sum(axis=1)
    assert within(left, step * (1 - step / D_K) ** (N - 1))


@pytest.mark.parametrize("module", [delta, nn_delta])
@pytest.mark.parametrize("chunk", [None, 16])
def test_steps_of_two_count_parity_and_keep_the_size_of_the_error(module, chunk, rng):
    """eq-error-flips: from 0 towards the value 1 the state goes to 2, and back, exactly, for 1,000 tokens."""
    flips = rng.integers(2, size=1000)
    one, step = np.ones((1000, 1)), 2.0 * flips
    given = [one, one, one, step] if module is delta else [torch.tensor(A) for A in (one, one, one, step)]
    run = module.delta_rule if chunk is None else module.delta_rule_chunked
    O, _ = run(*given, *([] if chunk is None else [chunk]))
    assert_close(O[:, 0], 2.0 * (flips.cumsum() % 2), "float64")


def test_a_step_up_to_one_never_passes_the_value(rng):
    one, step = np.ones((50, 1)), rng.uniform(0, 1, size=50)
    O, _ = delta.delta_rule(one, one, one, step)
    assert (np.diff(O[:, 0]) >= 0).all() and (O <= 1).all()
    beyond, _ = delta.delta_rule(one, one, one, np.full(50, 1.5))
    assert (np.sign(beyond[:20, 0] - 1) == np.resize([1, -1], 20)).all()


def exchanged(S, one, other):
    """One write with the difference of two keys, the value zero and a step of two."""
    k = unit(one - other)[None]
    return delta.delta_rule(k, k, np.zeros((1, D_V)), np.array([2.0]), state=S)[1]


def test_one_write_exchanges_what_two_keys_of_one_length_give(rng):
    S, (x, y) = rng.normal(size=(D_K, D_V)), unit(rng.normal(size=(2, D_K)))
    after = exchanged(S, x, y)
    assert_close(np.stack([x, y]) @ after, np.stack([y, x]) @ S, "float64")
    apart = rng.normal(size=D_K)
    apart -= (k := unit(x - y)) * (apart @ k)
    assert_close(apart @ after, apart @ S, "float64")


def test_two_exchanges_rotate_three_variables(rng):
    S, keys = rng.normal(size=(D_K, D_V)), np.linalg.qr(rng.normal(size=(D_K, 3)))[0].T
    after = exchanged(exchanged(S, keys[0], keys[1]), keys[1], keys[2])
    assert_close(keys @ after, np.roll(keys, -1, axis=0) @ S, "float64")
