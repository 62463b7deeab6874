"""Answers as learners write them: right ones in other styles pass, wrong ones are caught, and nearly all are named.

`natural_answers` holds the answers, written from the tasks alone. `python tests/test_exercises_natural.py` prints each
wrong answer with the name that it gets, and the rates.
"""

import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from natural_answers import Answer, answers

from attnlib.exercises.engine.interface import graded_in_this_process as graded
from attnlib.exercises.engine.registry import find
from attnlib.exercises.engine.results import Result

ALL = list(answers())
IDS = list(dict.fromkeys(answer.id for answer in ALL))
LEAST_NAMED = 0.9  # of all wrong answers


@cache
def result_of(answer: Answer) -> Result:
    return graded(find(answer.id, "test"), answer.given())


def test_there_are_enough_answers_to_tell():
    assert len(IDS) >= 60 and sum(not answer.right for answer in ALL) >= 300


@pytest.mark.parametrize("id", IDS)
def test_right_answers_pass_and_wrong_ones_do_not(id):
    mine = [answer for answer in ALL if answer.id == id]
    refused = [str(answer) for answer in mine if answer.right and not result_of(answer).passed]
    passed = [str(answer) for answer in mine if not answer.right and result_of(answer).passed]
    assert (refused, passed) == ([], [])


@pytest.mark.parametrize("id", dict.fromkeys(answer.id for answer in ALL if answer.name))
def test_an_answer_gets_the_name_that_is_written_beside_it(id):
    mine = [answer for answer in ALL if answer.id == id and answer.name]
    names = {str(answer): "|".join(result_of(answer).named) for answer in mine}
    assert names == {str(answer): answer.name.removeprefix("-") for answer in mine}


@pytest.mark.training
def test_nine_of_ten_wrong_answers_are_named():
    wrong = [answer for answer in ALL if not answer.right]
    named = [answer for answer in wrong if result_of(answer).named]
    assert len(named) >= LEAST_NAMED * len(wrong), f"{len(named)} of {len(wrong)}"


if __name__ == "__main__":
    counts: Counter[str] = Counter()
    for answer in ALL:
        got = result_of(answer)
        kind = "right" if answer.right else "named" if got.named else "passed" if got.passed else "unnamed"
        counts[kind if not answer.right or got.passed else "refused"] += 1
        print(f"{kind:8} {answer} -> {', '.join(got.named)}")
    print(dict(counts))
