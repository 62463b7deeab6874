"""Mistakes with what they do on each case, and a search for those that do what an answer did."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from attnlib.exercises.engine.cases import Cases
from attnlib.exercises.engine.generator.generated import Generated
from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.engine.outcomes import Outcome, close, observe, same

Named = Mistake | Generated
LOOKED_AT = 16  # numbers of an array that are compared for many explanations at once


@dataclass(eq=False)
class Explanation:
    """One mistake, or two together, and a function that makes them; it runs on a case when the outcome is needed."""

    mistakes: tuple[Any, ...]  # of the exercise's file, or generated: `Named`
    function: Callable[..., Any]
    cases: Cases
    weak: bool = False  # a generated one that is named only where no other fits
    seen: dict[int, Outcome] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.names = frozenset(mistake.name for mistake in self.mistakes)

    def outcome(self, i: int) -> Outcome:
        if i not in self.seen:
            with np.errstate(all="ignore"):  # what is kept must not depend on the caller's settings
                self.seen[i] = observe(self.function, self.cases.arguments[i], traced=False)
        return self.seen[i]

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        return tuple(self.outcome(i) for i in range(len(self.cases.arguments)))


@dataclass(frozen=True, eq=False)
class Group:
    """Outcomes of one form and type: their positions among the explanations, and one row of numbers for each."""

    positions: np.ndarray
    looks: tuple[np.ndarray, ...]


class Explanations:
    """Explanations in their order, with a table of what they do on each case that was looked at."""

    def __init__(self, cases: Cases, listed: Iterable[Explanation]) -> None:
        self.cases, self.listed = cases, tuple(listed)
        self.tables: dict[int, dict[Any, list[Group]]] = {}

    def fitting(self, theirs: Sequence[Outcome], order: Sequence[int]) -> list[Explanation]:
        """Those that fit wherever the answer gave a result; an error of the answer says nothing."""
        limits = self.cases.tolerances
        ran = [i for i in order if theirs[i].kind != "error"]
        near = self.nearby(ran[0], theirs[ran[0]]) if ran else self.listed
        return [one for one in near if all(same(one.outcome(i), theirs[i], *limits[i]) for i in ran)]

    def nearby(self, i: int, theirs: Outcome) -> list[Explanation]:
        """Those that agree with an outcome of case `i` in form and in some of its numbers, in their order.

        All that are the `same` are among them: what is compared here is part of what `same` compares.
        """
        limits, looks = self.cases.tolerances[i], [look(array) for array in theirs.arrays]
        found: list[int] = []
        for group in self.table(i).get(form(theirs), ()):
            agree = np.ones(len(group.positions), dtype=bool)
            for ours, want in zip(group.looks, looks, strict=True):
                agree &= close(ours, want, *limits).all(axis=1)
            found += group.positions[agree].tolist()
        return [self.listed[position] for position in sorted(found)]

    def table(self, i: int) -> dict[Any, list[Group]]:
        """What the explanations do on case `i`, by form; the outcomes of one group have the same types."""
        if i not in self.tables:
            positions: dict[Any, dict[Any, list[int]]] = {}
            for position, one in enumerate(self.listed):
                types = tuple(array.dtype for array in one.outcome(i).arrays)
                positions.setdefault(form(one.outcome(i)), {}).setdefault(types, []).append(position)
            self.tables[i] = {
                key: [self.group(i, some) for some in kinds.values()] for key, kinds in positions.items()
            }
        return self.tables[i]

    def group(self, i: int, positions: list[int]) -> Group:
        looks = ([look(array) for array in self.listed[one].outcome(i).arrays] for one in positions)
        return Group(np.array(positions), tuple(np.array(row) for row in zip(*looks, strict=True)))


def form(outcome: Outcome) -> Any:
    return outcome.kind, tuple(array.shape for array in outcome.arrays)


def look(array: np.ndarray) -> np.ndarray:
    """A few numbers from all over an array."""
    return array.ravel()[:: max(1, array.size // LOOKED_AT)]
