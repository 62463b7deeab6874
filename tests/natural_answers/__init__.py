"""Answers to exercises as learners write them: right ones in other styles, wrong ones with their cause in words.

Each file holds blocks `@ id`, and in them answers `- right | style` or `- wrong | cause`, followed by the body of the
function, or of one that returns the answer. They were written from the tasks alone, before the lists of mistakes were
looked at; the first line of a file says where it was otherwise. A cause may be followed by ` | ` and the name that the
answer must get, or `-` where it must get none, because each that would fit is one that a learner cannot use.
"""

import ast
import math
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from attnlib.exercises.engine.model import AnswerExercise
from attnlib.exercises.engine.registry import find


@dataclass(frozen=True)
class Answer:
    """One answer: the exercise, whether it is right, what its writer did, and the code."""

    id: str
    right: bool
    cause: str
    body: str
    name: str = ""  # that it must get; "-" for none, "" where any true one will do

    def __str__(self) -> str:
        return f"{self.id}: {self.cause}"

    def given(self) -> Any:
        """What a learner would have given: a function under the head that the stub shows, or what it returns."""
        one = find(self.id, "answer")
        if isinstance(one, AnswerExercise):
            return self.function(one, "def answer():")()
        return self.function(one, ast.unparse(ast.parse(one.stub).body[0]).splitlines()[0])

    def function(self, one: Any, head: str) -> Callable[..., Any]:
        names: dict[str, Any] = {"np": np, "math": math, "softmax": softmax, "attention": attention}
        if one.needs:
            import torch

            names["torch"] = torch
        exec(head + "\n" + textwrap.indent(self.body, "    "), names)
        return names[head.removeprefix("def ").split("(")[0]]


def softmax(S):
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    return E / E.sum(axis=-1, keepdims=True)


def attention(Q, K, V):
    return softmax(Q @ K.swapaxes(-1, -2) / math.sqrt(Q.shape[-1])) @ V


def answers() -> Iterator[Answer]:
    """All answers of all files."""
    for path in sorted(Path(__file__).parent.glob("*.txt")):
        for block in ("\n" + path.read_text(encoding="utf-8")).split("\n@ ")[1:]:
            id, *parts = block.split("\n- ")
            for part in parts:
                head, body = part.split("\n", 1)
                kind, cause, *name = head.split(" | ")
                yield Answer(
                    id.strip(), kind == "right", cause.strip(), body.rstrip() + "\n", *map(str.strip, name)
                )
