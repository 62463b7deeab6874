"""From the file of an exercise to the exercise: the docstring is what a learner reads, the first function the solution.

The docstring has a title, a line such as `write · ★ · 8 min · 01-foundations/4-softmax-and-scale · after
foundations.softmax`, the task, three numbered hints, and what is said once it is solved. Names in capitals are the
fields of `Exercise`. `MISTAKES` and `VARIANTS` are texts, read by `rows` and `forms`.
"""

import re
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from attnlib.exercises.engine.edits import COMMON
from attnlib.exercises.engine.model import (
    CODE_KINDS,
    AnswerExercise,
    CodeExercise,
    Exercise,
    Mistake,
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
ARROW = "=>"
HEAD = re.compile(r"([a-z ]+) · (★+) · (\d+) min · (\S+)(?: · after (.+))?")


def defined(module: ModuleType) -> Exercise:
    """The exercise that a module defines; its path is its id."""
    chapter, name = module.__name__.split(".")[-2:]
    id = f"{chapter}.{name}".replace("_", "-")
    fields = told(id, module.__doc__ or "")
    fields |= {field.lower(): getattr(module, field) for field in FIELDS if hasattr(module, field)}
    table = getattr(module, "MISTAKES", "")
    if fields["kind"] in CODE_KINDS:
        fields["properties"] = fields.pop("laws", ())
        solution = first_function(module)
        fields["variants"] = forms(getattr(module, "VARIANTS", ""), module, solution)
        names = {"solution": solution, "cases": module.cases, "reference": getattr(module, "reference", None)}
        return CodeExercise(id=id, mistakes=mistakes(table, module, solution), **fields, **names)
    if fields["kind"] == "prove":
        return ProofExercise(id=id, **fields)
    answer = getattr(module, "answer", None)
    return AnswerExercise(id=id, answer=answer, mistakes=mistakes(table, module, None), **fields)


def told(id: str, docstring: str) -> dict[str, Any]:
    """What the docstring says: title, kind, level, minutes, page, prerequisites, task, hints, commentary."""
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


def mistakes(table: str, module: ModuleType, solution: Callable[..., Any] | None) -> tuple[Mistake, ...]:
    """The rows of a table of mistakes: `name | sentence`, and indented below it the forms in which it comes."""
    return tuple(
        Mistake(name, sentence, *forms(below, module, solution)) for name, sentence, below in rows(table)
    )


def rows(table: str) -> Iterator[tuple[str, str, str]]:
    """Name, sentence and the indented lines of each row; a sentence may go on, indented by two.

    >>> list(rows("sign | It is turned.\\n    + => -\\n"))
    [('sign', 'It is turned.', '    + => -')]
    """
    for part in re.split(r"\n(?=\S)", table.strip("\n")) if table.strip() else []:
        head, *below = re.split(r"\n(?=    )", part, maxsplit=1)
        name, bar, sentence = " ".join(head.split()).partition(" | ")
        if not bar:
            raise ValueError(f"MISTAKES: a row reads `name | sentence`; got {name!r}.")
        yield name, sentence, "".join(below)


def forms(lines: str, module: ModuleType, solution: Callable[..., Any] | None) -> tuple[Any, ...]:
    """Each line is an edit `old => new` of the solution (several with ` ;; ` between them), `= expression`, or a name.

    The expression is what a wrong function of the same parameters returns, or a wrong answer; the name is that of a
    function of the module. A line that is indented further goes on with the one above; `\\n` in an edit is a new line.
    """
    found = []
    for line in re.split(r"\n(?=    \S)", lines.strip("\n")) if lines.strip() else []:
        text = " ".join(part.strip() for part in line.split("\n"))
        if ARROW in text:
            found.append(dict(edit(one) for one in text.split(" ;; ")))
        elif text.startswith("= "):
            found.append(evaluated(text[2:], module, solution))
        elif hasattr(module, text):
            found.append(getattr(module, text))
        else:
            forms_are = "`old => new`, `= expression`, or the name of a function of the file"
            raise ValueError(f"{module.__name__}: a form is {forms_are}; got {text!r}.")
    return tuple(found)


def evaluated(expression: str, module: ModuleType, solution: Callable[..., Any] | None) -> Any:
    """The value of an expression; where there is a solution, a function of its parameters that returns it."""
    if solution is None:
        return eval(expression, COMMON | vars(module))
    code = solution.__code__
    expression = f"lambda {', '.join(code.co_varnames[: code.co_argcount])}: {expression}"
    made = eval(expression, COMMON | vars(module))
    made.written = expression  # it stands in no file, so its source is kept with it
    return made


def edit(text: str) -> tuple[str, str]:
    """The two sides of an edit; a blank at an edge is written as `␣`.

    >>> edit("axis=-1 => axis=-2"), edit("␣/ total =>")
    (('axis=-1', 'axis=-2'), (' / total', ''))
    """
    old, new = text.split(ARROW)
    return plain(old), plain(new)


def plain(side: str) -> str:
    return side.strip().replace("\\n", "\n").replace("␣", " ")
