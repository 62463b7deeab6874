"""Rows of tokens: none twice before all have come, and the same ones from any position on."""

import itertools

import numpy as np
import pytest
import torch

from attnlib.train.replay import Replay
from attnlib.train.rows import TokenRows, load_tokens, packed_tokens, save_tokens

N, BATCH, LENGTH = 7, 3, 101
TOKENS = np.arange(LENGTH)


def firsts(rows, batches):
    return torch.cat([batch[:, 0] for batch in itertools.islice(rows, batches)]).tolist()


def test_documents_lie_one_behind_the_other():
    tokens = packed_tokens([[3, 4], [], [5]], end=9)
    assert tokens.tolist() == [9, 3, 4, 9, 9, 5] and tokens.dtype == np.uint16
    assert packed_tokens([[70_000]], end=0).dtype == np.uint32


def test_each_row_is_a_piece_of_the_text_which_begins_again_after_its_end():
    for batch in itertools.islice(TokenRows(TOKENS, n=N, batch=BATCH), 40):
        assert batch.dtype == torch.int64 and batch.shape == (BATCH, N + 1)
        assert (batch.diff(dim=1) % LENGTH == 1).all() and batch.min() >= 0 and batch.max() < LENGTH


def test_in_each_round_every_row_comes_once_and_the_next_is_cut_and_ordered_anew():
    rows = TokenRows(TOKENS, n=N, batch=1)
    first, second = (firsts(rows, rows.n_rows) for _ in range(2))
    assert rows.n_rows == 15
    for one in (first, second):
        apart = np.diff(sorted(one), append=min(one) + LENGTH).tolist()
        assert (
            sorted(apart) == [LENGTH - 14 * N] + [N] * 14
        )  # 15 rows of 7 for 101 tokens: two of them overlap
    assert first != sorted(first) and sorted(first) != sorted(second)


@pytest.mark.parametrize(("length", "n"), [(LENGTH, N), (98, N), (1099, 100), (1000, 100), (13, 6)])
def test_every_token_is_asked_for_in_each_round_whatever_the_offset(length, n):
    """Once, or twice for the few by which the rows are longer than the text; no token is more than twice."""
    rows = TokenRows(np.arange(length), n=n, batch=1)
    for _ in range(20):
        asked = torch.cat([next(rows)[0, 1:] for _ in range(rows.n_rows)])
        times = torch.bincount(asked, minlength=length)
        assert times.min() == 1 and times.max() <= 2 and (times == 2).sum() == -length % n


@pytest.mark.parametrize("done", [0, 1, 4, 5, 30])
def test_it_goes_on_where_another_left_off(done):
    """Five batches of 3 cross into the second round of 13 rows."""
    whole = TokenRows(TOKENS, n=N, batch=BATCH, seed=5)
    list(itertools.islice(whole, done))
    again = TokenRows(TOKENS, n=N, batch=BATCH, seed=5)
    again.load_state_dict(whole.state_dict())
    for _ in range(10):
        assert torch.equal(next(whole), next(again))


def test_another_seed_is_another_order():
    assert firsts(TokenRows(TOKENS, n=N, batch=BATCH), 4) != firsts(
        TokenRows(TOKENS, n=N, batch=BATCH, seed=1), 4
    )


def test_what_lies_on_the_disk_is_read_from_there(tmp_path):
    file = tmp_path / "tokens.npy"
    save_tokens(file, TOKENS.astype(np.uint16))
    kept = load_tokens(file)
    assert isinstance(kept, np.memmap) and not list(tmp_path.glob("*.part"))
    mine, other = TokenRows(kept, n=N, batch=2), TokenRows(TOKENS, n=N, batch=2)
    assert all(torch.equal(next(mine), next(other)) for _ in range(5))


@pytest.mark.bad_input
def test_what_cannot_be_cut_into_rows_is_named():
    with pytest.raises(
        ValueError, match="TokenRows: tokens must be at least two rows long; got 13 for n=7. Take more"
    ):
        TokenRows(np.arange(13), n=7, batch=1)
    with pytest.raises(ValueError, match="packed_tokens: there must be one text or more; got none"):
        packed_tokens([], end=0)
    with pytest.raises(ValueError, match="tokens must lie between 0 and the largest of four bytes"):
        packed_tokens([[-1]], end=0)
    with pytest.raises(
        ValueError, match="data must be those of the position; got seed=1 after seed=0, n=5 after n=7"
    ):
        TokenRows(TOKENS, n=5, batch=1, seed=1).load_state_dict(TokenRows(TOKENS, n=N, batch=1).state_dict())


def test_batches_of_a_generator_are_resumed_by_making_them_again():
    first = Replay(iter(range(10)))
    assert [next(first) for _ in range(3)] == [0, 1, 2]
    again = Replay(iter(range(10)))
    assert next(again) == 0
    again.load_state_dict(first.state_dict())
    assert next(again) == 3 and again.state_dict() == {"position": 4}


@pytest.mark.bad_input
def test_batches_of_a_generator_cannot_go_back():
    batches = Replay(iter(range(10)))
    next(batches)
    with pytest.raises(ValueError, match="it cannot go back to a position; got one at 1 for 0. Make a new"):
        batches.load_state_dict({"position": 0})
