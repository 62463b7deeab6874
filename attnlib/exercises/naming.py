"""Which known mistake explains what the learner's function did: one, or two together, or nobody knows.

A name is given only where exactly one explanation fits on all cases, in every number, shape and type. Two mistakes
explain an answer only where one alone does not. An answer with no telling numbers (nothing but errors, or one constant
everywhere) is never named.
"""

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attnlib.exercises.model import CodeExercise, Mistake
from attnlib.exercises.outcomes import Outcome, observe, same


@dataclass(frozen=True, eq=False)
class Explanation:
    """One mistake, or two together, and what a function that makes them does on all cases."""

    mistakes: tuple[Mistake, ...]
    outcomes: tuple[Outcome, ...]

    @property
    def names(self) -> frozenset[str]:
        return frozenset(mistake.name for mistake in self.mistakes)


@functools.cache
def cases(exercise: CodeExercise) -> dict[str, tuple]:
    """The cases, always the same ones."""
    return dict(exercise.cases(np.random.default_rng(exercise.seed)))


@functools.cache
def expected(exercise: CodeExercise) -> tuple[Outcome, ...]:
    return tuple(observe(exercise.solution, arguments) for arguments in cases(exercise).values())


@functools.cache
def tolerances(exercise: CodeExercise) -> tuple[tuple[float, float], ...]:
    """rtol and atol for each case: what goes in as float32 comes out no more exact than that."""
    return tuple(
        (max(exercise.rtol, 1e-4), max(exercise.atol, 1e-5))
        if any(str(getattr(one, "dtype", "")).endswith("float32") for one in arguments)
        else (exercise.rtol, exercise.atol)
        for arguments in cases(exercise).values()
    )


@functools.cache
def explanations(exercise: CodeExercise) -> tuple[Explanation, ...]:
    """All single mistakes and all pairs that can be told from a right answer."""
    found = []
    for count in (1, 2):
        for mistakes in itertools.combinations(exercise.mistakes, count):
            for forms in itertools.product(*(mistake.forms for mistake in mistakes)):
                function = exercise.with_mistakes(*forms)
                if function is None:
                    continue
                outcomes = tuple(observe(function, arguments) for arguments in cases(exercise).values())
                if telling(exercise, outcomes):
                    found.append(Explanation(mistakes, outcomes))
    return tuple(found)


def explain(exercise: CodeExercise, outcomes: Sequence[Outcome]) -> tuple[Mistake, ...]:
    """The mistakes behind these outcomes, if exactly one explanation fits; otherwise none."""
    fits = [one for one in explanations(exercise) if agree(exercise, one.outcomes, outcomes)]
    changed = [outcome.changed for outcome in outcomes]
    exact = [one for one in fits if [outcome.changed for outcome in one.outcomes] == changed]
    harmless = [one for one in fits if not any(outcome.changed for outcome in one.outcomes)]
    fits = exact or harmless
    smallest = {one.names: one for one in fits if not any(other.names < one.names for other in fits)}
    return next(iter(smallest.values())).mistakes if len(smallest) == 1 else ()


def agree(exercise: CodeExercise, ours: Sequence[Outcome], theirs: Sequence[Outcome]) -> bool:
    triples = zip(ours, theirs, tolerances(exercise), strict=True)
    return all(same(one, other, *tolerance) for one, other, tolerance in triples)


def telling(exercise: CodeExercise, outcomes: Sequence[Outcome]) -> bool:
    """Whether these outcomes are wrong in a way that could hardly come about by chance."""
    numbers: set[str] = set()
    for got, want, tolerance in zip(outcomes, expected(exercise), tolerances(exercise), strict=True):
        if got.changed and not want.changed:
            return True
        if got.kind == "error" or same(got, want, *tolerance):
            continue
        for array in (array for array in got.arrays if array.size):
            numbers.update(str(x) for x in np.unique(array.astype(float).round(12))[[0, -1]])
    return len(numbers) > 1
