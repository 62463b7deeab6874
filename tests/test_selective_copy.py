"""Selective copying: what is asked, where it stands, and a state that solves it exactly."""

import numpy as np
import pytest

from attnlib.data.selective import selective_copy
from attnlib.reference.selective_scan import selective_scan

SIZE, LENGTH, DATA, SYMBOLS = 200, 11, 3, 5


def test_the_calls_repeat_the_symbols_in_order():
    task = selective_copy(SIZE, LENGTH, DATA, SYMBOLS)
    before, calls = task.source[:, :LENGTH], task.source[:, LENGTH:]
    symbols = before[before < SYMBOLS].reshape(SIZE, DATA)
    assert (calls == SYMBOLS + 1).all() and (before.max(axis=1) == SYMBOLS).all()
    assert (task.target[:, LENGTH:] == symbols).all()
    assert (task.mask == (np.arange(LENGTH + DATA) >= LENGTH)).all()
    found = (task.weights @ task.source[..., None])[..., 0]
    assert (found[task.mask] == task.target[task.mask]).all()


def test_symbols_stand_everywhere_and_differ_from_text_to_text():
    task = selective_copy(2000, LENGTH, DATA, SYMBOLS)
    often = (task.source[:, :LENGTH] < SYMBOLS).mean(axis=0)
    np.testing.assert_allclose(often, DATA / LENGTH, atol=4 * 0.5 / np.sqrt(2000))
    again = selective_copy(2000, LENGTH, DATA, SYMBOLS, seed=1)
    assert (again.source != task.source).mean() > 0.2
    assert task.n_inputs == 165 * 125 and abs(task.chance - (1 / 3 + 2 / 3 / 5)) < 1e-12


def test_a_selective_state_solves_it_exactly():
    """A step of zero at noise, and the number of the symbol so far says in which row it is written and read."""
    task = selective_copy(SIZE, LENGTH, DATA, SYMBOLS)
    is_symbol, is_call = task.source < SYMBOLS, task.source == SYMBOLS + 1
    row = np.maximum(np.where(is_call, is_call.cumsum(axis=1), is_symbol.cumsum(axis=1)) - 1, 0)
    maps = np.eye(DATA)[row]
    X = np.eye(SYMBOLS)[np.where(is_symbol, task.source, 0)]
    step = np.broadcast_to(is_symbol[..., None], X.shape).astype(float)
    Y, _ = selective_scan(X, step, np.full((SYMBOLS, DATA), -1e-9), maps, maps)
    assert (Y.argmax(axis=-1)[task.mask] == task.target[task.mask]).all()


@pytest.mark.bad_input
@pytest.mark.parametrize("n_data", [0, 12])
def test_more_symbols_than_tokens_are_refused(n_data):
    with pytest.raises(
        ValueError, match=f"selective_copy: n_data must be at least 1 and at most length; got {n_data=}"
    ):
        selective_copy(2, LENGTH, n_data, SYMBOLS)
