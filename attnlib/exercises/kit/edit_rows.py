"""The wrong answers of an exercise as rows of the table of edits: known mistakes, and those that are made by rule.

A known mistake is noticed when it gets its name; one that is made by rule, when a case shows it.
"""

import contextlib
import inspect
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from attnlib.edit_table import Tried
from attnlib.editing import shown
from attnlib.exercises.engine.cases import cases_of
from attnlib.exercises.engine.generator.edited_code import edits_of, right_sources
from attnlib.exercises.engine.generator.rules import RULES
from attnlib.exercises.engine.interface import graded_in_this_process as graded
from attnlib.exercises.engine.model import CodeExercise, Mistake
from attnlib.exercises.engine.outcomes import observe, same

Known = Iterable[
    tuple[Mistake, int, Callable[..., Any]]
]  # the mistake, which of its forms, the function that makes it


def rows_of(exercise: CodeExercise, known: Known) -> Iterator[Tried]:
    """All rows of one exercise."""
    graded(exercise, exercise.solution)  # what is computed once belongs to no row
    for mistake, i, function in known:
        start = time.perf_counter()
        noticed = by_name(exercise, mistake, function)
        edit = written(exercise, mistake.forms[i - 1])
        yield Tried(where(exercise), *edit, noticed, round(time.perf_counter() - start, 4))
    for source in dict.fromkeys(right_sources(exercise)):
        own = source == exercise.model_answer
        for made in edits_of(source, exercise.task, exercise.solution, RULES):
            start = time.perf_counter()
            noticed = by_case(exercise, made.function)
            place, new = made.pairs[0]
            seconds = round(time.perf_counter() - start, 4)
            before, after = shown(place, new)
            if before != after:
                yield Tried(where(exercise, place.lineno if own else 1), before, after, noticed, seconds)


def by_name(exercise: CodeExercise, mistake: Mistake, function: Callable[..., Any]) -> str:
    """What a learner with this mistake reads; empty if the answer passes."""
    got = graded(exercise, function)
    if got.passed:
        return ""
    return f"its name: {mistake.name}" if got.named == (mistake.name,) else got.status


def by_case(exercise: CodeExercise, function: Callable[..., Any]) -> str:
    """The first case on which a function differs from the solution; empty if none shows it."""
    cases = cases_of(exercise)
    for (label, arguments), want, tolerance in zip(
        cases.labelled.items(), cases.expected, cases.tolerances, strict=True
    ):
        if not same(observe(function, arguments), want, *tolerance):
            return f"the case {label}"
    return ""


def written(exercise: CodeExercise, form: Any) -> tuple[str, str]:
    """A form of a mistake as before and after."""
    if callable(form):
        return exercise.name, f"a function of its own, {form.__name__}"
    return "; ".join(form), "; ".join(form.values())


def where(exercise: CodeExercise, line: int = 1) -> str:
    """The file of the solution and a line of it."""
    code = inspect.unwrap(exercise.solution).__code__
    file = Path(code.co_filename)
    with contextlib.suppress(ValueError):
        file = file.relative_to(Path.cwd())
    return f"{file.as_posix()}:{code.co_firstlineno + line - 1}"
