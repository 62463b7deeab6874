"""From what was seen of a function to what its writer reads: show the smallest failing case, then name or point."""

import copy
import inspect
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from attnlib.exercises.engine import derived_cases
from attnlib.exercises.engine.attempts import has_blank_left
from attnlib.exercises.engine.cases import cases_of
from attnlib.exercises.engine.comparing import (
    CHANGED,
    DTYPE,
    ERROR,
    NONFINITE,
    SHAPE,
    VALUE,
    Trouble,
    trouble,
)
from attnlib.exercises.engine.evidence import Evidence
from attnlib.exercises.engine.model import CodeExercise
from attnlib.exercises.engine.naming import Cause
from attnlib.exercises.engine.results import Code, Part, Result, result
from attnlib.exercises.engine.running import Ran

IN_PLACE = "input changed in place"
OUT_OF_RANGE = "out of the range of floats"
EMPTY_ROWS = "nan where a mask leaves nothing"
NOTHING_IS_LEFT = (
    "the mask hides everything from these rows, and elsewhere your numbers are right. The largest of no scores is "
    "minus infinity: -inf - (-inf) is nan, and so is 0 / 0."
)
LEFT_THE_FLOATS = (
    "on the other cases your numbers are right. Here an exponential overflowed, or something became zero and was then "
    "divided by or put into a logarithm, or your code put an infinity there itself."
)
NEAR = (
    "All your numbers are near the right ones and not equal to them. A difference quotient does that, a small number "
    "added somewhere, rounding, or numbers of few digits."
)
LEADING = "only without leading axes"
FROM_THE_RIGHT = (
    "your function is right where the arrays have no further axes in front, and fails where they have. Count axes from "
    "the right, as in `axis=-1`, `x.shape[-2]` or `x[..., :, None, :]`."
)
MOST_PRINTED = 10  # lines
MOST_SHOWN = 8  # numbers or words of an argument that stand in the name of a case


@dataclass(frozen=True)
class Failure:
    """The trouble on one case."""

    trouble: Trouble
    label: str
    arguments: tuple[Any, ...]
    printed: str
    trap: bool = False  # made by rule: cases of the exercise are shown first

    @property
    def order(self) -> tuple[int, bool, int, int]:
        """What is reported first: what has no numbers, then cases of the exercise, then the one with the fewest."""
        return (
            min(self.trouble.stage, NONFINITE),
            self.trap,
            self.trouble.stage,
            sum(math.prod(getattr(one, "shape", ())) for one in self.arguments),
        )


def judged(exercise: CodeExercise, function: Any, evidence: Evidence, cause: Cause) -> Result:
    """The result: passed, or the first failing case and what is known about it."""
    failures = sorted(failures_of(exercise, evidence), key=lambda one: one.order)
    if not failures and evidence.repeats and not evidence.broken:
        return passed(exercise, evidence)
    if not failures:
        return result(exercise.id, "wrong", *remarks(exercise, function, evidence, cause, failures))
    empty_rows = all(only_empty_rows(failure) for failure in failures)
    if empty_rows and not set(cause.mistakes) & set(exercise.mistakes):
        cause = Cause()  # the fact says more than a generated name
    first = failures[0]
    stage, figure = first.trouble.stage, first.trouble.figure
    parts = [
        *shown(exercise, first),
        *remarks(exercise, function, evidence, cause, failures),
        *printed(first.printed),
    ]
    named = [mistake.name for mistake in cause.mistakes] or [IN_PLACE] * (stage == CHANGED)
    right = len(evidence.outcomes) - len(failures)
    if not named and empty_rows:
        named = [EMPTY_ROWS]
        parts.insert(-1, f"**{EMPTY_ROWS}**: {NOTHING_IS_LEFT}")
    if not named and right and all(failure.trouble.stage == NONFINITE for failure in failures):
        named = [OUT_OF_RANGE]
        parts.insert(-1, f"**{OUT_OF_RANGE}**: {LEFT_THE_FLOATS}")
    elif not named and fails_with_more_axes(exercise, failures):
        named = [LEADING]
        parts.insert(-1, f"**{LEADING}**: {FROM_THE_RIGHT}")
    status = "error" if stage == ERROR else "wrong"
    case = copy.deepcopy(first.arguments)
    return result(exercise.id, status, *parts, named=named, figure=figure, case=case)


