"""Running a learner's function through a code exercise: every case, once more the first, and every law."""

import inspect
from collections.abc import Callable
from typing import Any

from attnlib.exercises import naming
from attnlib.exercises.attempts import is_blank, is_untouched
from attnlib.exercises.comparing import last_line
from attnlib.exercises.model import CodeExercise
from attnlib.exercises.outcomes import Outcome, observe, same
from attnlib.exercises.results import Result, result
from attnlib.exercises.running import Prints, run
from attnlib.exercises.verdict import Evidence, judged, stopped


def grade(exercise: CodeExercise, function: Any, seconds: float) -> Result:
    """Check a learner's function; nothing that it does reaches the session."""
    if is_blank(function) or is_untouched(function, exercise.stub_function, exercise.stub):
        return not_attempted(exercise)
    if objection := not_usable(exercise, function):
        return result(exercise.id, "wrong", objection)
    naming.expected(exercise)  # computed before the clock starts
    evidence = Evidence()
    ran = run(lambda prints: gather(exercise, function, evidence, prints), seconds)
    if ran.stopped:
        return stopped(exercise, evidence, ran, seconds)
    if all(isinstance(outcome.error, NotImplementedError) for outcome in evidence.outcomes):
        return not_attempted(exercise)
    return judged(exercise, function, evidence)


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
    arguments = next(iter(naming.cases(exercise).values()))
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


def gather(exercise: CodeExercise, function: Callable[..., Any], evidence: Evidence, prints: Prints) -> None:
    """Fill in the evidence; it is read even where the time runs out half way."""
    for arguments in naming.cases(exercise).values():
        evidence.outcomes.append(observe(function, arguments))
        evidence.prints.append(prints.taken())
    again = observe(function, next(iter(naming.cases(exercise).values())))
    evidence.repeats = same(evidence.outcomes[0], again, *naming.tolerances(exercise)[0])
    right = naming.agree(exercise, evidence.outcomes, naming.expected(exercise))
    changed = any(outcome.changed for outcome in evidence.outcomes)
    if evidence.repeats and (changed or not right):
        evidence.mistakes = naming.explain(exercise, evidence.outcomes)
    evidence.broken = broken_laws(exercise, function, evidence.outcomes)


def broken_laws(exercise: CodeExercise, function: Callable[..., Any], outcomes: list[Outcome]) -> list[str]:
    """What the laws say, each on the first case where it is broken; cases without a usable result are left out."""
    triples = zip(naming.cases(exercise).items(), outcomes, naming.expected(exercise), strict=True)
    usable = [case for case, got, want in triples if alike(got, want)]
    found = []
    for law in exercise.properties:
        for label, arguments in usable:
            try:
                seen = law.test(lambda *some: value_of(observe(function, some)), *arguments)
            except LawUnknown as unknown:
                seen = str(unknown)
            except (
                ValueError,
                IndexError,
                TypeError,
            ):  # a result of another shape, which the cases tell better
                continue
            if seen:
                found.append(f'A law that it breaks: {law.name}. On the case "{label}", {seen}.')
                break
    return found


class LawUnknown(Exception):
    """A law could not be tested, because the function failed on the way."""


def alike(got: Outcome, want: Outcome) -> bool:
    return got.kind == want.kind and [a.shape for a in got.arrays] == [b.shape for b in want.arrays]


def value_of(outcome: Outcome) -> Any:
    """The arrays of an outcome as the function returned them."""
    if outcome.error is not None:
        raise LawUnknown(f"your function raised {last_line(outcome.error)}")
    if not outcome.arrays:
        raise LawUnknown(f"your function returned {outcome.kind}")
    return outcome.arrays if outcome.kind == "tuple" else outcome.arrays[0]
