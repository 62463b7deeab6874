"""Checking a learner's function: run it, see whether it is right, name its mistake, and say so."""

import inspect
from collections.abc import Callable
from typing import Any

from attnlib.exercises.engine import child_process
from attnlib.exercises.engine.attempts import is_blank, is_untouched
from attnlib.exercises.engine.cases import cases_of
from attnlib.exercises.engine.evidence import Evidence, tried_in_this_process
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
        if is_blank(function) or is_untouched(function, exercise.stub_function, exercise.stub):
            return not_attempted(exercise)
    if objection := not_usable(exercise, function):
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
        return judged(exercise, function, evidence, cause_of(exercise, evidence))


def cause_of(exercise: CodeExercise, evidence: Evidence) -> Cause:
    """The mistake that explains a wrong answer; none where the answer is right, or differs from call to call."""
    right = cases_of(exercise).are_right(evidence.outcomes)
    if evidence.repeats and (not right or any(outcome.changed for outcome in evidence.outcomes)):
        return naming_of(exercise).explain(evidence.outcomes)
    return Cause()


def tried_here(
    exercise: CodeExercise, function: Any, seconds: float, memory: int | None
) -> tuple[Evidence, Ran]:
    """What the function did, seen in a child process where one can be had, in this process elsewhere."""
    if not child_process.available(exercise.needs):
        return tried_in_this_process(exercise, function, seconds)

    def job(step: Callable[[], None]) -> tuple[Evidence, Ran]:
        return tried_in_this_process(exercise, function, seconds, step=step)

    came = child_process.run_in_child(job, seconds, memory)
    if came.value is not None:
        return came.value
    evidence = Evidence(outcomes=list(cases_of(exercise).expected[: came.steps]))
    return evidence, Ran(stopped=came.ended, died=came.died)


def not_attempted(exercise: CodeExercise) -> Result:
    """What an untouched stub gets: always the same words, so that a notebook can store them."""
    what = {
        "fill": "Replace each `...` in the code with your own",
        "repair": "Find what is wrong with the code, repair it",
    }.get(exercise.kind, f"Write `{exercise.name}` in place of the `...`")
    advice = f'{what}, run that cell, then this one. `hint("{exercise.id}")` helps.'
    return result(exercise.id, "not attempted", advice)


def not_usable(exercise: CodeExercise, function: Any) -> str | None:
    """Why the answer cannot be called as the exercise calls it, None if it can."""
    if not callable(function):
        kind = type(function).__name__
        return f"`check` wants the function itself, `{exercise.name}`, not a result of it; got {kind}."
    arguments = cases_of(exercise).arguments[0]
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some built-in functions tell nothing about themselves
        return None
    try:
        signature.bind(*arguments)
    except TypeError:
        wanted = ", ".join(inspect.signature(exercise.solution).parameters)
        count = f"{len(arguments)} argument{'s' * (len(arguments) != 1)}"
        name = getattr(function, "__name__", "it")
        return f"Your function is called with {count}, `({wanted})`; yours is `{name}{signature}`."
    return None
