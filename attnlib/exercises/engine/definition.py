"""From the file of an exercise to the exercise: the docstring is what a learner reads, the first function the solution.

The docstring has a title, a line such as `write · ★ · 8 min · 01-foundations/4-softmax-and-scale · after
foundations.softmax`, the task, three numbered hints, and what is shown once it is solved. Names in capitals are the
fields of `Exercise`.
"""

import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

from attnlib.exercises.engine.model import (
    CODE_KINDS,
    AnswerExercise,
    CodeExercise,
    Exercise,
    ProofExercise,
)

FIELDS = (
    "GIVEN",
    "BLANKS",
    "NEEDS",
    "RETURNS",
    "LAWS",
    "RTOL",
    "ATOL",
    "CHOICES",
    "WITHIN",
    "PROOF",
    "RUBRIC",
)
FIELDS += ("MISTAKES", "VARIANTS")
HEAD = re.compile(r"([a-z ]+) · (★+) · (\d+) min · (\S+)(?: · after (.+))?")


def defined(module: ModuleType) -> Exercise:
    """The exercise that a module defines; its path is its id."""
    chapter, name = module.__name__.split(".")[-2:]
    id = f"{chapter}.{name}".replace("_", "-")
    fields = texts_of(id, module.__doc__ or "")
    fields |= {field.lower(): getattr(module, field) for field in FIELDS if hasattr(module, field)}
    if fields["kind"] in CODE_KINDS:
        check_forms(id, fields)
        fields["properties"] = fields.pop("laws", ())
        fields["reference"] = getattr(module, "reference", None)
        return CodeExercise(id=id, solution=first_function(module), cases=module.cases, **fields)
    if fields["kind"] == "prove":
        return ProofExercise(id=id, **fields)
    return AnswerExercise(id=id, answer=getattr(module, "answer", None), **fields)


def texts_of(id: str, docstring: str) -> dict[str, Any]:
    """What is in the docstring: title, kind, level, minutes, page, prerequisites, task, hints, commentary."""
    title, head, *paragraphs = [
        " ".join(part.split()) for part in re.split(r"\n\s*\n|\n(?=\d\. )", docstring)
    ]
    found = HEAD.fullmatch(head)
    if not found:
        raise ValueError(
            f"{id}: below the title stands `write · ★ · 8 min · 01-foundations/4-softmax-and-scale`, and perhaps "
            f"` · after ID, ID`; got {head!r}."
        )
    kind, stars, minutes, page, after = found.groups()
    hints = [i for i, text in enumerate(paragraphs) if re.match(r"\d\. ", text)]
    if not hints:
        raise ValueError(f"{id}: the docstring must number its hints, `1. ...`; got none.")
    return {
        "title": title,
        "kind": kind,
        "level": len(stars),
        "minutes": int(minutes),
        "page": page,
        "prerequisites": tuple(after.split(", ")) if after else (),
        "task": "\n\n".join(paragraphs[: hints[0]]),
        "hints": tuple(paragraphs[i][3:] for i in hints),
        "commentary": "\n\n".join(paragraphs[hints[-1] + 1 :]),
    }


def first_function(module: ModuleType) -> Callable[..., Any]:
    """The first function that the module itself defines: the solution."""
    own = (value for value in vars(module).values() if callable(value) and not isinstance(value, type))
    return next(f for f in own if getattr(f, "__module__", None) == module.__name__)


def check_forms(id: str, fields: dict[str, Any]) -> None:
    """Each form of a mistake, and each variant, is an edit of the solution or a function."""
    forms = [form for mistake in fields.get("mistakes", ()) for form in mistake.forms]
    for form in (*forms, *fields.get("variants", ())):
        if not (callable(form) or isinstance(form, dict)):
            raise ValueError(f"{id}: a form is an edit, `{{old: new}}`, or a function; got {form!r}.")