def only_empty_rows(failure: Failure) -> bool:
    """Whether numbers are lost in exactly the rows from which a mask among the arguments hides everything."""
    figure = failure.trouble.figure
    if failure.trouble.stage != NONFINITE or figure is None or not figure.differs.ndim:
        return False
    lost, left = np.asarray(figure.differs.any(axis=-1)), ~figure.differs
    if not np.allclose(figure.yours[left], figure.expected[left], equal_nan=True):
        return False
    masks = (np.asarray(one) for one in failure.arguments if str(getattr(one, "dtype", "")).endswith("bool"))
    return any(empty_rows_are(mask, lost) for mask in masks if mask.ndim)


def empty_rows_are(mask: np.ndarray, lost: np.ndarray) -> bool:
    empty = ~mask.any(axis=-1)
    try:
        return bool((np.broadcast_to(empty, lost.shape) == lost).all())
    except ValueError:  # of another shape
        return False


def fails_with_more_axes(exercise: CodeExercise, failures: list[Failure]) -> bool:
    """Whether it fails just where arguments have more axes than in other cases: by an error, or by a wrong shape."""
    axes = {label: axes_of(arguments) for label, arguments in cases_of(exercise).labelled.items()}
    fewest = tuple(map(min, zip(*axes.values(), strict=True)))
    arrays = [
        i for i, count in enumerate(fewest) if count
    ]  # what is no array in some case has no axes to count
    more = {label for label, one in axes.items() if any(one[i] > fewest[i] for i in arrays)}
    stages = {failure.trouble.stage for failure in failures}
    fails = stages <= {ERROR, SHAPE, VALUE} and stages != {VALUE}
    return fails and bool(more) and more == {failure.label for failure in failures}


