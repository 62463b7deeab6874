"""The tasks with known attention: the weights they promise solve them (book: permutation, why-several-heads)."""

import itertools

import numpy as np
import pytest

from attnlib.data.anomaly import odd_one_out, set_anomaly
from attnlib.data.offsets import retrieve_offsets
from attnlib.data.recall import associative_recall, induction, returning_piece
from attnlib.data.tasks import SequenceTask

TOKENS = {
    "recall": lambda seed: associative_recall(53, 5, 11, 7, n_queries=3, seed=seed),
    "one query": lambda seed: associative_recall(53, 5, 11, 7, seed=seed),
    "induction": lambda seed: induction(53, 11, 17, seed=seed),
    "a piece": lambda seed: returning_piece(53, 17, 13, shortest=3, longest=5, seed=seed),
}


# --- the set -------------------------------------------------------------------------------------------------------


def test_exactly_one_item_of_a_set_does_not_belong_and_the_weights_find_it():
    task = set_anomaly(53, 7, 5, 3, seed=1)
    classes = task.symbols // 3
    for row, marks in zip(classes, task.marks, strict=True):
        assert marks.sum() == 1 and len(set(row[~marks])) == 1 and row[marks][0] not in row[~marks]
    assert (np.einsum("bmn,bn->b", task.weights, task.symbols) == task.target).all()
    assert (odd_one_out(task.symbols, 3) == task.marks.argmax(1)).all()


def test_the_odd_item_of_a_shuffled_set_moves_along():
    """Permutation equivariance is right for this task: the answer is a property of the items, not of the places."""
    task = set_anomaly(53, 7, 5, 3, seed=1)
    order = np.random.default_rng(2).permutation(7)
    assert (order[odd_one_out(task.symbols[:, order], 3)] == odd_one_out(task.symbols, 3)).all()


def test_the_odd_item_stands_anywhere_or_among_the_first():
    assert set(set_anomaly(500, 7, 5, 3).marks.argmax(1)) == set(range(7))
    assert set(set_anomaly(500, 7, 5, 3, last=3).marks.argmax(1)) == {0, 1, 2}


# --- the offsets ---------------------------------------------------------------------------------------------------


def test_each_offset_has_weights_that_solve_it():
    task = retrieve_offsets(7, 11, 5, (-3, 0, 2), seed=1)
    found = np.einsum("knm,bm->bnk", task.weights, task.source)
    assert (found == task.target)[task.mask].all()
    assert (task.weights.sum(-1) == task.mask[0]).all()
    assert task.mask[0].nonzero()[0].tolist() == [3, 4, 5, 6, 7, 8]


def test_no_single_row_of_weights_solves_several_offsets():
    """The four rows of weights of a position share nothing: any single row misses three quarters of them."""
    task = retrieve_offsets(1, 9, 5)
    rows = task.weights[:, 4]
    assert (rows @ rows.T == np.eye(4)).all()


# --- recall and induction ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TOKENS)
def test_the_weights_of_recall_and_induction_solve_them(name: str):
    task = TOKENS[name](1)
    found = np.einsum("bmn,bn->bm", task.weights, task.source)
    assert (found == task.target)[task.mask].all()
    assert (task.weights.sum(-1) == task.mask).all()
    assert task.mask.any(1).all()


@pytest.mark.parametrize("name", TOKENS)
def test_the_answer_stands_behind_the_only_earlier_copy_of_the_token(name: str):
    """A reader who follows the rule, written without the weights."""
    task = TOKENS[name](2)
    for b, i in zip(*task.mask.nonzero(), strict=True):
        row = task.source[b].tolist()
        (earlier,) = [j for j in range(i) if row[j] == row[i]]
        assert task.target[b, i] == row[earlier + 1] and task.weights[b, i, earlier + 1] == 1


def test_no_fixed_distance_solves_induction():
    task = induction(2000, 12, 20, seed=3)
    _, i, j = task.weights.nonzero()
    share = np.bincount(i - j) / len(i)
    assert share.max() < 0.5 and (share > 0).sum() == 6


