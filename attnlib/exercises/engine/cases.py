"""The cases of an exercise, and what the right answer does on each of them."""

import functools
from collections.abc import Sequence

import numpy as np

from attnlib.exercises.engine import derived_cases
from attnlib.exercises.engine.model import CodeExercise
from attnlib.exercises.engine.outcomes import Outcome, observe, same


class Cases:
    """The arguments of all cases by label, always the same ones: those of the exercise, and those derived from them.

    `arguments`, `expected` and `tolerances` (rtol and atol) are in the order of `labelled`.
    """

    def __init__(self, exercise: CodeExercise) -> None:
        own = dict(exercise.cases(np.random.default_rng(exercise.seed)))
        self.labelled = own | derived_cases.made(exercise, own)
        self.arguments: tuple[tuple, ...] = tuple(self.labelled.values())
        self.tolerances = tuple(derived_cases.tolerance(exercise, one) for one in self.arguments)
        self.expected = tuple(observe(exercise.solution, arguments) for arguments in self.arguments)

    def agree(self, ours: Sequence[Outcome], theirs: Sequence[Outcome]) -> bool:
        """Whether two functions do the same on every case."""
        triples = zip(ours, theirs, self.tolerances, strict=True)
        return all(same(one, other, *tolerance) for one, other, tolerance in triples)

    def are_right(self, outcomes: Sequence[Outcome]) -> bool:
        return self.agree(outcomes, self.expected)

    def tell(self, outcomes: Sequence[Outcome], finite: bool = False) -> bool:
        """Whether these outcomes are wrong in a way that is hardly chance; `finite`: nan and inf tell nothing."""
        numbers: set[str] = set()
        for got, want, tolerance in zip(outcomes, self.expected, self.tolerances, strict=True):
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

    def most_telling_first(self, outcomes: Sequence[Outcome]) -> list[int]:
        """The numbers of the cases, wrong ones with results first: most explanations are out after one."""
        rows = zip(outcomes, self.expected, self.tolerances, strict=True)
        wrong = [got.kind != "error" and not same(got, want, *tolerance) for got, want, tolerance in rows]
        return sorted(range(len(wrong)), key=lambda i: not wrong[i])

    def differ_in_type_only(self, outcomes: Sequence[Outcome]) -> bool:
        """Whether the numbers are right, and only of another type: ones and zeros for True and False."""
        rows = zip(outcomes, self.expected, strict=True)
        pairs = [pair for got, want in rows for pair in zip(got.arrays, want.arrays, strict=False)]
        return len(pairs) > 0 and all(np.array_equal(a.astype(float), b.astype(float)) for a, b in pairs)


@functools.cache
def cases_of(exercise: CodeExercise) -> Cases:
    """The cases of an exercise, computed once."""
    return Cases(exercise)
