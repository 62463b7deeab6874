"""Which mistake explains what the learner's function did: a written one, two of them together, or a generated one.

A name is given only where an explanation fits on all cases, in every number and shape. Mistakes written for the
exercise come first: one, or two together where one alone does not fit. Where several fit and differ, all are named, or
none if there are many. An answer with no telling numbers (nothing but errors, or one constant everywhere) is never
named, and neither is a generated mistake that could only be called by a piece of the solution's code.
"""

import functools
import inspect
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from attnlib.exercises.engine.cases import Compared, cases_of
from attnlib.exercises.engine.explanations import Explanation, Explanations, Named
from attnlib.exercises.engine.generator import changed_arguments, changed_results, edited_code
from attnlib.exercises.engine.generator.generated import Generated
from attnlib.exercises.engine.generator.rules import FURTHER, RULES
from attnlib.exercises.engine.generator.words import OF_ALL_NUMBERS, is_usable
from attnlib.exercises.engine.model import MOST_RIVALS, CodeExercise
from attnlib.exercises.engine.outcomes import Outcome
from attnlib.exercises.engine.source_edits import compiled


@dataclass(frozen=True, eq=False)
class Cause:
    """What explains an answer: these mistakes together, or each of them alone (`either`)."""

    mistakes: tuple[Named, ...] = ()
    either: bool = False


class Naming:
    """What is known about the wrong answers of one exercise; each list is made when it is first looked at.

    `written` has the mistakes of the exercise's file, alone and in pairs; `generated` what the generator makes of the
    right answers' code and of their arguments; `of_results` what it makes of the right results; `changes_alone` are
    arguments as they came in, and what the solution adds to them; `further` what it makes of the code by edits that are
    less likely.
    """

    def __init__(self, exercise: CodeExercise, every_name: bool = False) -> None:
        """`every_name`: also those that a learner cannot use."""
        self.exercise, self.cases, self.every_name = exercise, cases_of(exercise), every_name
        self.names = list(inspect.signature(exercise.solution).parameters)

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
        # Compiled anew, the solution has a limit to its loops: see loop_limit.
        right = compiled(self.exercise.model_answer, self.exercise.solution, "right")
        of_arguments = changed_arguments.generated(right, self.names)
        return self.explanations([*of_arguments, *edited_code.generated(self.exercise, RULES)])

    @functools.cached_property
    def further(self) -> Explanations:
        """Edits of the right answers that change more, or say less: tried where nothing else fits."""
        return self.explanations(edited_code.generated(self.exercise, FURTHER))

    @functools.cached_property
    def of_results(self) -> Explanations:
        """The solution with something done to its result."""
        count = len(self.cases.expected[0].arrays)
        made = changed_results.generated(self.exercise.solution, self.names, self.exercise.returns, count)
        return self.explanations(made)

    @functools.cached_property
    def changes_alone(self) -> Explanations:
        """Arguments as they came in, and what the solution adds to them."""
        one = self.exercise
        return self.explanations(
            changed_results.the_change_alone(one.solution, self.names, one.returns, one.task)
        )

    def explanations(self, made: Iterable[Generated]) -> Explanations:
        listed = [Explanation((one,), one.function, self.cases, one.weak) for one in made]
        return Explanations(self.cases, listed)

    def explain(self, answer: Compared) -> Cause:
        """The mistakes that explain the outcomes of an answer, as far as they can be named; none where it is right."""
        if answer.right and not answer.changes_arguments:
            return Cause()
        fits = self.written_that_fit(answer)
        alone = [one for one in fits if len(one.mistakes) == 1]
        # A generated mistake shows itself in finite numbers.
        if not alone and answer.tells_in_finite_numbers and not answer.right:
            cause = either(self.generated_that_fit(answer, further=not fits))
            if cause.mistakes:
                return cause
        left = smallest(fits, answer.outcomes)
        if len(left) > 1 and all(len(one.mistakes) == 1 for one in left):
            return either(tuple(one.mistakes[0] for one in left))
        return Cause(left[0].mistakes) if len(left) == 1 else Cause()

    def explain_by_written(self, answer: Compared) -> Cause:
        """The same by the mistakes of the exercise's file alone."""
        left = smallest(self.written_that_fit(answer), answer.outcomes)
        return Cause(left[0].mistakes) if len(left) == 1 else Cause()

    def written_that_fit(self, answer: Compared) -> list[Explanation]:
        """Written explanations that fit on all cases, or else single ones that fit wherever the answer ran."""
        fits = self.written.fitting(answer.outcomes, answer.order)
        fits = [one for one in fits if self.cases.tell(one.outcomes)]
        everywhere = self.fitting_everywhere(fits, answer)
        if everywhere or not answer.tells:
            return everywhere
        return [one for one in fits if len(one.mistakes) == 1]

    def fitting_everywhere(self, fits: list[Explanation], answer: Compared) -> list[Explanation]:
        """Those that also raise the errors of the answer."""
        return [one for one in fits if not any(self.cases.differing(one.outcomes, answer.outcomes))]

    def generated_that_fit(self, answer: Compared, further: bool) -> tuple[Generated, ...]:
        """The generated mistakes that explain an answer, from the first list that has any; `further` is one of them."""
        lists = ("changes_alone", "generated", "of_results", "further")
        lists = ("of_results",) if answer.in_type_only else lists
        for name in lists:
            if name == "further" and not further or name == "of_results" and not answer.finite_and_wrong:
                continue
            fits = getattr(self, name).fitting(answer.outcomes, answer.order)
            fits = self.fitting_everywhere(fits, answer) or fits
            # "Off by one" explains no nan.
            fits = [one for one in fits if not (one.weak and answer.nonfinite)]
            fits = [one for one in fits if self.can_be_used(one.mistakes[0].name, answer)]
            if fits:
                return strongest(fits)
        return ()

    def can_be_used(self, name: str, answer: Compared) -> bool:
        """Whether a generated name tells a learner something: no piece of the solution's code, and no chance.

        Where only nan is wrong, an edit of one letter gives the same nan by chance, and so it is with counts.
        """
        by_chance = ("`" in name and not answer.finite_and_wrong) or (
            answer.counts and OF_ALL_NUMBERS.search(name)
        )
        return not by_chance and (self.every_name or is_usable(name))


def either(rivals: tuple[Named, ...]) -> Cause:
    """One mistake, or a few that give the same numbers; none is named if there are many."""
    return Cause(rivals, either=len(rivals) > 1) if len(rivals) <= MOST_RIVALS else Cause()


def strongest(fits: list[Explanation]) -> tuple[Generated, ...]:
    """Generated mistakes of different names; weak ones only where there is no other."""
    first = {one.mistakes[0].name: one for one in reversed(fits)}
    named = list(reversed(first.values()))
    return tuple(one.mistakes[0] for one in [one for one in named if not one.weak] or named)


def smallest(fits: list[Explanation], outcomes: Sequence[Outcome]) -> list[Explanation]:
    """Of written explanations that fit, those that no other explains with less."""
    changed = [outcome.changed for outcome in outcomes]
    exact = [one for one in fits if [outcome.changed for outcome in one.outcomes] == changed]
    harmless = [one for one in fits if not any(outcome.changed for outcome in one.outcomes)]
    fits = exact or harmless
    left = {one.names: one for one in fits if not any(other.names < one.names for other in fits)}
    return list(left.values())


@functools.cache
def naming_of(exercise: CodeExercise) -> Naming:
    """What is known about the wrong answers of an exercise, made once."""
    return Naming(exercise)
