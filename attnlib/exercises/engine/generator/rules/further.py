"""Edits that are tried only where no other generated mistake fits: they change more of the code, or say less of it."""

import ast
from collections.abc import Iterator

from attnlib.editing import Change, called, inside, parsed, replaced_keyword, with_name
from attnlib.exercises.engine.generator.words import Words, first_big, word

OTHERS = {"argmax": "max", "argmin": "min", "var": "std", "std": "var"}
FINITE = (-1e9, -1e4, -1000.0, -100.0, -1.7e308)


def functions(node: ast.Call, words: Words) -> Iterator[Change]:
    """A value for its index, another spread, one of two numbers always, a function of each term of a sum."""
    name = called(node)
    if other := OTHERS.get(name):
        text = f"The {word(other)} was taken where the {word(name)} is needed."
        yield Change(with_name(node, other), f"{word(other)} in place of {word(name)}", text, everywhere=True)
    if name in ("var", "std"):
        text = "The squares were divided by one less than their number, and should be by their number."
        yield Change(replaced_keyword(node, "ddof", ast.Constant(1)), "the unbiased variance", text)
    if name in ("min", "max", "minimum", "maximum") and len(node.args) == 2:
        asked = "smaller" if name.startswith("min") else "larger"
        for kept in node.args:
            text = f"Of two numbers the {asked} one is needed; always the same one was taken."
            yield Change(kept, f"the {asked} of two numbers was not chosen", text)
    argument = node.args[0] if len(node.args) == 1 and not node.keywords else None
    if isinstance(argument, ast.BinOp) and isinstance(argument.op, ast.Add | ast.Sub):
        yield from distributed(node, argument, words)


def distributed(node: ast.Call, argument: ast.BinOp, words: Words) -> Iterator[Change]:
    """A function of each term of a sum, or of one term alone."""
    what, right = word(called(node)), words.of(argument.right, "term")
    one, other = (ast.Call(node.func, [term], []) for term in (argument.left, argument.right))
    text = f"The {what} was taken of each term of a sum by itself, and should be of the whole sum."
    yield Change(ast.BinOp(one, argument.op, other), f"the {what} of each term", text)
    text = f"{first_big(right)} belongs inside of the {what}."
    yield Change(ast.BinOp(one, argument.op, argument.right), f"{right} outside of the {what}", text)


def terms(node: ast.BinOp, words: Words) -> Iterator[Change]:
    """A term of a sum twice or by half, or the mean of two terms."""
    if not isinstance(node.op, ast.Add | ast.Sub):
        return
    for code, often in (("2 * x", "twice"), ("x / 2", "half")):
        of_right = ast.BinOp(node.left, node.op, parsed(code, x=node.right))
        of_left = ast.BinOp(parsed(code, x=node.left), node.op, node.right)
        for new in (of_right, of_left):
            yield Change(
                new, f"a term counts {often}", f"In a sum one term counts {often}, and should count once."
            )
    if isinstance(node.op, ast.Add):
        text = "The mean of two terms was taken; their sum is needed."
        yield Change(parsed("x / 2", x=node), "the mean of two terms", text)


def swapped(node: ast.Call, words: Words) -> Iterator[Change]:
    """Numbers in another shape where two axes are to be exchanged."""
    if called(node) == "swapaxes":
        yield reshaped(inside(node), words)


def transposes(node: ast.Attribute, words: Words) -> Iterator[Change]:
    """The same for `.T`."""
    if node.attr == "T":
        yield reshaped(node.value, words)


def reshaped(inner: ast.expr, words: Words) -> Change:
    of = words.of(inner, "matrix")
    new = parsed("x.reshape(*x.shape[:-2], x.shape[-1], x.shape[-2])", x=inner)
    text = f"{first_big(of)} got another shape, which keeps the order of its numbers; a transpose changes it."
    return Change(new, f"{of} is reshaped, not transposed", text)


def infinities(node: ast.UnaryOp, words: Words) -> Iterator[Change]:
    """A finite number in place of minus infinity."""
    if getattr(node.operand, "attr", "") == "inf":
        text = (
            "A large negative number stands for minus infinity. It is low and not hidden: scores below it lose against "
            "it, and a row in which all is hidden gets weights."
        )
        for number in FINITE:
            new = ast.Constant(number)
            yield Change(new, "a finite number in place of minus infinity", text, everywhere=True)
