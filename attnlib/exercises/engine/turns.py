"""Loops of edited code are counted: an edit, or another argument, may have made one endless."""

import ast
from typing import Any

LONGEST_LOOP = 10_000  # turns of all `while` loops in one call


class Turns:
    """Counts the turns of one call, and stops a loop that does not end."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        self.count += 1
        if self.count > LONGEST_LOOP:
            raise RuntimeError("a loop that does not end")


NAMES: dict[str, Any] = {"__Turns": Turns}  # what counted code needs to know


def counted(tree: ast.Module) -> ast.Module:
    """The same module, in which each function counts the turns of its `while` loops from zero at each call.

    >>> exec(compile(counted(ast.parse("def f():\\n    while True: pass")), "", "exec"), names := dict(NAMES))
    >>> names["f"]()
    Traceback (most recent call last):
    RuntimeError: a loop that does not end
    """
    nodes = list(ast.walk(tree))
    if not any(isinstance(node, ast.While) for node in nodes):
        return tree
    for function in [node for node in nodes if isinstance(node, ast.FunctionDef)]:
        loops = [node for node in ast.walk(function) if isinstance(node, ast.While)]
        for loop in loops:
            loop.body.insert(0, ast.parse("__turn()").body[0])
        if loops:
            function.body.insert(0, ast.parse("__turn = __Turns()").body[0])
    return ast.fix_missing_locations(tree)
