"""What an exercise is: plain data. The package's docstring shows how to write one."""

import ast
import functools
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from attnlib.exercises.engine.source_edits import (
    NoSuchText,
    compiled,
    edited,
    head_of,
    source_of,
    with_mistakes,
)

CODE_KINDS = ("write", "fill", "repair")
ANSWER_KINDS = ("predict", "by hand", "explore")
GIVEN = ("softmax", "attention")  # what a task may say is there: attnlib.exercises.kit.given
MOST_RIVALS = 3  # more causes than these for the same numbers, and none is named
KINDS = (*CODE_KINDS, *ANSWER_KINDS, "prove")


class Mistake:
    """A known mistake: its name, the sentence that explains it, and one or more forms in which it comes.

    In a code exercise a form is an edit of the solution's source (`{"axis=-1": "axis=-2"}`) or a wrong function; in an
    answer exercise it is a wrong answer. Forms of one mistake share its name; they need not give equal results.
    """

    def __init__(self, name: str, sentence: str, *forms: Any) -> None:
        if not forms:
            raise ValueError(f"Mistake: each mistake needs at least one form; got none for {name!r}.")
        self.name, self.sentence, self.forms = name, sentence, forms

    def __repr__(self) -> str:
        return f"Mistake({self.name!r})"


@dataclass(frozen=True)
class Property:
    """A law that every right answer obeys; `test(f, *arguments)` returns None, or in words what it saw instead."""

    name: str
    test: Callable[..., str | None]


@dataclass(frozen=True, eq=False, kw_only=True)
class Exercise:
    """What all kinds have in common."""

    id: str  # chapter.name, for example "foundations.softmax"
    title: str
    kind: str
    level: int  # 1, 2 or 3 stars
    minutes: int
    page: str  # the notebook, for example "01-foundations/4-softmax-and-scale"
    task: str  # what to do, in one to three sentences; the notebook says the same
    hints: tuple[str, ...]  # three, from a question to almost there
    commentary: str = ""  # shown with the solution: why it is so
    prerequisites: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()  # packages beyond NumPy, for example ("torch",)

    @property
    def chapter(self) -> str:
        return self.id.split(".")[0]

    @property
    def stars(self) -> str:
        return "★" * self.level

    @property
    def headline(self) -> str:
        """The first line of the exercise in its notebook, after the keyword."""
        return f"{self.kind} · {self.stars} · {self.minutes} min · {self.id}"

    @property
    def seed(self) -> int:
        return zlib.crc32(self.id.encode())

    @property
    def model_answer(self) -> str:
        """The solution as it is shown."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False, kw_only=True)
class CodeExercise(Exercise):
    """Write a function, fill its blanks, or repair it; everything else is made from the solution's source."""

    solution: Callable[..., Any]
    cases: Callable[[np.random.Generator], Mapping[str, tuple[Any, ...]]]  # label -> arguments
    mistakes: tuple[Mistake, ...] = ()
    variants: tuple[Any, ...] = ()  # other right answers: functions, or edits of the solution
    properties: tuple[Property, ...] = ()
    reference: Callable[..., Any] | None = None  # the guard proves that the solution agrees with it
    returns: tuple[
        str, ...
    ] = ()  # names of the results where there are several, for example ("dQ", "dK", "dV")
    blanks: tuple[str, ...] = ()  # fill: texts of the solution that the stub replaces by `...`
    given: tuple[str, ...] = ()  # repair: names of the mistakes that are in the code to repair
    rtol: float = 1e-8
    atol: float = 1e-10

    @property
    def name(self) -> str:
        return self.solution.__name__

    @property
    def model_answer(self) -> str:
        return source_of(self.solution)

    @functools.cached_property
    def right_answers(self) -> tuple[Callable[..., Any], ...]:
        """The solution, and each variant that applies."""
        variants = (self.with_mistakes(variant) for variant in self.variants)
        return (self.solution, *(one for one in variants if one is not None))

    def written_cases(self) -> dict[str, tuple[Any, ...]]:
        """The cases of the exercise's file, always the same ones."""
        return dict(self.cases(np.random.default_rng(self.seed)))

    @functools.cached_property
    def stub(self) -> str:
        """The code that the learner starts from."""
        if self.kind == "fill":
            return edited(self.model_answer, dict.fromkeys(self.blanks, "..."))
        if self.kind == "repair":
            broken = with_mistakes(self.solution, [self.mistake(name).forms[0] for name in self.given])
            if broken is None:
                raise NoSuchText(f"{self.id}: the mistakes in `given` must fit together; got {self.given}.")
            return broken
        return head_of(self.model_answer) + "    ...\n"

    @functools.cached_property
    def preamble(self) -> str:
        """The imports that the solution and its stub stand on, so that they run wherever they are pasted."""
        code = ast.walk(ast.parse(self.model_answer + self.stub))
        used = {node.id for node in code if isinstance(node, ast.Name)}
        given = [name for name in GIVEN if name in used]
        lines = ["import math", "", "import numpy as np", *(f"import {package}" for package in self.needs)]
        lines += ["", f"from attnlib.exercises.kit.given import {', '.join(given)}"] if given else []
        return "\n".join(lines) + "\n"

    @functools.cached_property
    def stub_function(self) -> Callable[..., Any]:
        return compiled(self.stub, self.solution, f"{self.id}: stub", limited=False)

    def mistake(self, name: str) -> Mistake:
        return next(mistake for mistake in self.mistakes if mistake.name == name)

    def with_mistakes(self, *forms: Any) -> Callable[..., Any] | None:
        """The function that a learner with these mistakes would write; None where they do not fit together."""
        if len(forms) == 1 and callable(forms[0]):
            return forms[0]
        source = with_mistakes(self.solution, forms)
        return None if source is None else compiled(source, self.solution, f"{self.id}: mistakes")


@dataclass(frozen=True, eq=False, kw_only=True)
class AnswerExercise(Exercise):
    """Predict, work out by hand, or explore: a number, an array of numbers, or one of the choices."""

    answer: (
        Callable[[], Any] | None
    )  # computes the answer, so that none is typed in; None: open, nothing to compare
    mistakes: tuple[Mistake, ...] = ()
    choices: tuple[str, ...] = ()
    within: float = 0.01  # how far off a number may be

    @functools.cached_property
    def value(self) -> Any:
        return None if self.answer is None else self.answer()

    @property
    def whole(self) -> bool:
        """Whether the answer is a count: `answer()` returns an int."""
        return isinstance(self.value, int)

    @property
    def model_answer(self) -> str:
        if self.value is None:
            return "There is no single answer here."
        return str(self.value) if isinstance(self.value, str) or np.ndim(self.value) else f"{self.value:.6g}"


@dataclass(frozen=True, eq=False, kw_only=True)
class ProofExercise(Exercise):
    """Prove a statement on paper, then mark the proof against a rubric, one True or False for each line."""

    proof: str
    rubric: tuple[str, ...]

    @property
    def model_answer(self) -> str:
        return self.proof
