"""An optimiser whose state is split over workers takes the steps of one process, to the last bit."""

import numpy as np
import pytest

from attnlib.reference import all_reduce, optim
from attnlib.reference.sharded_optim import sharded_adam, sharded_adam_state, share_of

STEPS, RATE = 5, 0.1


def gradients(p, n, rng):
    return rng.normal(size=(STEPS, p, n))


@pytest.mark.parametrize("p, n", [(1, 7), (2, 12), (3, 7), (4, 12)])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_its_steps_are_those_of_one_process_to_the_last_bit(p, n, dtype, rng):
    """One process has the mean of the gradients, which are summed in the order of the ring."""
    start, all_gradients = rng.normal(size=n).astype(dtype), gradients(p, n, rng).astype(dtype)
    W, states = np.tile(start, (p, 1)), sharded_adam_state(np.tile(start, (p, 1)))
    alone, state = start, optim.adam_state(start)
    for dW in all_gradients:
        W, states, _ = sharded_adam(W, dW, states, RATE)
        alone, state = optim.adam(alone, all_reduce.ring_all_reduce(dW)[0][0] / p, state, RATE)
        assert W.dtype == dtype and all(np.array_equal(row, alone) for row in W)
    for r in range(p):
        assert np.array_equal(states[r].v, state.v[share_of(r, n, p)])


@pytest.mark.parametrize("p", [2, 4])
def test_each_worker_holds_its_part_of_the_bytes(p, rng):
    """Half of them with two workers, a quarter with four."""
    n = 12 * p
    W = np.tile(rng.normal(size=n), (p, 1))
    step = sharded_adam(W, gradients(p, n, rng)[0], sharded_adam_state(W), RATE)
    _, whole = optim.adam(W[0], W[0], optim.adam_state(W[0]), RATE)
    held = [state.m.nbytes + state.v.nbytes for state in step.states]
    assert held == [(whole.m.nbytes + whole.v.nbytes) / p] * p


@pytest.mark.parametrize("p, n", [(2, 12), (4, 24), (3, 7)])
def test_it_sends_what_an_all_reduce_of_the_gradients_sends(p, n, rng):
    W, dW = np.tile(rng.normal(size=n), (p, 1)), gradients(p, n, rng)[0]
    sent = sharded_adam(W, dW, sharded_adam_state(W), RATE).sent
    assert sent.sum() == all_reduce.ring_all_reduce(dW)[1].sum() == 2 * (p - 1) * n


@pytest.mark.parametrize("p, n", [(3, 7), (4, 12), (5, 3)])
def test_the_shares_are_all_numbers_each_once(p, n):
    found = np.concatenate([np.arange(n)[share_of(r, n, p)] for r in range(p)])
    assert sorted(found) == [*range(n)]


@pytest.mark.bad_input
def test_states_of_another_number_of_workers_are_named():
    W = np.ones((2, 4))
    with pytest.raises(
        ValueError, match="sharded_adam: there must be one state for each worker; got 3 for 2"
    ):
        sharded_adam(W, W, [*sharded_adam_state(W), optim.adam_state(W[0])], RATE)
    with pytest.raises(ValueError, match="sharded_adam_state: each worker must have a number; got 4 for 5"):
        sharded_adam_state(np.ones((5, 4)))
