"""Which mistake explains what the learner's function did: a known one, two of them together, or a generated one.

A name is given only where an explanation fits on all cases, in every number and shape. Known mistakes come first: one,
or two together where one alone does not fit. Where only generated ones fit (`mutations`, `as_if`) and differ, all are
said, or none if there are many. An answer with no telling numbers (nothing but errors, or one constant everywhere) is
never named.
"""

import functools
import inspect
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from attnlib.exercises.engine import as_if, traps
from attnlib.exercises.engine.edits import source_of, with_mistakes
from attnlib.exercises.engine.model import CodeExercise, Mistake
from attnlib.exercises.engine.mutations import mutants
from attnlib.exercises.engine.outcomes import Outcome, close, observe, same
from attnlib.exercises.engine.rules import OFF_BY_ONE

WEAK = (OFF_BY_ONE, "the 2 is another number", "the 1 is another number")  # said where nothing says more
MOST_RIVALS = 3  # more causes than these for the same numbers, and none is said
LOOKED_AT = 16  # numbers of an array that are compared for many explanations at once


@dataclass(eq=False)
class Explanation:
    """One mistake, or two together, and what a function that makes them does; each case is run when it is asked for."""

    mistakes: tuple[Mistake, ...]
    function: Callable[..., Any]
    seen: dict[int, Outcome] = field(default_factory=dict)

    @property
    def names(self) -> frozenset[str]:
        return frozenset(mistake.name for mistake in self.mistakes)

    def outcome(self, exercise: CodeExercise, i: int) -> Outcome:
        if i not in self.seen:
            with np.errstate(all="ignore"):  # what is kept must not depend on who asked first
                self.seen[i] = observe(self.function, arguments_of(exercise)[i])
        return self.seen[i]

    def outcomes(self, exercise: CodeExercise) -> tuple[Outcome, ...]:
        return tuple(self.outcome(exercise, i) for i in range(len(arguments_of(exercise))))


Tier = Callable[[CodeExercise], tuple[Explanation, ...]]  # `known`, `generated` or `of_results`


@dataclass(frozen=True, eq=False)
class Cause:
    """What explains an answer: these mistakes together, or each of them alone (`either`)."""

    mistakes: tuple[Mistake, ...] = ()
    either: bool = False


@functools.cache
def cases(exercise: CodeExercise) -> dict[str, tuple]:
    """The cases, always the same ones: those of the exercise, and the traps made from them."""
    own = dict(exercise.cases(np.random.default_rng(exercise.seed)))
    return own | traps.made(exercise, own)


@functools.cache
def arguments_of(exercise: CodeExercise) -> tuple[tuple, ...]:
    return tuple(cases(exercise).values())


@functools.cache
def expected(exercise: CodeExercise) -> tuple[Outcome, ...]:
    return tuple(observe(exercise.solution, arguments) for arguments in arguments_of(exercise))


@functools.cache
def tolerances(exercise: CodeExercise) -> tuple[tuple[float, float], ...]:
    """rtol and atol for each case."""
    return tuple(traps.tolerance(exercise, arguments) for arguments in arguments_of(exercise))


@functools.cache
def known(exercise: CodeExercise) -> tuple[Explanation, ...]:
    """All single mistakes of the exercise and all pairs that can be told from a right answer."""
    found = []
    for count in (1, 2):
        for mistakes in itertools.combinations(exercise.mistakes, count):
            for forms in itertools.product(*(mistake.forms for mistake in mistakes)):
                function = exercise.with_mistakes(*forms)
                if function is not None:
                    found.append(Explanation(mistakes, function))
    return tuple(found)


@functools.cache
def generated(exercise: CodeExercise) -> tuple[Explanation, ...]:
    """What the rules make of the solution and of the other right answers."""
    names = list(inspect.signature(exercise.solution).parameters)
    right = exercise.compile(
        exercise.model_answer, "right"
    )  # its loops are counted: an argument can make one endless
    made: list[tuple[str, str, Callable[..., Any]]] = [*as_if.arguments_changed(right, names)]
    for source in dict.fromkeys(right_sources(exercise)):
        for change, function in mutants(source, exercise.task, exercise.solution):
            made.append((change.name, change.sentence, function))
    return tuple(Explanation((Mistake(name, sentence, f),), f) for name, sentence, f in made)


