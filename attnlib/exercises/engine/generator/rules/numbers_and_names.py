"""Numbers that are off, and one name in place of another."""

import ast
from collections.abc import Iterator

from attnlib.editing import Change, parsed
from attnlib.exercises.engine.generator.words import Words, size

OFF_BY_ONE = "off by one"
BOUNDS = ("min", "max", "minimum", "maximum", "clip")  # what they compare with is a bound, and no count


def counts(node: ast.Constant, words: Words) -> Iterator[Change]:
    """A small whole number that is one larger or smaller."""
    if type(node.value) is int and abs(node.value) < 10:
        for step in (1, -1):
            new = ast.Constant(node.value + step)
            yield Change(new, OFF_BY_ONE, "A count or an index is off by one.", weak=True)


def numbers(node: ast.Constant, words: Words) -> Iterator[Change]:
    """A number doubled, halved, or with the other sign."""
    value = node.value
    if not isinstance(value, int | float) or isinstance(value, bool) or value in (0, 1):
        return
    for new in (2 * value, value / 2, -value):
        text = f"The number {value} is not the one that was used."
        name = (
            f"the {value} is another number" if float(value) in words.numbers else "a number is another one"
        )
        yield Change(ast.Constant(new), name, text, weak=value == 2)


def lengths(node: ast.Subscript | ast.Call, words: Words) -> Iterator[Change]:
    """One length of the task in place of another: the number of keys for that of their numbers."""
    if not size(node) or (size(node) or ("", None))[1] is None or not words.shapes:
        return
    right = words.length(node)
    for letter, code in words.lengths.items():
        if letter != right:
            yield Change(code, *another_length(letter, right), weak=not right)


def another_length(letter: str, right: str) -> tuple[str, str]:
    """The name and the sentence of a mistaken length.

    >>> another_length("n", "")[1]
    'The length n was used where another is needed.'
    """
    name = f"the length `{letter}` in place of " + (f"`{right}`" if right else "another length")
    return name, f"The length {letter} was used where {right or 'another'} is needed."


def names(node: ast.Name, words: Words) -> Iterator[Change]:
    """One letter in place of another, once or everywhere."""
    if node.id not in words.known or not isinstance(node.ctx, ast.Load):
        return
    for other in words.parameters:
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
    if node.id in words.parameters and node.id.islower():
        for code, name in (
            ("x + 1", "one more than"),
            ("x - 1", "one less than"),
            ("2 * x", "twice"),
            ("x / 2", "half of"),
        ):
            yield Change(
                parsed(code, x=node), f"{name} `{node.id}`", f"The numbers are those of {name} `{node.id}`."
            )
