"""Which mistake explains what the learner's function did: a written one, two of them together, or a generated one.

A name is given only where an explanation fits on all cases, in every number and shape. Mistakes written for the
exercise come first: one, or two together where one alone does not fit. Where only generated ones fit and differ, all
are named, or none if there are many. An answer with no telling numbers (nothing but errors, or one constant
everywhere) is never named.
"""

import functools
import inspect
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from attnlib.exercises.engine.cases import cases_of
from attnlib.exercises.engine.explanations import Explanation, Explanations
from attnlib.exercises.engine.generator import changed_arguments, changed_results, edited_code
from attnlib.exercises.engine.generator.generated import Generated
from attnlib.exercises.engine.generator.rules import FURTHER, RULES
from attnlib.exercises.engine.model import CodeExercise, Mistake
from attnlib.exercises.engine.outcomes import Outcome
from attnlib.exercises.engine.source_edits import source_of, with_mistakes

MOST_RIVALS = 3  # more causes than these for the same numbers, and none is named


@dataclass(frozen=True, eq=False)
class Cause:
    """What explains an answer: these mistakes together, or each of them alone (`either`)."""

    mistakes: tuple[Mistake, ...] = ()
    either: bool = False


class Naming:
    """What is known about the wrong answers of one exercise; each list is made when it is first looked at.

    `written` has the mistakes of the exercise's file, alone and in pairs; `generated` what the generator makes of the
    right answers' code and of their arguments; `of_results` what it makes of the right results; `further` what it makes
    of the code by edits that are less likely.
    """

    def __init__(self, exercise: CodeExercise) -> None:
        self.exercise, self.cases = exercise, cases_of(exercise)

    def __repr__(self) -> str:
        made = {name: len(one.listed) for name, one in vars(self).items() if isinstance(one, Explanations)}
        lists = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in made.items())
        return (
            f"Naming({self.exercise.id!r}: {len(self.cases.arguments)} cases; {lists or 'nothing made yet'})"
        )

    @functools.cached_property
    def written(self) -> Explanations:
        """All single mistakes of the exercise and all pairs that can be put into one function."""
        found = []
        for count in (1, 2):
            for mistakes in itertools.combinations(self.exercise.mistakes, count):
                for forms in itertools.product(*(mistake.forms for mistake in mistakes)):
                    function = self.exercise.with_mistakes(*forms)
                    if function is not None:
                        found.append(Explanation(mistakes, function, self.cases))
        return Explanations(self.cases, found)

    @functools.cached_property
    def generated(self) -> Explanations:
        """The right function of other arguments, and single edits of the solution and of the other right answers."""
        exercise = self.exercise
        names = list(inspect.signature(exercise.solution).parameters)
        right = exercise.compile(exercise.model_answer, "right")  # its loops are limited: see loop_limit
        made = list(changed_arguments.generated(right, names))
        for source in dict.fromkeys(right_sources(exercise)):
            made += edited_code.generated(source, exercise.task, exercise.solution, RULES)
        return self.explanations(made)

    @functools.cached_property
    def further(self) -> Explanations:
        """Edits of the right answers that change more, or say less: asked where nothing else fits."""
        exercise, made = self.exercise, []
        for source in dict.fromkeys(right_sources(exercise)):
            made += edited_code.generated(source, exercise.task, exercise.solution, FURTHER)
        return self.explanations(made)

    @functools.cached_property
    def of_results(self) -> Explanations:
        """The solution with something done to its result."""
        names = list(inspect.signature(self.exercise.solution).parameters)
        count = len(self.cases.expected[0].arrays)
        made = changed_results.generated(self.exercise.solution, names, self.exercise.returns, count)
        return self.explanations(made)

    def explanations(self, made: Iterable[Generated]) -> Explanations:
        listed = [
            Explanation((Mistake(one.name, one.sentence, one.function),), one.function, self.cases, one.weak)
            for one in made
        ]
        return Explanations(self.cases, listed)

    def explain(self, outcomes: Sequence[Outcome]) -> Cause:
        """The mistakes behind these outcomes, as far as they can be told."""
        fits = self.written_that_fit(outcomes)
        one_alone = any(len(one.mistakes) == 1 for one in fits)
        if not one_alone and self.may_be_generated(outcomes):
            rivals = self.generated_that_fit(outcomes, further=not fits)
            if rivals:
                return Cause(rivals, either=len(rivals) > 1) if len(rivals) <= MOST_RIVALS else Cause()
        return Cause(smallest(fits, outcomes))

    def explain_by_written(self, outcomes: Sequence[Outcome]) -> Cause:
        """The same by the mistakes of the exercise's file alone."""
        return Cause(smallest(self.written_that_fit(outcomes), outcomes))

    def written_that_fit(self, outcomes: Sequence[Outcome]) -> list[Explanation]:
        """Written explanations that fit on all cases, or else single ones that fit wherever the answer ran."""
        cases = self.cases
        fits = self.written.fitting(outcomes, cases.most_telling_first(outcomes))
        fits = [one for one in fits if cases.tell(one.outcomes)]
        everywhere = [one for one in fits if cases.agree(one.outcomes, outcomes)]
        if everywhere or not cases.tell(outcomes):
            return everywhere
        return [one for one in fits if len(one.mistakes) == 1]

    def may_be_generated(self, outcomes: Sequence[Outcome]) -> bool:
        """A generated mistake changes no argument, and is told by finite numbers."""
        return not any(outcome.changed for outcome in outcomes) and self.cases.tell(outcomes, finite=True)

    def generated_that_fit(self, outcomes: Sequence[Outcome], further: bool) -> tuple[Mistake, ...]:
        """The generated mistakes behind these outcomes, from the first list that has any; `further` is one of them."""
        order = self.cases.most_telling_first(outcomes)
        of_code = not self.cases.differ_in_type_only(outcomes)
        lists = ("generated", "of_results", *(["further"] if further else [])) if of_code else ("of_results",)
        for name in lists:
            fits = getattr(self, name).fitting(outcomes, order)
            fits = [one for one in fits if self.cases.agree(one.outcomes, outcomes)] or fits
            if fits:
                return strongest(fits)
        return ()


def right_sources(exercise: CodeExercise) -> Iterator[str]:
    """The source of the solution, and of each other right answer that has one."""
    yield exercise.model_answer
    for variant in exercise.variants:
        if not callable(variant):
            yield with_mistakes(exercise.solution, [variant]) or ""
        elif variant.__name__ != "<lambda>":
            yield source_of(variant)


def strongest(fits: list[Explanation]) -> tuple[Mistake, ...]:
    """Generated mistakes of different names; weak ones only where there is no other."""
    first = {one.mistakes[0].name: one for one in reversed(fits)}
    named = list(reversed(first.values()))
    return tuple(one.mistakes[0] for one in [one for one in named if not one.weak] or named)


def smallest(fits: list[Explanation], outcomes: Sequence[Outcome]) -> tuple[Mistake, ...]:
    """Of written explanations that fit, the one that no other explains with less; none if two remain."""
    changed = [outcome.changed for outcome in outcomes]
    exact = [one for one in fits if [outcome.changed for outcome in one.outcomes] == changed]
    harmless = [one for one in fits if not any(outcome.changed for outcome in one.outcomes)]
    fits = exact or harmless
    left = {one.names: one for one in fits if not any(other.names < one.names for other in fits)}
    return next(iter(left.values())).mistakes if len(left) == 1 else ()


@functools.cache
def naming_of(exercise: CodeExercise) -> Naming:
    """What is known about the wrong answers of an exercise, made once."""
    return Naming(exercise)
