"""Numbers that are off, and one name in place of another."""

import ast
from collections.abc import Iterator
from typing import Any

from attnlib.editing import Change, called
from attnlib.exercises.engine.generator.words import parsed

OFF_BY_ONE = "off by one"
BOUNDS = ("min", "max", "minimum", "maximum", "clip")  # a number in their brackets counts nothing


def counts(node: ast.AST, letters: Any) -> Iterator[Change]:
    """A whole number, or a parameter that counts, one larger or smaller; a number doubled, halved or left at one."""
    if isinstance(node, ast.Constant) and type(node.value) is int and abs(node.value) < 10:
        for step in (1, -1):
            new = ast.Constant(node.value + step)
            yield Change(new, OFF_BY_ONE, "A count or a place is off by one.", weak=True)
    number = node.value if isinstance(node, ast.Constant) else None
    if (type(number) is int or type(number) is float) and number not in (0, 1):
        for new in (2 * number, number / 2, -number):
            yield Change(
                ast.Constant(new),
                f"the {number} is another number",
                f"The number {number} is not the one that was used.",
                weak=number == 2,
            )
    if isinstance(node, ast.Call) and called(node) in ("range", "arange") and node.args:
        last = node.args[-1]
        for step, many in ((1, "many"), (-1, "few")):
            new = ast.Call(
                node.func, [*node.args[:-1], parsed("a + s", a=last, s=ast.Constant(step))], node.keywords
            )
            yield Change(
                new, f"one step too {many}", f"A loop, or a row of numbers, has one step too {many}."
            )


def names(node: ast.AST, letters: Any) -> Iterator[Change]:
    """One letter in place of another, in one place or everywhere."""
    if not isinstance(node, ast.Name) or node.id not in letters.known or not isinstance(node.ctx, ast.Load):
        return
    for other in letters.parameters:
        if other != node.id:
            text = f"Where `{node.id}` belongs, `{other}` was used."
            yield Change(
                ast.Name(other, ast.Load()), f"`{other}` in place of `{node.id}`", text, everywhere=True
            )
    for code, name in (("x**2", "the square of"), ("1 - x", "one minus"), ("-x", "minus")):
        yield Change(
            parsed(code, x=node),
            f"{name} `{node.id}`",
            f"Somewhere {name} `{node.id}` was used for `{node.id}`.",
            everywhere=True,
        )
    if node.id in letters.parameters and node.id.islower():
        for code, name in (
            ("x + 1", "one more than"),
            ("x - 1", "one less than"),
            ("2 * x", "twice"),
            ("x / 2", "half of"),
        ):
            yield Change(
                parsed(code, x=node), f"{name} `{node.id}`", f"The numbers are those of {name} `{node.id}`."
            )
