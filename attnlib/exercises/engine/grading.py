"""Running a learner's function through a code exercise: every case, once more the first, and every law."""

import inspect
from collections.abc import Callable
from typing import Any

from attnlib.exercises.engine import apart, naming
from attnlib.exercises.engine.attempts import is_blank, is_untouched
from attnlib.exercises.engine.model import CodeExercise
from attnlib.exercises.engine.outcomes import Outcome, adapted, observe, same
from attnlib.exercises.engine.results import Result, result
from attnlib.exercises.engine.running import Prints, Ran, run
from attnlib.exercises.engine.verdict import Evidence, judged, stopped
from attnlib.exercises.engine.world import pristine


def grade(
    exercise: CodeExercise,
    function: Any,
    seconds: float,
    memory: int | None = None,
    tried: Callable[..., tuple[Evidence, Ran]] | None = None,
) -> Result:
    """Check a learner's function; neither reaches it the session, nor does the session reach the engine.

    `tried` says where the function runs, by default beside this process; a class is graded in one that is apart.
    """
    with pristine():
        naming.expected(exercise)  # computed before the clock starts
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
        right = naming.agree(exercise, evidence.outcomes, naming.expected(exercise))
        if evidence.repeats and (not right or any(outcome.changed for outcome in evidence.outcomes)):
            evidence.cause = naming.explain(exercise, evidence.outcomes)
        return judged(exercise, function, evidence)


def tried_beside(
    exercise: CodeExercise,
    function: Any,
    seconds: float,
    memory: int | None = None,
    step: Callable[[], None] = lambda: None,
) -> tuple[Evidence, Ran]:
    """What the function did in this process; `step` is called after each case."""
    evidence = Evidence()
    return evidence, run(lambda prints: gather(exercise, function, evidence, prints, step), seconds)


def tried_here(
    exercise: CodeExercise, function: Any, seconds: float, memory: int | None
) -> tuple[Evidence, Ran]:
    """What the function did, seen in a child process where one can be had, in this process elsewhere."""
    if not apart.possible(exercise.needs):
        return tried_beside(exercise, function, seconds)

    def job(step: Callable[[], None]) -> tuple[Evidence, Ran]:
        return tried_beside(exercise, function, seconds, step=step)

    came = apart.run_apart(job, seconds, memory)
    if came.value is not None:
        return came.value
    evidence = Evidence(outcomes=list(naming.expected(exercise)[: came.steps]))
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


def gather(
    exercise: CodeExercise,
    function: Callable[..., Any],
    evidence: Evidence,
    prints: Prints,
    step: Callable[[], None],
) -> None:
    """Fill in the evidence; it is read even where the time runs out half way."""
    for arguments, want in zip(naming.arguments_of(exercise), naming.expected(exercise), strict=True):
        evidence.outcomes.append(adapted(observe(function, arguments), want))
        evidence.prints.append(prints.taken())
        step()
    again = adapted(observe(function, naming.arguments_of(exercise)[0]), naming.expected(exercise)[0])
    evidence.repeats = same(evidence.outcomes[0], again, *naming.tolerances(exercise)[0])
    evidence.broken = broken_laws(exercise, function, evidence.outcomes)


def broken_laws(
    exercise: CodeExercise,
    function: Callable[..., Any],
    outcomes: list[Outcome],
    observe: Callable[..., Outcome] = observe,
) -> list[str]:
    """What the laws say, each on the first case where it is broken; cases without a usable result are left out."""
    triples = zip(naming.cases(exercise).items(), outcomes, naming.expected(exercise), strict=True)
    usable = [(*case, want) for case, got, want in triples if alike(got, want) and not is_float32(case[1])]
    found = []
    for law in exercise.properties:
        for label, arguments, want in usable:

            def answer(*some: Any, want: Outcome = want) -> Any:
                return value_of(adapted(observe(function, some), want))  # a list of numbers is an array, too

            try:
                seen = law.test(answer, *arguments)
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


def is_float32(arguments: tuple[Any, ...]) -> bool:
    """A law is tested to more digits than float32 has."""
    return any(str(getattr(one, "dtype", "")).endswith("float32") for one in arguments)


class LawUnknown(Exception):
    """A law could not be tested, because the function failed on the way."""


def alike(got: Outcome, want: Outcome) -> bool:
    return got.kind == want.kind and [a.shape for a in got.arrays] == [b.shape for b in want.arrays]


def value_of(outcome: Outcome) -> Any:
    """The arrays of an outcome as the function returned them."""
    if outcome.error is not None:
        raise LawUnknown(f"your function raised {outcome.error.last}")
    if not outcome.arrays:
        raise LawUnknown(f"your function returned {outcome.kind}")
    return outcome.arrays if outcome.kind == "tuple" else outcome.arrays[0]
