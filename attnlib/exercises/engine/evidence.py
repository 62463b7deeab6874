"""What a function did: on each case, once more on the first, and for each law."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from attnlib.exercises.engine import child_process
from attnlib.exercises.engine.cases import cases_of
from attnlib.exercises.engine.model import CodeExercise
from attnlib.exercises.engine.outcomes import Outcome, adapted, observe, same
from attnlib.exercises.engine.running import Prints, Ran, run


@dataclass
class Evidence:
    """What a function did on each case, whether it repeats itself, and which laws it breaks."""

    outcomes: list[Outcome] = field(default_factory=list)
    prints: list[str] = field(default_factory=list)  # what was printed on each case
    repeats: bool = True
    broken: list[str] = field(default_factory=list)


def tried_in_this_process(
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
    if not child_process.available(exercise.needs):
        return tried_in_this_process(exercise, function, seconds)

    def job(step: Callable[[], None]) -> tuple[Evidence, Ran]:
        return tried_in_this_process(exercise, function, seconds, step=step)

    came = child_process.run_in_child(job, seconds, memory)
    if came.value is not None:
        return came.value
    evidence = Evidence(outcomes=list(cases_of(exercise).expected[: came.steps]))
    return evidence, Ran(stopped=came.ended, died=came.died)


def gather(
    exercise: CodeExercise,
    function: Callable[..., Any],
    evidence: Evidence,
    prints: Prints,
    step: Callable[[], None],
) -> None:
    """Fill in the evidence, and call `step` after each case; it is read even where the time runs out half way."""
    cases = cases_of(exercise)
    for arguments, want in zip(cases.arguments, cases.expected, strict=True):
        evidence.outcomes.append(adapted(observe(function, arguments), want))
        evidence.prints.append(prints.taken())
        step()
    again = adapted(observe(function, cases.arguments[0]), cases.expected[0])
    evidence.repeats = same(evidence.outcomes[0], again, *cases.tolerances[0])
    evidence.broken = broken_laws(exercise, function, evidence.outcomes)


def broken_laws(
    exercise: CodeExercise,
    function: Callable[..., Any],
    outcomes: list[Outcome],
    observe: Callable[..., Outcome] = observe,
) -> list[str]:
    """What the laws say, each on the first case where it is broken; cases without a usable result are left out."""
    cases = cases_of(exercise)
    triples = zip(cases.labelled.items(), outcomes, cases.expected, strict=True)
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
            except (ValueError, IndexError, TypeError):  # a result of another shape: the cases tell it better
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
