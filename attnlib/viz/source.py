"""Show package source in a notebook, so that the page and the package can never differ."""

import ast
import inspect
import re
import textwrap
from typing import Any


class Source:
    """Source text: a highlighted code block where there is rich display, plain text elsewhere."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/markdown": f"```python\n{self.text}\n```", "text/plain": self.text}


def show_source(*objects: Any, docstring: bool = False) -> Source:
    """The source of functions or classes of the package, by default without their docstrings.

    >>> from attnlib.data.tokens import three_tokens
    >>> print(show_source(three_tokens).text.splitlines()[-1].strip())
    return TOKENS, K, V
    """
    return Source("\n\n\n".join(_source_of(o, docstring) for o in objects))


def _source_of(obj: Any, docstring: bool) -> str:
    if not (inspect.isfunction(obj) or inspect.isclass(obj)):
        raise TypeError(
            f"show_source: each argument must be a function or a class; got {type(obj).__name__}. "
            "Pass the function itself, without calling it."
        )
    text = textwrap.dedent(inspect.getsource(obj)).rstrip()
    text = text[re.search(r"^(def|class) ", text, re.M).start() :]  # type: ignore[union-attr]
    return text if docstring or not obj.__doc__ else _without_docstring(text)


def _without_docstring(text: str) -> str:
    definition = ast.parse(text).body[0]
    assert isinstance(definition, ast.FunctionDef | ast.ClassDef)
    first = definition.body[0]
    lines = text.split("\n")
    return "\n".join(lines[: first.lineno - 1] + lines[first.end_lineno :]).rstrip()
