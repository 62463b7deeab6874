"""Lines of a function: how a result is added to, and lines that are missing."""

import ast
from collections.abc import Iterator
from typing import Any

from attnlib.editing import Change


def statements(node: ast.AST, letters: Any) -> Iterator[Change]:
    """An addition in a loop that became an assignment, or another operation."""
    if isinstance(node, ast.AugAssign):
        text = "Each turn of the loop writes over what the one before had left; the turns should add up."
        load = ast.parse(ast.unparse(node.target), mode="eval").body
        yield Change(ast.Assign([node.target], node.value, lineno=0), "assigned, not added", text)
        if isinstance(node.op, ast.Add):
            yield Change(
                ast.Assign([node.target], ast.BinOp(load, ast.Sub(), node.value), lineno=0),
                "subtracted, not added",
                "The terms are added up; here they were subtracted.",
            )