@functools.cache
def of_results(exercise: CodeExercise) -> tuple[Explanation, ...]:
    """The solution with something done to its result."""
    names = list(inspect.signature(exercise.solution).parameters)
    made = as_if.results_changed(
        exercise.solution, names, exercise.returns, len(expected(exercise)[0].arrays)
    )
    return tuple(Explanation((Mistake(name, sentence, f),), f) for name, sentence, f in made)


def right_sources(exercise: CodeExercise) -> Iterator[str]:
    """The source of the solution, and of each other right answer that has one."""
    yield exercise.model_answer
    for variant in exercise.variants:
        if not callable(variant):
            yield with_mistakes(exercise.solution, [variant]) or ""
        elif variant.__name__ != "<lambda>":
            yield source_of(variant)


def explain(exercise: CodeExercise, outcomes: Sequence[Outcome], rules: bool = True) -> Cause:
    """The mistakes behind these outcomes, as far as they can be told; without `rules`, known ones alone."""
    order = most_telling_first(exercise, outcomes)
    fits = fitting(exercise, known, outcomes, order)
    fits = [one for one in fits if telling(exercise, one.outcomes(exercise))]
    strict = [one for one in fits if agree(exercise, one.outcomes(exercise), outcomes)]
    alone = [one for one in fits if len(one.mistakes) == 1]
    fits = strict or (alone if telling(exercise, outcomes) else [])
    if rules and (not fits or all(len(one.mistakes) == 2 for one in fits)):
        unchanged = not any(outcome.changed for outcome in outcomes)
        if (
            unchanged
            and telling(exercise, outcomes, finite=True)
            and (rivals := rules_that_fit(exercise, outcomes, order))
        ):
            return Cause(rivals, either=len(rivals) > 1) if len(rivals) <= MOST_RIVALS else Cause()
    return Cause(smallest(exercise, fits, outcomes))


def rules_that_fit(
    exercise: CodeExercise, outcomes: Sequence[Outcome], order: list[int]
) -> tuple[Mistake, ...]:
    """The generated mistakes behind these outcomes: those of code and arguments, or else those of the result."""
    tiers = (generated, of_results)[only_types_differ(exercise, outcomes) :]
    for tier in tiers:
        fits = fitting(exercise, tier, outcomes, order)
        fits = [one for one in fits if agree(exercise, one.outcomes(exercise), outcomes)] or fits
        found = {one.mistakes[0].name: one.mistakes[0] for one in reversed(fits)}
        strong = [mistake for name, mistake in found.items() if name not in WEAK]
        if found:
            return tuple(reversed(strong or [*found.values()]))
    return ()


def only_types_differ(exercise: CodeExercise, outcomes: Sequence[Outcome]) -> bool:
    """Whether the numbers are right, and just of another type: ones and zeros for True and False."""
    rows = zip(outcomes, expected(exercise), strict=True)
    pairs = [pair for got, want in rows for pair in zip(got.arrays, want.arrays, strict=False)]
    return len(pairs) > 0 and all(np.array_equal(a.astype(float), b.astype(float)) for a, b in pairs)


def smallest(
    exercise: CodeExercise, fits: list[Explanation], outcomes: Sequence[Outcome]
) -> tuple[Mistake, ...]:
    """Of known explanations that fit, the one that no other explains with less; none if two remain."""
    changed = [outcome.changed for outcome in outcomes]
    exact = [one for one in fits if [outcome.changed for outcome in one.outcomes(exercise)] == changed]
    harmless = [one for one in fits if not any(outcome.changed for outcome in one.outcomes(exercise))]
    fits = exact or harmless
    left = {one.names: one for one in fits if not any(other.names < one.names for other in fits)}
    return next(iter(left.values())).mistakes if len(left) == 1 else ()