def axes_of(arguments: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(len(getattr(one, "shape", ())) for one in arguments)


def failures_of(exercise: CodeExercise, evidence: Evidence) -> list[Failure]:
    """The cases that have a trouble."""
    cases = cases_of(exercise)
    rows = zip(
        cases.labelled.items(),
        evidence.outcomes,
        cases.expected,
        cases.tolerances,
        evidence.prints,
        strict=True,
    )
    found = []
    for (label, arguments), got, want, tolerance, text in rows:
        if one := trouble(got, want, exercise.returns, *tolerance):
            found.append(Failure(one, label, arguments, text, label.startswith(derived_cases.PREFIX)))
    return found


def passed(exercise: CodeExercise, evidence: Evidence) -> Result:
    laws = f" and {counted(len(exercise.properties), 'law')}" if exercise.properties else ""
    done = f"{counted(len(evidence.outcomes), 'case')}{laws} agree."
    more = f'`solution("{exercise.id}")` shows one way to write it.'
    return result(exercise.id, "passed", done, *noted(exercise, evidence), more, *printed(evidence.prints[0]))


def noted(exercise: CodeExercise, evidence: Evidence) -> list[Part]:
    """What is right, and yet worth a word: another type of number, a list for an array."""
    notes = dict.fromkeys(note for outcome in evidence.outcomes for note in outcome.notes)
    for got, want in zip(evidence.outcomes, cases_of(exercise).expected, strict=True):
        for a, b in zip(got.arrays, want.arrays, strict=True):
            if a.dtype != b.dtype and a.dtype.kind + b.dtype.kind in ("ff", "if", "uf", "fi", "fu"):
                notes[
                    f"A note: your result is {a.dtype} where {b.dtype} was expected. The numbers are right."
                ] = None
    parts: list[Part] = [*notes]
    return parts[:2]


def shown(exercise: CodeExercise, failure: Failure) -> list[Part]:
    """The smallest failing case, as it looks."""
    if failure.trouble.stage == CHANGED:
        return []
    head = f'On the case "{failure.label}" ({shapes(failure.arguments, parameters(exercise))}):'
    figure = failure.trouble.figure
    table = [figure] if figure else []
    return [head, *table, *failure.trouble.parts]


def shapes(arguments: tuple[Any, ...], names: list[str]) -> str:
    """The arguments of a case in short: name and shape, or the value where there is no shape or a few indices.

    >>> import numpy as np
    >>> shapes((np.zeros((2, 3)), 4), ["S", "k"])
    'S (2, 3), k = 4'
    >>> shapes((("state", "full"), [0, 4], np.array([2, 0, 1])), ["pattern", "special", "order"])
    "pattern = ('state', 'full'), special = [0, 4], order = [2, 0, 1]"
    """
    texts = []
    for i, argument in enumerate(arguments):
        name = names[i] if i < len(names) else f"argument {i + 1}"
        if is_short(argument):
            texts.append(f"{name} = {argument.tolist() if isinstance(argument, np.ndarray) else argument!r}")
        elif hasattr(argument, "shape"):
            kind = "" if str(argument.dtype).endswith(("float64", "bool", "int64")) else f" {argument.dtype}"
            texts.append(f"{name} {tuple(argument.shape)}{kind}")
        else:
            texts.append(name)
    return ", ".join(texts)


def is_short(argument: Any) -> bool:
    """Whether an argument is shown as it is: a number, a word, or a few whole numbers or words in a row."""
    if isinstance(argument, np.ndarray):
        return argument.ndim == 1 and argument.dtype.kind == "i" and argument.size <= MOST_SHOWN
    if isinstance(argument, list | tuple | set | frozenset):
        return len(argument) <= MOST_SHOWN and all(isinstance(one, int | str) for one in argument)
    return isinstance(argument, bool | int | float | str | None) and not hasattr(argument, "shape")


def remarks(
    exercise: CodeExercise, function: Any, evidence: Evidence, cause: Cause, failures: list[Failure]
) -> list[Part]:
    """What follows the numbers: facts, then the mistake's name, or else what may help to find it."""
    parts = facts(exercise, evidence, failures)
    if cause.mistakes:
        parts += explained(cause)
    else:
        parts += pointers(exercise, function, evidence, failures)
    return [*parts, f'Stuck? `hint("{exercise.id}")`']


def facts(exercise: CodeExercise, evidence: Evidence, failures: list[Failure]) -> list[Part]:
    """What was seen beside the numbers: values wrong as well, changed arguments, results that do not repeat."""
    parts: list[Part] = []
    stages = {failure.trouble.stage for failure in failures}
    if stages and min(stages) == DTYPE and VALUE in stages:
        parts.append("On other cases the values differ too.")
    changed = sorted({i for outcome in evidence.outcomes for i in outcome.changed})
    if changed:
        which = " and ".join(f"`{parameters(exercise)[i]}`" for i in changed)
        rest = (
            "no longer holds what it held before: it was"
            if len(changed) == 1
            else "no longer hold what they held before: they were"
        )
        parts.append(f"After the call {which} {rest} changed in place.")
    if not evidence.repeats:
        parts.append("Two calls with the same arguments gave two different results.")
    return parts


def explained(cause: Cause) -> list[Part]:
    """The name of the mistake and its sentence; for two at once, or one of several, all."""
    if len(cause.mistakes) == 1:
        head = f"Your numbers are exactly those of this mistake: **{cause.mistakes[0].name}**."
        return [head, cause.mistakes[0].sentence]
    names = (" or " if cause.either else " and ").join(f"**{mistake.name}**" for mistake in cause.mistakes)
    kind = (
        "either of these mistakes, which give the same numbers" if cause.either else "two mistakes together"
    )
    head = f"Your numbers are exactly those of {kind}: {names}."
    return [head, *(f"{i}. {mistake.sentence}" for i, mistake in enumerate(cause.mistakes, 1))]


def pointers(
    exercise: CodeExercise, function: Any, evidence: Evidence, failures: list[Failure]
) -> list[Part]:
    """Where no mistake is known: which cases are right, and which law is broken."""
    parts: list[Part] = []
    stage = failures[0].trouble.stage if failures else VALUE
    if stage == ERROR and has_blank_left(function):
        parts.append("A `...` of the stub is still in your code.")
    failed = {failure.label for failure in failures}
    right = [f'"{label}"' for label in cases_of(exercise).labelled if label not in failed]
    if right and failed:
        parts.append(f"Right already: {', '.join(right)}.")
    if failures and all(failure.trouble.near for failure in failures):
        parts.append(NEAR)
    return [*parts, *(evidence.broken[:2] if stage not in (ERROR, NONFINITE) else [])]


def stopped(exercise: CodeExercise, evidence: Evidence, ran: Ran, seconds: float) -> Result:
    """The result for a function that did not come to an end."""
    label = [*cases_of(exercise).labelled, "a law"][len(evidence.outcomes)]
    parts: list[Part] = [f'Your function was still running after {seconds:g} seconds, on the case "{label}".']
    if ran.where:
        parts += ["It was stopped at", Code(ran.where)]
    if not ran.ended:
        parts.append("It cannot be stopped from here and still runs in the background: restart the kernel.")
    parts.append("Does every loop come to an end?")
    return result(exercise.id, "stopped", *parts, *printed(ran.printed))


def printed(text: str) -> list[Part]:
    """The first lines that the learner's code printed on one case."""
    lines = text.splitlines()
    kept = "\n".join(lines[:MOST_PRINTED]) + "\n..." * (len(lines) > MOST_PRINTED)
    return ["Printed while checking:", Code(kept)] if lines else []


def parameters(exercise: CodeExercise) -> list[str]:
    return list(inspect.signature(exercise.solution).parameters)


def counted(count: int, thing: str) -> str:
    return f"{count} {thing}{'s' * (count != 1)}"
