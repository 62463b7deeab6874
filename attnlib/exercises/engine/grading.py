"""Checking a learner's function: run it, see whether it is right, name its mistake, and say so."""

from collections.abc import Callable
from typing import Any

from attnlib.exercises.engine.attempts import is_blank, is_untouched, not_usable
from attnlib.exercises.engine.cases import cases_of
from attnlib.exercises.engine.evidence import Evidence, tried_here
from attnlib.exercises.engine.model import CodeExercise
from attnlib.exercises.engine.naming import Cause, naming_of
from attnlib.exercises.engine.results import Result, result
from attnlib.exercises.engine.running import Ran
from attnlib.exercises.engine.session_state import pristine
from attnlib.exercises.engine.verdict import judged, stopped


def grade(
    exercise: CodeExercise,
    function: Any,
    seconds: float,
    memory: int | None = None,
    tried: Callable[..., tuple[Evidence, Ran]] | None = None,
) -> Result:
    """Check a learner's function: it cannot change the session, and the session cannot change what is expected of it.

    `tried` runs the function and says what it did, by default `tried_here`; the files of a class run elsewhere.
    """
    with pristine():
        cases_of(exercise)  # computed before the clock starts
        stub = exercise.stub_function
        if is_blank(function) or is_untouched(function, stub, exercise.stub):
            return not_attempted(exercise)
    if objection := not_usable(function, exercise.solution, cases_of(exercise).arguments[0]):
        return result(exercise.id, "wrong", objection)
    evidence, ran = (tried or tried_here)(exercise, function, seconds, memory)
    if ran.stopped:
        return stopped(exercise, evidence, ran, seconds)
    if ran.died:
        return result(
            exercise.id, "error", "Your function ended Python itself. A function should only return."
        )
    if all(outcome.error and outcome.error.kind == "NotImplementedError" for outcome in evidence.outcomes):
        return not_attempted(exercise)
    with pristine():
        seen = cases_of(exercise).compared(evidence.outcomes)
        # What differs from call to call has no name.
        cause = naming_of(exercise).explain(seen) if evidence.repeats else Cause()
        return judged(exercise, function, evidence, cause)


def not_attempted(exercise: CodeExercise) -> Result:
    """What an untouched stub gets: always the same words, so that a notebook can store them."""
    what = {
        "fill": "Replace each `...` in the code with your own",
        "repair": "Find what is wrong with the code, repair it",
    }.get(exercise.kind, f"Write `{exercise.name}` in place of the `...`")
    advice = f'{what}, run that cell, then this one. `hint("{exercise.id}")` helps.'
    return result(exercise.id, "not attempted", advice)
