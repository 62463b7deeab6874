"""What stands in place of `attnlib.exercises` while a submission runs: it notes which answer is for which exercise.

`check` says that it noted the answer and passes no judgement, so that nothing in the submission's process knows one.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from attnlib.exercises.engine.attempts import is_blank
from attnlib.exercises.engine.results import Note, Result, WrongAnswer

NAME = "attnlib.exercises"
NOTED = "Noted: it is graded when the file has run."


@dataclass
class Answer:
    """The last answer that a file gives to an exercise, and how many it gave."""

    value: Any
    attempts: int


@dataclass
class Recorder:
    """The answers of one submission by exercise, and the exercises whose solution it requested."""

    answers: dict[str, Answer] = field(default_factory=dict)
    solutions: list[str] = field(default_factory=list)

    def check(self, id: str, answer: Any = ..., **options: Any) -> Result:
        """Note an answer."""
        if not is_blank(answer):
            before = self.answers.get(str(id))
            self.answers[str(id)] = Answer(answer, before.attempts + 1 if before else 1)
        return Result((NOTED,), id=str(id), status="passed")  # a file that asserts this runs on

    def exercise(self, id: str, **options: Any) -> Callable[[Any], Any]:
        """Note the function that follows."""

        def noted(function: Any) -> Any:
            self.check(id, function)
            return function

        return noted

    def solution(self, id: str = "", *rest: Any, **options: Any) -> Note:
        """Note that the file requests a solution, and show none."""
        self.solutions.append(str(id))
        return Note(("No solution is shown while a file is graded.",))

    def quiet(self, *rest: Any, **options: Any) -> Note:
        """Hints and progress are nothing to a grader."""
        return Note(("",))


def installed(recorder: Recorder) -> dict[str, Any]:
    """Put the recorder in place of the package, forget the engine, and return the names that a submission sees."""
    real = sys.modules[NAME]
    names: dict[str, Any] = dict.fromkeys(real.__all__, recorder.quiet)
    names |= {"Note": Note, "Result": Result, "WrongAnswer": WrongAnswer, "check": recorder.check}
    names |= {"exercise": recorder.exercise, "solution": recorder.solution}
    package = ModuleType(NAME, "The exercises, while a file is graded.")
    package.__path__ = real.__path__
    vars(package).update(names)
    for name in [name for name in sys.modules if name == NAME or name.startswith(NAME + ".")]:
        del sys.modules[name]
    sys.modules[NAME] = package
    sys.modules["attnlib"].exercises = package  # pyright: ignore[reportAttributeAccessIssue]
    return names


def replaced(names: dict[str, Any]) -> list[str]:
    """The names of the package that a submission gave another meaning."""
    now = vars(sys.modules.get(NAME) or ModuleType(NAME))
    return [name for name, value in names.items() if now.get(name) is not value]