def most_telling_first(exercise: CodeExercise, outcomes: Sequence[Outcome]) -> list[int]:
    """The cases, wrong ones with numbers first: most explanations are out after one."""
    rows = zip(outcomes, expected(exercise), tolerances(exercise), strict=True)
    wrong = [got.kind != "error" and not same(got, want, *tolerance) for got, want, tolerance in rows]
    return sorted(range(len(wrong)), key=lambda i: not wrong[i])


def fitting(
    exercise: CodeExercise, tier: Tier, theirs: Sequence[Outcome], order: list[int]
) -> list[Explanation]:
    """The explanations that fit wherever the answer gave a result; an error of the answer says nothing."""
    limits = tolerances(exercise)
    ran = [i for i in order if theirs[i].kind != "error"]
    near = nearby(exercise, tier, ran[0], theirs[ran[0]]) if ran else tier(exercise)
    return [one for one in near if all(same(one.outcome(exercise, i), theirs[i], *limits[i]) for i in ran)]


def nearby(exercise: CodeExercise, tier: Tier, i: int, theirs: Outcome) -> list[Explanation]:
    """The explanations that agree with an outcome of case `i` in form and in some of its numbers, in their order.

    All that are the `same` are among them: what is compared here is part of what `same` compares.
    """
    limits, looks = tolerances(exercise)[i], [look(array) for array in theirs.arrays]
    found: list[int] = []
    for group in alike(exercise, tier, i).get(form(theirs), {}).values():
        agree = np.ones(len(group.places), dtype=bool)
        for ours, want in zip(group.looks, looks, strict=True):
            agree &= close(ours, want, *limits).all(axis=1)
        found += group.places[agree].tolist()
    explanations = tier(exercise)
    return [explanations[place] for place in sorted(found)]


@dataclass(frozen=True, eq=False)
class Group:
    """Outcomes of one form and type: their places among the explanations, and one row of numbers for each."""

    places: np.ndarray
    looks: tuple[np.ndarray, ...]


@functools.cache
def alike(exercise: CodeExercise, tier: Tier, i: int) -> dict[Any, dict[Any, Group]]:
    """What explanations do on case `i`, by form and then by types of numbers."""
    places: dict[Any, dict[Any, list[int]]] = {}
    outcomes = [one.outcome(exercise, i) for one in tier(exercise)]
    for place, outcome in enumerate(outcomes):
        types = tuple(array.dtype for array in outcome.arrays)
        places.setdefault(form(outcome), {}).setdefault(types, []).append(place)

    def group(some: list[int]) -> Group:
        rows = zip(*([look(array) for array in outcomes[place].arrays] for place in some), strict=True)
        return Group(np.array(some), tuple(np.array(row) for row in rows))

    return {key: {types: group(some) for types, some in kinds.items()} for key, kinds in places.items()}


def form(outcome: Outcome) -> Any:
    return outcome.kind, tuple(array.shape for array in outcome.arrays)


def look(array: np.ndarray) -> np.ndarray:
    """A few numbers from all over an array."""
    return array.ravel()[:: max(1, array.size // LOOKED_AT)]


def agree(exercise: CodeExercise, ours: Sequence[Outcome], theirs: Sequence[Outcome]) -> bool:
    triples = zip(ours, theirs, tolerances(exercise), strict=True)
    return all(same(one, other, *tolerance) for one, other, tolerance in triples)


def telling(exercise: CodeExercise, outcomes: Sequence[Outcome], finite: bool = False) -> bool:
    """Whether these outcomes are wrong in a way that is hardly chance; `finite`: nan and inf tell nothing."""
    numbers: set[str] = set()
    for got, want, tolerance in zip(outcomes, expected(exercise), tolerances(exercise), strict=True):
        if got.changed and not want.changed:
            return True
        if got.kind == "error" or same(got, want, *tolerance):
            continue
        for array in (array for array in got.arrays if array.size):
            values = array.astype(float).ravel()
            values = values[np.isfinite(values)] if finite else values
            numbers.update(
                str(x) for x in (np.unique(values.round(12) + 0.0)[[0, -1]] if values.size else ())
            )
    return len(numbers) > 1
