"""Operators: an operand too few, too many or on the other side, another operator, or none."""

import ast
from collections.abc import Callable, Iterator

from attnlib.editing import Change, called, parsed
from attnlib.exercises.engine.generator.words import ADDED, SMALL, Words, both, first_big


def terms(node: ast.BinOp, words: Words) -> Iterator[Change]:
    """A sum or a difference with another sign, or without one of its terms."""
    if not isinstance(node.op, ast.Add | ast.Sub):
        return
    left, right = words.pair(node.left, node.right, "term")
    other = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
    turned = ast.BinOp(node.left, other, node.right)
    if isinstance(node.right, ast.Constant) and type(node.right.value) is int:
        off = 2 * node.right.value
        yield Change(turned, f"off by {off}", f"A count or an index is off by {off}.", weak=True)
    else:
        yield Change(turned, f"the sign of {right} is turned", f"The sign of {right} is the other one.")
    if isinstance(node.op, ast.Sub):
        swapped = ast.BinOp(node.right, node.op, node.left)
        text = f"{first_big(both(left, right))} of a minus changed sides: the sign is turned."
        name = "a difference" if left == right else f"the difference of {left} and {right}"
        yield Change(swapped, f"{name} is turned", text)
    text = f"{first_big(both(left, right))} belong together by a sum."
    yield Change(ast.BinOp(node.left, ast.Mult(), node.right), f"{right} was multiplied, not added", text)
    if called(node.right) in ("max", "amax"):
        yield from shifts(node)
    else:
        yield Change(node.left, f"{right} was left out", f"{first_big(right)} is missing from a sum.")
        alone = node.right if isinstance(node.op, ast.Add) else ast.UnaryOp(ast.USub(), node.right)
        yield Change(alone, f"{left} was left out", f"{first_big(left)} is missing from a sum.")


def shifts(node: ast.BinOp) -> Iterator[Change]:
    """The largest score before an exponential: not subtracted, or the smallest in its stead."""
    text = "The largest score was not subtracted before the exponential, so large scores overflow."
    yield Change(node.left, "no maximum subtracted", text)
    smallest = ast.BinOp(node.left, node.op, parsed("x.min(axis=-1, keepdims=True)", x=node.left))
    yield Change(smallest, "the minimum subtracted", "Subtracting the minimum leaves large exponents.")


def powers(node: ast.BinOp, words: Words) -> Iterator[Change]:
    """A power that is missing."""
    if isinstance(node.op, ast.Pow):
        of = words.of(node.left, "number")
        text = "A square or another power is missing."
        yield Change(node.left, f"the power of {of} was left out", text, everywhere=True)
        text = "The absolute value was taken where the square is needed."
        yield Change(parsed("np.abs(x)", x=node.left), f"{of} is not squared", text, everywhere=True)


def factors(node: ast.BinOp, words: Words) -> Iterator[Change]:
    """A product or a quotient without a factor, with it doubled, with its root or square, or the wrong way round."""
    if not isinstance(node.op, ast.Mult | ast.Div | ast.FloorDiv):
        return
    left, right = words.pair(node.left, node.right, "factor")
    yield from (products if isinstance(node.op, ast.Mult) else quotients)(node, left, right)
    text = f"{first_big(right)} comes in twice, and should once."
    yield Change(ast.BinOp(node, node.op, node.right), f"{right} counts twice", text)
    for code, what in (("(x) ** 0.5", "root"), ("(x) ** 2", "square")):
        new = ast.BinOp(node.left, node.op, parsed(code, x=node.right))
        text = f"The {what} of {right} was used, where it is needed itself."
        again = right.startswith(f"the {what} of ")
        yield Change(new, f"the {what} was taken twice" if again else f"the {what} of {right}", text)


def products(node: ast.BinOp, left: str, right: str) -> Iterator[Change]:
    """A product without one of its factors, or with another operation."""
    for kept, lost in ((node.left, right), (node.right, left)):
        text = f"{first_big(lost)} is missing from a product."
        yield Change(kept, f"not multiplied with {lost}", text, everywhere=True)
    text = f"A division by {right} stands where a multiplication is needed."
    yield Change(ast.BinOp(node.left, ast.Div(), node.right), f"divided by {right}", text)
    text = f"{first_big(both(left, right))} belong together by a product."
    yield Change(ast.BinOp(node.left, ast.Add(), node.right), f"{right} was added, not multiplied", text)


