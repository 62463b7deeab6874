"""Matrix products, transposes and shapes."""

import ast
from collections.abc import Iterator
from typing import Any

from attnlib.editing import Change, called
from attnlib.exercises.engine.generator.words import first_big, inside, parsed


def products(node: ast.AST, letters: Any) -> Iterator[Change]:
    """A matrix product in the other order, or without one of its factors."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.MatMult):
        return
    left, right = letters.pair(node.left, node.right)
    text = f"In a matrix product the order counts: {left} and {right} changed places."
    yield Change(ast.BinOp(node.right, node.op, node.left), f"{left} and {right} in the other order", text)
    yield Change(node.left, f"not multiplied with {right}", f"The product with {right} is missing.")
    yield Change(node.right, f"not multiplied with {left}", f"The product with {left} is missing.")
    for side, other in (("left", left), ("right", right)):
        for code in ("x.T", "x.swapaxes(-1, -2)"):
            new = ast.BinOp(node.left, node.op, node.right)
            setattr(new, side, parsed(code, x=getattr(node, side)))
            yield Change(
                new,
                f"{other} is transposed",
                f"{first_big(other)} came transposed into a product, and should not.",
            )
    both = ast.BinOp(
        parsed("x.swapaxes(-1, -2)", x=node.right), node.op, parsed("x.swapaxes(-1, -2)", x=node.left)
    )
    yield Change(both, "a product is transposed", f"The product of {left} and {right} came out transposed.")


def transposes(node: ast.AST, letters: Any) -> Iterator[Change]:
    """A transpose left out."""
    if isinstance(node, ast.Attribute) and node.attr == "T":
        inner = node.value
    elif called(node) in ("reshape", "ravel", "flatten", "split", "heads"):
        assert isinstance(node, ast.Call)
        yield Change(inside(node), "not brought into another shape", "A change of shape is missing.")
        return
    elif called(node) in ("swapaxes", "transpose", "moveaxis", "permute"):
        assert isinstance(node, ast.Call)
        inner = inside(node)
        yield Change(
            parsed("x.T", x=inner),
            "all axes turned round",
            "`.T` turns all axes round, and mixes the batch with the rest.",
            everywhere=True,
        )
    else:
        return
    of = letters.of(inner)
    yield Change(inner, f"{of} is not transposed", f"A transpose of {of} is missing.", everywhere=True)
