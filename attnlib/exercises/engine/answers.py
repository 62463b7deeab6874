"""Checking answers and proofs: an answer is compared without being shown, so a prediction stays one."""

import math
import numbers
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from attnlib.exercises.engine.attempts import is_blank
from attnlib.exercises.engine.model import MOST_RIVALS, AnswerExercise, ProofExercise
from attnlib.exercises.engine.results import Result, result
from attnlib.exercises.engine.tables import number

IN_PER_CENT = "in per cent"
INFINITE = ("infinity", "infinite", "infinitely many", "∞")  # "inf" is a number as it is
CLOSE = 0.02  # of the answer: so near is called close, where it is not near enough
NEAR = 0.05  # of a mistake's largest number: so near must an answer be to it, however wide the reach of the right one


def grade_answer(exercise: AnswerExercise, answer: Any) -> Result:
    """Compare a number, an array of numbers or a choice with the answer."""
    if is_blank(answer):
        return result(exercise.id, "not attempted", asked(exercise))
    if exercise.value is None:
        more = f'There is no single answer here; `solution("{exercise.id}")` shows what others found.'
        return result(exercise.id, "passed", "Noted. " + more)
    if objection := not_comparable(exercise, answer):
        return result(exercise.id, "wrong", objection)
    if agrees(exercise, answer, exercise.value):
        more = f'`solution("{exercise.id}")` explains why.' if exercise.commentary else ""
        return result(exercise.id, "passed", f"{shown(answer)} is right. {more}".strip())
    fits = [
        mistake
        for mistake in exercise.mistakes
        if any(
            agrees(exercise, answer, form) and (exercise.choices or is_near(answer, form))
            for form in mistake.forms
        )
    ]
    stuck = f'Stuck? `hint("{exercise.id}")`'
    if 1 < len(fits) <= MOST_RIVALS:
        names = " or ".join(f"**{mistake.name}**" for mistake in fits)
        known = f"Your answer is {shown(answer)}. Either of these gives that: {names}."
        texts = [f"{i}. {mistake.sentence}" for i, mistake in enumerate(fits, 1)]
        return result(exercise.id, "wrong", known, *texts, stuck, named=[mistake.name for mistake in fits])
    if len(fits) == 1:
        known = f"Your answer is {shown(answer)}. That is what this gives: **{fits[0].name}**."
        return result(exercise.id, "wrong", known, fits[0].sentence, stuck, named=[fits[0].name])
    if is_in_per_cent(exercise, answer):
        known = f"Your answer is {shown(answer)}. That is the right number, {IN_PER_CENT}; the number itself is wanted."
        return result(exercise.id, "wrong", known, stuck, named=[IN_PER_CENT])
    return result(exercise.id, "wrong", where_wrong(exercise, answer), stuck)


def asked(exercise: AnswerExercise) -> str:
    """What the answer should look like."""
    if exercise.choices:
        wanted = "one of " + ", ".join(f'"{choice}"' for choice in exercise.choices)
    elif exercise.value is None:
        wanted = "what you found, in your own words"
    elif np.ndim(exercise.value):
        wanted = f"an array of shape {np.shape(exercise.value)}"
    else:
        wanted = "a number"
    return f'Put your answer in place of the `...`: {wanted}. `hint("{exercise.id}")` helps.'


def not_comparable(exercise: AnswerExercise, answer: Any) -> str | None:
    """Why this answer cannot be compared with the right one, None if it can."""
    if callable(answer):
        return f"`check` wants your answer, not a function. {asked(exercise)}"
    if exercise.choices:
        return (
            None
            if tidy(answer) in map(tidy, exercise.choices)
            else f"Your answer is {shown(answer)}. {asked(exercise)}"
        )
    array = as_numbers(answer)
    if array is None:
        return f"Your answer is {shown(answer)}, which is no number. {asked(exercise)}"
    if array.shape != np.shape(exercise.value):
        kind = f"an array of shape {array.shape}" if array.ndim else "one number"
        return f"You gave {kind}. {asked(exercise)}"
    return None


def agrees(exercise: AnswerExercise, answer: Any, value: Any) -> bool:
    """Whether an answer is this value: the same choice, or a number within reach."""
    if exercise.choices:
        return tidy(answer) == tidy(value)
    yours, wanted = as_numbers(answer), as_numbers(value)
    if yours is None or wanted is None or yours.shape != wanted.shape:
        return False
    return bool(np.allclose(yours, wanted, rtol=0, atol=exercise.within))


