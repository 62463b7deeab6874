"""Masks, conditions and comparisons."""

import ast
from collections.abc import Callable, Iterator
from typing import Any

from attnlib.editing import Change, called


def masks(node: ast.AST, letters: Any) -> Iterator[Change]:
    """A choice by a mask that is inverted, left out, or fills in something else."""
    if called(node) == "where" and len(getattr(node, "args", ())) == 3:
        assert isinstance(node, ast.Call)
        condition, yes, no = node.args
        of = letters.of(condition)
        inverted = ast.Call(node.func, [condition, no, yes], [])
        yield Change(
            inverted,
            f"{of} is inverted",
            "What should be kept was hidden, and what should be hidden was kept.",
            everywhere=True,
        )
        yield Change(
            yes,
            f"{of} was left out",
            "The choice between two values is missing: one of them was always taken.",
            everywhere=True,
        )
        yield Change(
            no,
            f"{of} was left out",
            "The choice between two values is missing: one of them was always taken.",
            everywhere=True,
        )
        for value in (0.0, -1e9, -1e4, 1e-9, 1.0):
            new = ast.Call(node.func, [condition, yes, ast.Constant(value)], [])
            text = f"Where nothing may be looked at stands {value:g}, which is a number like any other."
            yield Change(new, f"{value:g} in hidden places", text)
    if isinstance(node, ast.UnaryOp):
        of = letters.of(node.operand)
        if isinstance(node.op, ast.Invert | ast.Not):
            yield Change(node.operand, f"{of} is inverted", f"True and False are exchanged in {of}.")
        elif isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
            yield Change(
                node.operand, "a minus was left out", f"The minus before {of} is missing.", everywhere=True
            )
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.BitOr):
        left, right = letters.pair(node.left, node.right)
        both = isinstance(node.op, ast.BitAnd)
        text = (
            "Both conditions must hold; here one was enough."
            if both
            else "One condition is enough; here both must hold."
        )
        yield Change(
            ast.BinOp(node.left, ast.BitOr() if both else ast.BitAnd(), node.right),
            "`or` for `and`" if both else "`and` for `or`",
            text,
            family=other_logic(node),
        )
        yield Change(
            node.left,
            f"the condition on {right} was left out"
            if right != left
            else "one of two conditions was left out",
            "Only one of two conditions was asked.",
        )
        yield Change(
            node.right,
            f"the condition on {left} was left out"
            if right != left
            else "one of two conditions was left out",
            "Only one of two conditions was asked.",
        )


def other_logic(old: ast.BinOp) -> Callable[[ast.AST], ast.AST | None]:
    """Exchanges `and` and `or` wherever the one stands."""
    new = ast.BitOr if isinstance(old.op, ast.BitAnd) else ast.BitAnd

    def family(node: ast.AST) -> ast.AST | None:
        return new() if type(node) is type(old.op) else None

    return family


COMPARED = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
EQUALITY = {ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
OPPOSITE = {ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt}
MIRRORED = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}


def comparisons(node: ast.AST, letters: Any) -> Iterator[Change]:
    """A bound that is or is not its own, or a comparison the other way round."""
    if not isinstance(node, ast.Compare):
        return
    for i, op in enumerate(node.ops):
        for table, name, text in (
            (
                COMPARED,
                "the bound itself",
                "Whether the bound itself belongs to it was decided the other way.",
            ),
            (
                EQUALITY,
                "equal for unequal",
                "What is equal was taken where what differs is meant, or the other way round.",
            ),
            (OPPOSITE, "everything inverted", "True and False are exchanged."),
            (MIRRORED, "the other side", "The comparison looks to the other side."),
        ):
            if new := table.get(type(op)):
                ops = [*node.ops[:i], new(), *node.ops[i + 1 :]]
                yield Change(ast.Compare(node.left, ops, node.comparators), name, text)
