"""Edits that are tried only where no other generated mistake fits: they change more of the code, or say less of it."""

import ast
from collections.abc import Iterator
from typing import Any

from attnlib.editing import Change, called
from attnlib.exercises.engine.generator.words import (
    first_big,
    inside,
    parsed,
    replaced_keyword,
    with_name,
    word,
)

OTHERS = {"argmax": "max", "argmin": "min", "var": "std", "std": "var"}
FINITE = (-1e9, -1e4, -1000.0, -100.0, -1.7e308)


def functions(node: ast.AST, letters: Any) -> Iterator[Change]:
    """A value in place of its position, another spread, one of two numbers always, a function of each part of a sum."""
    name = called(node)
    if not isinstance(node, ast.Call):
        return
    if other := OTHERS.get(name):
        text = f"The {word(other)} was taken where the {word(name)} is asked for."
        yield Change(with_name(node, other), f"{word(other)} in place of {word(name)}", text, everywhere=True)
    if name in ("var", "std"):
        text = "The squares were divided by one less than their number, and should be by their number."
        yield Change(replaced_keyword(node, "ddof", ast.Constant(1)), "the unbiased variance", text)
    if name in ("min", "max", "minimum", "maximum") and len(node.args) == 2:
        asked = "smaller" if name.startswith("min") else "larger"
        for kept in node.args:
            text = f"Of two numbers the {asked} one is asked for; always the same of them was taken."
            yield Change(kept, f"always {letters.of(kept)}, not the {asked} one", text)
    argument = node.args[0] if len(node.args) == 1 and not node.keywords else None
    if isinstance(argument, ast.BinOp) and isinstance(argument.op, ast.Add | ast.Sub):
        yield from distributed(node, argument, letters)


def distributed(node: ast.Call, argument: ast.BinOp, letters: Any) -> Iterator[Change]:
    """A function of each part of a sum, or of one part alone."""
    what, right = word(called(node)), letters.of(argument.right)
    one, other = (ast.Call(node.func, [part], []) for part in (argument.left, argument.right))
    text = f"The {what} was taken of each part of a sum by itself, and should be of the whole sum."
    yield Change(ast.BinOp(one, argument.op, other), f"the {what} of each part", text)
    text = f"{first_big(right)} belongs inside of the {what}."
    yield Change(ast.BinOp(one, argument.op, argument.right), f"{right} outside of the {what}", text)


def terms(node: ast.AST, letters: Any) -> Iterator[Change]:
    """A term of a sum twice or by half, or the mean of two terms."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add | ast.Sub):
        return
    left, right = letters.pair(node.left, node.right)
    for code, name in (("2 * x", "twice"), ("x / 2", "half of")):
        of_right = ast.BinOp(node.left, node.op, parsed(code, x=node.right))
        of_left = ast.BinOp(parsed(code, x=node.left), node.op, node.right)
        for new, part in ((of_right, right), (of_left, left)):
            yield Change(new, f"{name} {part}", f"In a sum stands {name} {part}, which should be there once.")
    if isinstance(node.op, ast.Add):
        text = f"The mean of {left} and {right} was taken; their sum is asked for."
        yield Change(parsed("x / 2", x=node), f"the mean of {left} and {right}", text)


def shapes(node: ast.AST, letters: Any) -> Iterator[Change]:
    """Numbers strung together anew where axes are to be exchanged."""
    if called(node) == "swapaxes" and isinstance(node, ast.Call):
        inner = inside(node)
    elif isinstance(node, ast.Attribute) and node.attr == "T":
        inner = node.value
    else:
        return
    code = "x.reshape(*x.shape[:-2], x.shape[-1], x.shape[-2])"
    of = letters.of(inner)
    text = f"{first_big(of)} got another shape, which keeps the order of its numbers; a transpose changes it."
    yield Change(parsed(code, x=inner), f"{of} is reshaped, not transposed", text)


def infinities(node: ast.AST, letters: Any) -> Iterator[Change]:
    """A finite number in place of minus infinity."""
    if isinstance(node, ast.UnaryOp) and getattr(node.operand, "attr", "") == "inf":
        text = (
            "A large negative number stands for minus infinity. It is low and not hidden: scores below it lose against "
            "it, and a row in which all is hidden gets weights."
        )
        for number in FINITE:
            new = ast.Constant(number)
            yield Change(new, "a finite number in place of minus infinity", text, everywhere=True)


FURTHER = (functions, terms, shapes, infinities)