def is_near(answer: Any, form: Any) -> bool:
    """Whether a number is a mistake's own in its own size: what is within reach of a large answer may be far from 0.2.

    >>> is_near(0.21, 0.2108), is_near(1.0, 0.2108), is_near(0.0, 0.0), is_near("left", "left")
    (True, False, True, True)
    """
    yours, wanted = as_numbers(answer), as_numbers(form)
    if yours is None or wanted is None or not wanted.any():
        return True
    return bool((abs(yours - wanted) <= NEAR * abs(wanted).max()).all())


def is_in_per_cent(exercise: AnswerExercise, answer: Any) -> bool:
    """Whether the answer is a share, and this is it a hundred times as large."""
    yours, share = as_numbers(answer), as_numbers(exercise.value)
    if exercise.choices or yours is None or share is None or yours.ndim or share.ndim or not 0 < share < 1:
        return False
    return bool(abs(yours / 100 - share) <= exercise.within)


def is_close(exercise: AnswerExercise, answer: Any) -> bool:
    """Whether a number is nearly right."""
    if exercise.choices or np.ndim(exercise.value):
        return False
    yours, wanted = as_numbers(answer), as_numbers(exercise.value)
    return bool(yours is not None and wanted is not None and abs(yours - wanted) <= CLOSE * abs(wanted))


def where_wrong(exercise: AnswerExercise, answer: Any) -> str:
    """The index of the first wrong number of an array; the right number is not shown."""
    if exercise.choices or not np.ndim(exercise.value):
        if is_close(exercise, answer) and exercise.whole:
            return f"Close: {shown(answer)} is near, and the answer is a whole number."
        if is_close(exercise, answer):
            return f"Close: {shown(answer)} is near, and it should be right to {exercise.within:,g}."
        return f"Your answer is {shown(answer)}. That is not right."
    yours, wanted = as_numbers(answer), as_numbers(exercise.value)
    assert yours is not None and wanted is not None
    wrong = ~np.isclose(yours, wanted, rtol=0, atol=exercise.within)
    where = tuple(int(i) for i in np.argwhere(wrong)[0])
    place = f"[{', '.join(map(str, where))}]"
    return f"{wrong.sum()} of {wrong.size} numbers are not right; the first is your {number(yours[where])} at {place}."


def as_numbers(value: Any) -> np.ndarray | None:
    """Numbers as a float array, also from text such as "8" or "infinitely many"; None for anything else."""
    try:
        return np.asarray(math.inf if tidy(value) in INFINITE else value, dtype=float)
    except (TypeError, ValueError, OverflowError):  # no number, or one that no float can hold
        return None


def tidy(choice: Any) -> str:
    """A choice without the differences that do not matter."""
    return str(choice).strip().strip(".").lower()


def shown(answer: Any) -> str:
    """The answer as it is repeated; a fraction as the number that it is."""
    if isinstance(answer, Fraction | Decimal):
        answer = float(answer)
    return number(answer) if isinstance(answer, numbers.Real) else repr(answer)


def grade_proof(exercise: ProofExercise, marks: Any) -> Result:
    """Take the learner's own marks: one True or False for each line of the rubric."""
    lines = [f"{i}. {line}" for i, line in enumerate(exercise.rubric, 1)]
    count = len(lines)
    if is_blank(marks):
        advice = "Write your proof on paper. Then mark it, one True or False for each line:"
        return result(exercise.id, "not attempted", advice, *lines, f'`hint("{exercise.id}")` helps.')
    marks = list(marks) if isinstance(marks, list | tuple) else [marks]
    if len(marks) != count or not all(isinstance(mark, bool | np.bool_) for mark in marks):
        rule = f"`check` wants a list of {count} marks, each True or False, one for each line of the rubric:"
        return result(exercise.id, "wrong", rule, *lines)
    if all(marks):
        done = f'{count} of {count}, by your own marks. Compare with `solution("{exercise.id}")`.'
        return result(exercise.id, "passed", done)
    missing = [line for line, mark in zip(lines, marks, strict=True) if not mark]
    head = f"{count - len(missing)} of {count}. Still open in your proof:"
    return result(exercise.id, "wrong", head, *missing, f'Stuck? `hint("{exercise.id}")`')
