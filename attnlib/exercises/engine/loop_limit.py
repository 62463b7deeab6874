"""A limit for the `while` loops of edited code: an edit, or another argument, may have made one endless."""

import ast
from typing import Any

MOST_ROUNDS = 10_000  # of all `while` loops in one call


class RoundCounter:
    """Counts the rounds of all loops in one call, and stops a loop that does not end."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        self.count += 1
        if self.count > MOST_ROUNDS:
            raise RuntimeError("a loop that does not end")


NAMES: dict[str, Any] = {"__RoundCounter": RoundCounter}  # names that limited code uses


def with_limit(tree: ast.Module) -> ast.Module:
    """The same module, in which each function counts the rounds of its `while` loops from zero at each call.

    >>> exec(compile(with_limit(ast.parse("def f():\\n    while True: pass")), "", "exec"), names := dict(NAMES))
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
            loop.body.insert(0, ast.parse("__count_round()").body[0])
        if loops:
            function.body.insert(0, ast.parse("__count_round = __RoundCounter()").body[0])
    return ast.fix_missing_locations(tree)