def longest_unseen_is_right(task: SequenceTask) -> float:
    """How often the answer is the symbol of the text that was last seen longest ago: a rule without any pattern."""
    found = []
    for b, i in zip(*task.mask.nonzero(), strict=True):
        last = {symbol: place for place, symbol in enumerate(task.source[b, : i + 1].tolist())}
        found.append(min(last, key=last.__getitem__) == task.target[b, i])
    return float(np.mean(found))


def test_what_was_not_seen_for_longest_solves_a_text_that_returns_whole_and_not_a_piece_that_returns():
    assert longest_unseen_is_right(induction(100, 12, 20, seed=3)) == 1
    piece = returning_piece(500, 17, 13, shortest=3, longest=5, seed=3)
    assert longest_unseen_is_right(piece) < 0.35


def test_a_piece_returns_wherever_it_likes():
    task = returning_piece(2000, 17, 13, shortest=3, longest=5, seed=3)
    _, i, j = task.weights.nonzero()
    share = np.bincount(i - j) / len(i)
    assert share.max() < 0.25 and share.nonzero()[0].tolist() == list(range(2, 14))
    assert {2, 3, 4} == set(task.mask.sum(axis=1)) and set(j) == set(range(1, 14))


def test_keys_and_values_are_different_tokens_and_keys_differ():
    task = associative_recall(53, 5, 11, 7, n_queries=5, seed=1)
    keys, values, asked = task.source[:, 0:10:2], task.source[:, 1:10:2], task.source[:, 10:]
    assert keys.max() < 11 <= values.min() and values.max() < 18
    assert all(len(set(row)) == 5 for row in keys.tolist())
    assert (np.sort(keys) == np.sort(asked)).all()


# --- all of them ---------------------------------------------------------------------------------------------------


def test_the_number_of_inputs_agrees_with_listing_them():
    def different(inputs):
        return len({tuple(row) for row in inputs.tolist()})

    assert set_anomaly(1, 3, 2, 2).n_inputs == different(set_anomaly(3000, 3, 2, 2).symbols)
    assert retrieve_offsets(1, 3, 2, (-1, 1)).n_inputs == len(list(itertools.product(range(2), repeat=3)))
    assert associative_recall(1, 2, 3, 2).n_inputs == different(associative_recall(3000, 2, 3, 2).source)
    assert induction(1, 5, 4).n_inputs == different(induction(3000, 5, 4).source)
    piece = {"shortest": 2, "longest": 2}
    texts = different(returning_piece(9000, 5, 3, **piece).source)
    assert returning_piece(1, 5, 3, **piece).n_inputs == texts == 3 * 6


def test_a_seed_fixes_the_data():
    for make in (
        lambda seed: set_anomaly(7, 5, 3, 2, seed=seed).symbols,
        lambda seed: retrieve_offsets(7, 5, 3, seed=seed).source,
        *(lambda seed, make=make: make(seed).source for make in TOKENS.values()),
    ):
        assert (make(1) == make(1)).all() and (make(1) != make(2)).any()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            lambda: set_anomaly(1, 2, 3, 2),
            "set_anomaly: length must be at least 3, or no item is the odd one; got length=2",
        ),
        (
            lambda: set_anomaly(1, 3, 1, 2),
            "set_anomaly: two classes with a member each are needed; got n_classes=1",
        ),
        (lambda: set_anomaly(1, 3, 2, 2, last=4), "set_anomaly: last must be from 1 to length=3; got last=4"),
        (lambda: retrieve_offsets(1, 4, 3), r"got \(-2, -1, 1, 2\) and length=4. A length above 4 has one"),
        (lambda: retrieve_offsets(1, 4, 3, (1, 1)), "offsets must differ from each other"),
        (
            lambda: associative_recall(1, 4, 3, 3),
            "n_queries <= n_pairs <= n_keys must hold.*n_pairs=4, n_keys=3",
        ),
        (
            lambda: induction(1, 6, 4),
            "induction: at least 4 positions and length - 1 different symbols are needed",
        ),
        (
            lambda: returning_piece(1, 9, 12, shortest=3, longest=5),
            "returning_piece: 2 <= shortest <= longest, 2 longest <= length.*longest=5, length=9",
        ),
    ],
)
def test_tasks_explain_a_wrong_size(wrong, message: str):
    with pytest.raises(ValueError, match=message):
        wrong()
