"""The cases of an exercise, what the right answer does on each of them, and how an answer compares with that."""

import functools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from attnlib.exercises.engine import derived_cases
from attnlib.exercises.engine.model import CodeExercise
from attnlib.exercises.engine.outcomes import Outcome, close, observe, same, same_type


class Compared(NamedTuple):
    """The outcomes of an answer, and how they compare with the right ones."""

    outcomes: Sequence[Outcome]
    right: bool  # on every case
    changes_arguments: bool
    tells: bool  # wrong in a way that is hardly chance
    tells_in_finite_numbers: bool
    finite_and_wrong: bool  # somewhere a finite number is wrong, and not only nan or inf in place of one
    counts: bool  # each result is one whole number
    nonfinite: bool  # nan or inf where a finite number is right
    in_type_only: bool  # ones and zeros for True and False
    order: list[
        int
    ]  # the numbers of the cases, wrong ones with results first: most explanations are out after one


def is_count(outcome: Outcome) -> bool:
    """Whether a result is one whole number."""
    return [(one.dtype.kind, one.ndim) for one in outcome.arrays] in ([("i", 0)], [("u", 0)])


class Cases:
    """The arguments of all cases by label, always the same ones: those of the exercise, and those derived from them.

    `arguments`, `expected` and `tolerances` (rtol and atol) are in the order of `labelled`.
    """

    def __init__(self, exercise: CodeExercise) -> None:
        rights, written = exercise.right_answers, exercise.written_cases()
        self.labelled = written | derived_cases.made(exercise, rights, written)
        self.arguments: tuple[tuple, ...] = tuple(self.labelled.values())
        self.tolerances = tuple(derived_cases.tolerance(exercise, one) for one in self.arguments)
        self.expected = tuple(observe(exercise.solution, arguments) for arguments in self.arguments)

    def compared(self, outcomes: Sequence[Outcome]) -> Compared:
        """All that the outcomes of an answer tell beside the right ones."""
        wrong = list(self.differing(outcomes, self.expected))
        ran = [got.kind != "error" for got in outcomes]
        pairs = list(zip(outcomes, self.expected, strict=True))
        return Compared(
            outcomes,
            right=not any(wrong),
            changes_arguments=any(got.changed for got in outcomes),
            tells=self.tell(outcomes),
            tells_in_finite_numbers=self.tell(outcomes, finite=True),
            finite_and_wrong=self.finite_and_wrong(outcomes),
            counts=all(is_count(want) for want in self.expected),
            nonfinite=any(got.kind != "error" and want.finite and not got.finite for got, want in pairs),
            in_type_only=differ_in_type_only(pairs),
            order=sorted(range(len(wrong)), key=lambda i: not (wrong[i] and ran[i])),
        )

    def differing(self, ours: Sequence[Outcome], theirs: Sequence[Outcome]) -> Iterator[bool]:
        """For each case, whether two functions do different things."""
        for one, other, tolerance in zip(ours, theirs, self.tolerances, strict=True):
            yield not same(one, other, *tolerance)

    def agree(self, ours: Sequence[Outcome], theirs: Sequence[Outcome]) -> bool:
        """Whether two functions do the same on every case."""
        return not any(self.differing(ours, theirs))

    def finite_and_wrong(self, outcomes: Sequence[Outcome]) -> bool:
        """Whether there is a finite number that is wrong, or a result of a wrong shape."""
        for got, want, limits in zip(outcomes, self.expected, self.tolerances, strict=True):
            if got.kind != want.kind or [one.shape for one in got.arrays] != [
                one.shape for one in want.arrays
            ]:
                if got.kind != "error":
                    return True
                continue
            for one, right in zip(got.arrays, want.arrays, strict=True):
                if not same_type(one, right) or (np.isfinite(one) & ~close(one, right, *limits)).any():
                    return True
        return False

    def tell(self, outcomes: Sequence[Outcome], finite: bool = False) -> bool:
        """Whether these outcomes are wrong in a way that is hardly chance; `finite`: nan and inf tell nothing.

        One number wherever it is wrong tells something if other cases are right, and not all by the same number.
        """
        numbers: set[str] = set()
        right: set[str] = set()
        for got, want, tolerance in zip(outcomes, self.expected, self.tolerances, strict=True):
            if got.changed and not want.changed and not finite:
                return True
            if got.kind == "error":
                continue
            found = right if same(got, want, *tolerance) else numbers
            for array in (array for array in got.arrays if array.size):
                values = array.astype(float).ravel()
                values = values[np.isfinite(values)] if finite else values
                found.update(
                    str(x) for x in (np.unique(values.round(12) + 0.0)[[0, -1]] if values.size else ())
                )
        one_number = bool(numbers) and all(math.isfinite(float(x)) for x in numbers)
        return len(numbers) > 1 or (not finite and one_number and len(right) > 1)


def differ_in_type_only(pairs: Sequence[tuple[Outcome, Outcome]]) -> bool:
    """Whether all numbers are right, and only of another type."""
    arrays = [pair for got, want in pairs for pair in zip(got.arrays, want.arrays, strict=False)]
    return len(arrays) > 0 and all(np.array_equal(a.astype(float), b.astype(float)) for a, b in arrays)


@functools.cache
def cases_of(exercise: CodeExercise) -> Cases:
    """The cases of an exercise, computed once."""
    return Cases(exercise)
