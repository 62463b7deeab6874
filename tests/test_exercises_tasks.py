"""A task can be read alone, asks for all that is marked, and takes numbers as people give them."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from attnlib.exercises.engine.cases import cases_of
from attnlib.exercises.engine.interface import graded_in_this_process as graded
from attnlib.exercises.engine.model import AnswerExercise, CodeExercise, ProofExercise
from attnlib.exercises.engine.registry import exercises, find

ALL = exercises()
NUMBERS = [id for id, one in ALL.items() if isinstance(one, AnswerExercise) and not one.choices]
CLEAR = {  # what readers who had the task alone could not know
    "multi-head.window-cache": "the last `window` tokens, token n included",
    "multi-head.fewest-heads": "which is 0 for a map that is zero",
    "transformer.ridge": "Return m, which need not be whole",
    "transformer.shifted-targets": "any numbers after them are padding",
    "transformer.padded-share": "sorted from the shortest to the longest",
    "transformer.turn-halves": "the numbers i and i + d/2 of a vector of d numbers are the pair (a, b)",
    "transformer.slowest-hand": "(To the nearest 10,000.)",
    "training.what-is-left": "Only the matrices whose names begin with W decay",
    "training.noise-of-workers": "each row of g is a batch of B = rows, and their mean is a batch of B = p times rows",
    "training.join-workers": "the sum of its values with these exponentials as factors",
    "training.other-way": "in every later step the piece to which it has just added",
    "training.three-maps-in-one": "each of the three maps is decomposed by itself",
    "training.equal-bins": "bins of equally many answers, the least confident in the first",
}


@pytest.mark.parametrize("id", CLEAR)
def test_a_task_says_what_its_readers_could_not_know(id):
    assert CLEAR[id] in " ".join(ALL[id].task.split())


@pytest.mark.parametrize("id", NUMBERS)
def test_a_number_may_be_a_fraction_a_decimal_or_infinitely_many(id):
    for answer in (Fraction(1, 7919), Decimal("0.000126"), "infinitely many", [Fraction(1, 7919)] * 2):
        assert graded(ALL[id], answer).status in ("wrong", "passed")


def test_a_number_that_is_near_is_called_close_with_how_near_it_should_be():
    one = find("transformer.slowest-hand", "test")
    assert isinstance(one, AnswerExercise) and not np.ndim(one.value)
    assert "Close: " in graded(one, one.value + 2 * one.within).message
    assert "right to 10,000" in graded(one, one.value + 2 * one.within).message


def test_no_case_asks_for_more_keys_than_there_are():
    one = ALL["efficient-attention.ties-at-zero"]
    assert isinstance(one, CodeExercise)
    assert all(0 < k <= scores.shape[1] for scores, k in cases_of(one).arguments)


def test_marks_of_a_proof_are_for_what_the_task_asks():
    proof = ALL["multi-head.slope-proof"]
    assert isinstance(proof, ProofExercise)
    asked = ("derivative", "derivative is zero", "without the head")
    assert [word in line for word, line in zip(asked, proof.rubric, strict=True)] == [True] * 3
