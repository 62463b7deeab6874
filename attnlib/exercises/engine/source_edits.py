"""Mistakes written as edits of the solution's source text, so that any two of them can be put together.

`{"axis=-1": "axis=-2"}` says: the solution with every `axis=-1` replaced. Two edits are combined by making one after
the other, which a function could not offer.
"""

import ast
import functools
import inspect
import itertools
import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from attnlib.exercises.engine.loop_limit import NAMES, with_limit

COMMON = {"math": math, "np": np}  # what an edit may use, whether or not the solution does


class NoSuchText(ValueError):
    """An edit replaces a text that the source does not contain."""


@functools.cache
def source_of(function: Callable[..., Any]) -> str:
    """The source of a function, without indentation."""
    return textwrap.dedent(inspect.getsource(inspect.unwrap(function))).rstrip() + "\n"


def head_of(source: str) -> str:
    """The signature and docstring of the one function in the source."""
    function = ast.parse(source).body[0]
    assert isinstance(function, ast.FunctionDef)
    first = function.body[0]
    has_docstring = ast.get_docstring(function) is not None
    last_line = first.end_lineno if has_docstring else first.lineno - 1
    return "".join(source.splitlines(keepends=True)[:last_line])


def edited(source: str, edit: Mapping[str, str]) -> str:
    """The source with each key replaced, wherever it stands, by its value.

    >>> edited("return E / E.sum(axis=-1)", {"axis=-1": "axis=-2"})
    'return E / E.sum(axis=-2)'
    """
    for old, new in edit.items():
        if old not in source:
            raise NoSuchText(f"edit: the text to replace must occur in the solution; got {old!r}.")
        source = source.replace(old, new)
    return source


def compiled(source: str, like: Callable[..., Any], label: str, limited: bool = True) -> Callable[..., Any]:
    """The function that the source defines, in the module of the one that it imitates; `limited`: see loop_limit."""
    names = COMMON | inspect.unwrap(like).__globals__ | NAMES  # pyright: ignore[reportFunctionMemberAccess]
    tree = ast.parse(source)
    if limited and "while" in source:
        tree = with_limit(tree)
    exec(compile(tree, f"<{label}>", "exec"), names)
    definition = tree.body[0]
    assert isinstance(definition, ast.FunctionDef)
    return names[definition.name]


def with_mistakes(solution: Callable[..., Any], forms: Sequence[Any]) -> str | None:
    """The solution's source with one or more forms of mistakes in it; None where they cannot be put together.

    A form is an edit of the solution or a function of its own; edits also apply to such a function.
    """
    functions = [form for form in forms if callable(form)]
    edits = [form for form in forms if not callable(form)]
    if len(functions) > 1 or any(function.__name__ == "<lambda>" for function in functions):
        return None
    base = source_of(functions[0] if functions else solution)
    for order in itertools.permutations(edits):
        try:
            return functools.reduce(edited, order, base)
        except NoSuchText:
            continue
    return None
