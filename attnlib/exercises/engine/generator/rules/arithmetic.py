"""Sums, differences, products and quotients with a part too few, too many, or the wrong way round."""

import ast
from collections.abc import Iterator
from typing import Any

from attnlib.editing import Change, called
from attnlib.exercises.engine.generator.words import ADDED, SMALL, first_big, parsed


def terms(node: ast.AST, letters: Any) -> Iterator[Change]:
    """A sum or a difference with another sign, or without one of its terms."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add | ast.Sub):
        return
    left, right = letters.pair(node.left, node.right)
    other = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
    sign = f"The sign of {right} is the other one."
    yield Change(ast.BinOp(node.left, other, node.right), f"the sign of {right} is turned", sign)
    shift = called(node.right) in ("max", "amax")
    if shift:
        text = "The largest score was not subtracted before the exponential, so large scores overflow."
        yield Change(node.left, "no maximum subtracted", text)
        for new, what in ((parsed("x.min(axis=-1, keepdims=True)", x=node.left), "minimum"),):
            yield Change(
                ast.BinOp(node.left, node.op, new),
                f"the {what} subtracted",
                f"Subtracting the {what} leaves large exponents.",
            )
    else:
        yield Change(node.left, f"{right} was left out", f"{first_big(right)} is missing from a sum.")
        alone = node.right if isinstance(node.op, ast.Add) else ast.UnaryOp(ast.USub(), node.right)
        yield Change(alone, f"{left} was left out", f"{first_big(left)} is missing from a sum.")
    turned = ast.BinOp(node.right, node.op, node.left)
    if isinstance(node.op, ast.Sub):
        text = f"{first_big(left)} and {right} changed places around the minus: the sign is turned."
        yield Change(turned, f"the difference of {left} and {right} is turned", text)
    yield Change(
        ast.BinOp(node.left, ast.Mult(), node.right),
        f"{right} was multiplied, not added",
        f"{first_big(left)} and {right} belong together by a sum.",
    )


def factors(node: ast.AST, letters: Any) -> Iterator[Change]:
    """A product or a quotient without a factor, with it doubled, with its root or square, or the wrong way round."""
    if not isinstance(node, ast.BinOp) or not isinstance(
        node.op, ast.Mult | ast.Div | ast.FloorDiv | ast.Pow
    ):
        return
    left, right = letters.pair(node.left, node.right)
    if isinstance(node.op, ast.Pow):
        yield Change(
            node.left,
            f"the power of {left} was left out",
            "A square or another power is missing.",
            everywhere=True,
        )
        yield Change(
            parsed("np.abs(x)", x=node.left),
            f"{left} is not squared",
            "The absolute value was taken where the square is asked for.",
            everywhere=True,
        )
        return
    divided = not isinstance(node.op, ast.Mult)
    verb = "was not divided by" if divided else "was not multiplied with"
    yield Change(
        node.left,
        f"not {'divided by' if divided else 'multiplied with'} {right}",
        f"{first_big(left)} {verb} {right}.",
        everywhere=True,
    )
    if not divided:
        yield Change(
            node.right,
            f"not multiplied with {left}",
            f"{first_big(right)} was not multiplied with {left}.",
            everywhere=True,
        )
    else:
        yield Change(
            ast.BinOp(node.left, ast.Mult(), node.right),
            f"multiplied with {right}",
            f"{first_big(left)} was multiplied with {right}, and should be divided.",
        )
    again = ast.BinOp(node, node.op, node.right)
    yield Change(
        again, f"{right} counts twice", f"{first_big(right)} comes in twice as a factor, and should once."
    )
    root = ast.BinOp(node.left, node.op, parsed("(x) ** 0.5", x=node.right))
    yield Change(
        root, f"the root of {right}", f"The root of {right} was used as the factor, and should not be."
    )
    square = ast.BinOp(node.left, node.op, parsed("(x) ** 2", x=node.right))
    yield Change(
        square, f"the square of {right}", f"The square of {right} was used as the factor, and should not be."
    )
    if isinstance(node.op, ast.Mult):
        yield Change(
            ast.BinOp(node.left, ast.Div(), node.right),
            f"divided by {right}",
            f"{first_big(left)} was divided by {right}, and should be multiplied.",
        )
        yield Change(
            ast.BinOp(node.left, ast.Add(), node.right),
            f"{right} was added, not multiplied",
            f"{first_big(left)} and {right} belong together by a product.",
        )
    if isinstance(node.op, ast.FloorDiv):
        yield Change(
            parsed("-(-(a) // (b))", a=node.left, b=node.right),
            "rounded the other way",
            "The quotient was rounded up, and should be rounded down.",
        )
    for small in SMALL if divided else ():
        new = ast.BinOp(node.left, node.op, parsed("a + e", a=node.right, e=ast.Constant(small)))
        yield Change(new, "a small number was added", ADDED)