def quotients(node: ast.BinOp, left: str, right: str) -> Iterator[Change]:
    """A quotient without its divisor, with another operation, or rounded the other way."""
    text = f"A division by {right} is missing."
    yield Change(node.left, f"not divided by {right}", text, everywhere=True)
    text = f"A multiplication with {right} stands where a division is needed."
    yield Change(ast.BinOp(node.left, ast.Mult(), node.right), f"multiplied with {right}", text)
    if isinstance(node.op, ast.FloorDiv):
        new = parsed("-(-(a) // (b))", a=node.left, b=node.right)
        text = "The quotient was rounded up, and should be rounded down."
        yield Change(new, "rounded the other way", text)
    for small in SMALL if isinstance(node.op, ast.Div) else ():
        new = ast.BinOp(node.left, node.op, parsed("a + e", a=node.right, e=ast.Constant(small)))
        yield Change(new, "a small number was added", ADDED)


def matrix_products(node: ast.BinOp, words: Words) -> Iterator[Change]:
    """A matrix product in the other order, or without one of its factors."""
    if not isinstance(node.op, ast.MatMult):
        return
    left, right = words.pair(node.left, node.right, "matrix")
    text = f"In a matrix product the order counts: {both(left, right)} were exchanged."
    yield Change(
        ast.BinOp(node.right, node.op, node.left),
        f"{both(left, right)} in the other order" if left != right else "a matrix product in the other order",
        text,
    )
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
    whole = ast.BinOp(
        parsed("x.swapaxes(-1, -2)", x=node.right), node.op, parsed("x.swapaxes(-1, -2)", x=node.left)
    )
    yield Change(whole, "a product is transposed", "The product came out transposed.")


def inversions(node: ast.UnaryOp, words: Words) -> Iterator[Change]:
    """A missing `not`, or a missing minus."""
    if isinstance(node.op, ast.Invert | ast.Not):
        of = words.of(node.operand, "condition")
        yield Change(node.operand, f"{of} is inverted", f"True and False are exchanged in {of}.")
    elif isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
        text = f"The minus before {words.of(node.operand, 'number')} is missing."
        yield Change(node.operand, "a minus was left out", text, everywhere=True)


def conditions(node: ast.BinOp, words: Words) -> Iterator[Change]:
    """Two conditions of which one is enough, or both must hold, the other way round; or one alone."""
    if not isinstance(node.op, ast.BitAnd | ast.BitOr):
        return
    left, right = words.pair(node.left, node.right, "condition")
    other, name, text = ast.BitOr(), "`or` for `and`", "Both conditions must hold; here one was enough."
    if isinstance(node.op, ast.BitOr):
        other, name, text = ast.BitAnd(), "`and` for `or`", "One condition is enough; here both must hold."
    yield Change(ast.BinOp(node.left, other, node.right), name, text, family=other_logic(node))
    text = "Only one of two conditions was looked at."
    yield Change(node.left, missing(right, left), text)
    yield Change(node.right, missing(left, right), text)


def missing(lost: str, kept: str) -> str:
    """What a condition is called that is not there."""
    return f"{lost} was left out" if lost != kept else "one of two conditions was left out"


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


def comparisons(node: ast.Compare, words: Words) -> Iterator[Change]:
    """A bound that is or is not its own, or a comparison the other way round."""
    for i, op in enumerate(node.ops):
        for table, name, text in (
            (
                COMPARED,
                "the bound itself",
                "Whether the bound itself is included was decided the other way.",
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


def additions(node: ast.AugAssign, words: Words) -> Iterator[Change]:
    """An addition in a loop that became an assignment, or another operation."""
    text = "Each round of the loop overwrites what the one before had left; the rounds should add up."
    yield Change(ast.Assign([node.target], node.value, lineno=0), "assigned, not added", text)
    if isinstance(node.op, ast.Add):
        load = ast.parse(ast.unparse(node.target), mode="eval").body
        new = ast.Assign([node.target], ast.BinOp(load, ast.Sub(), node.value), lineno=0)
        yield Change(new, "subtracted, not added", "The terms are added up; here they were subtracted.")
