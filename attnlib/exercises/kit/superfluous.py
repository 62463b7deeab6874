"""Mistakes of an exercise's file that the generator names as well: `superfluous(exercise)`, or from a shell

    python -m attnlib.exercises.kit.superfluous foundations.softmax    all exercises where no id is given

Each is printed with its own sentence and with what the generator says; it can go. Not listed are the mistakes that are
in the code to repair, those of which the generator knows only the kind ("a term was left out", "off by one"), and those
that it gives one name where the file has two.
"""

import dataclasses
import sys
from collections import Counter
from collections.abc import Iterator

import numpy as np

from attnlib.exercises.engine.explanations import Named
from attnlib.exercises.engine.generator.words import is_specific, is_usable
from attnlib.exercises.engine.model import CodeExercise, Mistake
from attnlib.exercises.engine.naming import Naming
from attnlib.exercises.engine.outcomes import adapted, observe
from attnlib.exercises.engine.registry import exercises, find


def superfluous(exercise: CodeExercise) -> Iterator[tuple[Mistake, tuple[Named, ...]]]:
    """Written mistakes all of whose forms get one specific name without them, each with what the generator says."""
    bare = dataclasses.replace(exercise, mistakes=(), given=())
    naming = Naming(bare, every_name=True)
    found: dict[Mistake, dict[str, Named]] = {}
    for mistake in exercise.mistakes:
        named = [generated(exercise, naming, form) for form in mistake.forms]
        if mistake.name not in exercise.given and all(named):
            found[mistake] = {one.name: one for one in named if one}
    times = Counter(name for names in found.values() for name in names)
    for mistake, names in found.items():
        if all(times[name] == 1 for name in names):
            yield mistake, tuple(names.values())


def generated(exercise: CodeExercise, naming: Naming, form: object) -> Named | None:
    """The one generated mistake that explains a form of a written one; None where there is none, or several."""
    function = exercise.with_mistakes(form)
    if function is None:
        return None
    cases = naming.cases
    outcomes = [
        adapted(observe(function, some), want)
        for some, want in zip(cases.arguments, cases.expected, strict=True)
    ]
    found = naming.explain(cases.compared(outcomes)).mistakes
    return found[0] if len(found) == 1 and says_enough(found[0].name) else None


def says_enough(name: str) -> bool:
    of_entries = name.endswith("in hidden entries")  # true where no mask hides, too
    return is_specific(name) and is_usable(name) and not of_entries


def main() -> int:
    ids = sys.argv[1:]
    try:
        chosen = [find(id, "superfluous") for id in ids] or list(exercises().values())
    except ValueError as error:  # an unknown id
        print(error)
        return 2
    count = 0
    with np.errstate(all="ignore"):
        for exercise in (one for one in chosen if isinstance(one, CodeExercise)):
            for mistake, found in superfluous(exercise):
                count += 1
                print(f"{exercise.id}: {mistake.name}\n    written:   {mistake.sentence}")
                print("\n".join(f"    generated: {one.name}. {one.sentence}" for one in found), flush=True)
    print(f"{count} written mistakes are generated as well.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
