"""Edits that are tried only where no other generated mistake fits: they change more of the code, or say less of it.

The second half has what came to another position: axes or blocks exchanged, an inverse order, a row closed to a ring.
"""

import ast
import copy
import itertools
from collections.abc import Callable, Iterator
from typing import Any

from attnlib.editing import Change, called, inside, parsed, places, replaced_keyword, with_name
from attnlib.exercises.engine.generator.rules.numbers_and_names import another_length
from attnlib.exercises.engine.generator.words import Words, first_big, word

OTHERS = {"argmax": "max", "argmin": "min", "var": "std", "std": "var"}
FINITE = (-1e9, -1e4, -1000.0, -100.0, -1.7e308)
RING = "closed to a ring"
RING_TEXT = "What follows the last was taken from the first, or what comes before the first from the last."
INVERSE_TEXT = (
    "An order says where each row comes from, its inverse where each row goes; one stands for the other here."
)
INVERSE = "np.argsort(x) if sorted(x) == list(range(len(x))) else 'no order'"


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
    """Numbers in another shape where axes are to be exchanged."""
    if called(node) in ("swapaxes", "transpose", "moveaxis", "permute"):
        yield reshaped(node, inside(node), words)


def transposes(node: ast.Attribute, words: Words) -> Iterator[Change]:
    """The same for `.T`."""
    if node.attr == "T":
        yield reshaped(node, node.value, words)


def reshaped(node: ast.expr, inner: ast.expr, words: Words) -> Change:
    """The shape of a transpose with the numbers in their old order."""
    of = words.of(inner, "matrix")
    new = parsed("x.reshape(y.shape)", x=inner, y=node)
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


def copies(node: ast.Call, words: Words) -> Iterator[Change]:
    """What is changed was not copied before."""
    if called(node) in ("copy", "array", "clone") and not node.keywords:
        text = "What was changed here is needed once more as it was: it has to be copied first."
        yield Change(inside(node), "no copy was made", text)


def equals(node: ast.Call, words: Words) -> Iterator[Change]:
    """The last of equal ones in place of the first."""
    name, axis = called(node), [one.value for one in node.keywords if one.arg == "axis"]
    keys = [one for one in node.keywords if one.arg == "key"]
    new = None
    if isinstance(node.func, ast.Name) and name in ("min", "max") and keys and len(node.args) == 1:
        new = ast.Call(node.func, [parsed("list(x)[::-1]", x=node.args[0])], keys)
    elif name in ("argmax", "argmin") and axis and ast.unparse(axis[0]) == "-1":
        new = parsed(f"(x).shape[-1] - 1 - np.{name}((x)[..., ::-1], axis=-1)", x=inside(node))
    elif name in ("argmax", "argmin") and not axis:
        new = parsed(f"np.size(x) - 1 - np.{name}(np.ravel(x)[::-1])", x=inside(node))
    if new is not None:
        yield Change(new, "the last of equals", "Of equal ones the last was taken; the first is wanted.")


def once(node: ast.Name, words: Words) -> Iterator[Change]:
    """An argument that is missing in one of the positions at which a result is used."""
    code = words.assigned.get(node.id)
    if code is None or not isinstance(node.ctx, ast.Load):
        return
    for one in ast.walk(code):
        if not isinstance(one, ast.BinOp) or not isinstance(one.op, ast.Add | ast.Sub | ast.Mult | ast.Div):
            continue
        for lost, kept in (("right", "left"), ("left", "right")):
            name = getattr(getattr(one, lost), "id", "")
            if name not in words.parameters or (lost == "left" and isinstance(one.op, ast.Sub | ast.Div)):
                continue
            around = ast.Expr(copy.deepcopy(code))  # pyright: ignore[reportArgumentType]
            there = [at for at in places(around) if ast.dump(at.node) == ast.dump(one)][:1]
            for at in there:
                at.put(getattr(at.node, kept))
            text = f"In one of the positions where it belongs, `{name}` is missing."
            yield Change(around.value, f"`{name}` was left out once", text)


def lengths(node: ast.Name, words: Words) -> Iterator[Change]:
    """One length of the task in place of another, where it has its letter in the code."""
    if not isinstance(node.ctx, ast.Load) or node.id in words.parameters:
        return
    known = words.lengths
    if node.id in known:
        for letter, code in known.items():
            if letter != node.id:
                yield Change(code, *another_length(letter, node.id))


# ---- What came to another position ----


def axes(node: ast.Call, words: Words) -> Iterator[Change]:
    """Two other axes exchanged, or another order of all."""
    given = [whole(one) for one in node.args]
    name, at = called(node), isinstance(node.func, ast.Attribute)
    text = "Axes are exchanged here, and they are not the ones that should be."
    if name in ("swapaxes", "transpose") and len(given) - (given[:1] == [None]) == 2 and at:
        mine = set(given[-2:])
        for pair in itertools.combinations((-1, -2, -3, -4), 2):
            if set(pair) != mine:
                new = [*node.args[:-2], *map(ast.Constant, pair)]
                yield Change(ast.Call(node.func, new, []), "two other axes change places", text)
    elif name in ("transpose", "permute") and len(given) in (3, 4) and None not in given:
        for order in itertools.permutations(given):
            if list(order) != given:
                new: list[ast.expr] = [ast.Constant(one) for one in order]
                yield Change(ast.Call(node.func, new, []), "two other axes change places", text)


def blocks(node: ast.Call, words: Words) -> Iterator[Change]:
    """A shape with two lengths exchanged, and then the axes: the shape is right, and the numbers stand elsewhere."""
    if called(node) != "reshape" or not isinstance(node.func, ast.Attribute):
        return
    text = "The numbers were cut into blocks in another order: the shape is right, and the numbers stand elsewhere."
    lengths, count = node.args, len(node.args)
    for i in range(count - 1):
        if any(isinstance(one, ast.Starred) for one in lengths[i:]):
            continue
        turned = [*lengths[:i], lengths[i + 1], lengths[i], *lengths[i + 2 :]]
        new = parsed(f"x.swapaxes({i - count}, {i + 1 - count})", x=ast.Call(node.func, turned, []))
        yield Change(new, "cut in another order", text)


def ordered(node: ast.Subscript, words: Words) -> Iterator[Change]:
    """The inverse of an order in place of the order."""
    if not isinstance(node.ctx, ast.Load):
        return
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    for i, part in enumerate(parts):
        others = [one for one in parts if one is not part]
        if isinstance(part, ast.Name) and all(isinstance(one, ast.Slice) for one in others):
            new = [*parts[:i], parsed(INVERSE, x=part), *parts[i + 1 :]]
            index = ast.Tuple(new, ast.Load()) if others else new[0]
            new_node = ast.Subscript(node.value, index, ast.Load())
            known = part.id in words.known
            yield Change(new_node, *inverse(part.id if known else ""), weak=not known)


def undone(node: ast.Call, words: Words) -> Iterator[Change]:
    """An order where its inverse is needed."""
    if called(node) == "argsort" and len(node.args) == 1 and not node.keywords:
        yield Change(inside(node), *inverse(), weak=True)


def inverse(order: str = "") -> tuple[str, str]:
    """The name and the sentence of an order that is read the other way."""
    return f"the inverse of `{order}`" if order else "the inverse order", INVERSE_TEXT


def slices(node: ast.Subscript, words: Words) -> Iterator[Change]:
    """All shifted slices rolled, so that nothing is cut off."""
    if isinstance(node.ctx, ast.Load) and shift(node):
        for first in (True, False):
            new = rolled(first)(node)
            if new is not None:
                yield Change(new, RING, RING_TEXT, family=rolled(first))


def rolled(first: bool) -> Callable[[ast.AST], ast.AST | None]:
    """Slices without their beginning rolled and those without their end whole (`first`), or the other way round."""

    def family(node: ast.AST) -> ast.AST | None:
        if called(node) in ("arange", "range") and isinstance(node, ast.Call) and len(node.args) == 1:
            last = node.args[0]
            if isinstance(last, ast.BinOp) and isinstance(last.op, ast.Sub) and whole(last.right):
                return ast.Call(node.func, [last.left], node.keywords)
        if (
            not isinstance(node, ast.Subscript)
            or not isinstance(node.ctx, ast.Load)
            or not (one := shift(node))
        ):
            return None
        steps, axis = one
        if (steps > 0) != first:
            return node.value
        return parsed(f"np.roll(x, {-steps}, axis={axis})", x=node.value)

    return family


def shift(node: ast.Subscript) -> tuple[int, int] | None:
    """By how many a slice is shifted, and along which axis: (1, 0) for `x[1:]`, (-1, -2) for `x[..., :-1, :]`."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    full = ast.dump(ast.Slice())
    cut = [i for i, one in enumerate(parts) if isinstance(one, ast.Slice) and ast.dump(one) != full]
    rest = [one for i, one in enumerate(parts) if i not in cut]
    dots = [getattr(one, "value", None) is ... for one in rest]
    if len(cut) != 1 or not all(
        isinstance(one, ast.Slice) or dot for one, dot in zip(rest, dots, strict=True)
    ):
        return None
    one: Any = parts[cut[0]]
    axis = cut[0] - len(parts) if any(dots) and getattr(parts[0], "value", None) is ... else cut[0]
    if one.step is None and one.upper is None and (steps := whole(one.lower) or 0) > 0:
        return steps, axis
    if (
        one.step is None
        and one.lower is None
        and one.upper is not None
        and (steps := whole(one.upper) or 0) < 0
    ):
        return steps, axis
    return None


def padded(node: ast.Call, words: Words) -> Iterator[Change]:
    """Something put before or after a shifted slice: the array rolled instead."""
    if called(node) not in ("concatenate", "hstack", "vstack", "append", "cat") or not node.args:
        return
    parts = getattr(node.args[0], "elts", None) or node.args
    for one in parts if len(parts) == 2 else ():
        if isinstance(one, ast.Subscript) and (by := shift(one)):
            new = parsed(f"np.roll(x, {-by[0]}, axis={by[1]})", x=one.value)
            yield Change(new, RING, RING_TEXT, everywhere=True)


def written(node: ast.Assign, words: Words) -> Iterator[Change]:
    """The same where a shifted slice is written into another: `y[1:] = x[:-1]`."""
    target, value = node.targets[0], node.value
    if isinstance(target, ast.Subscript) and isinstance(value, ast.Subscript):
        there, here = shift(target), shift(value)
        if there and here and there == (-here[0], here[1]):
            new = parsed(f"np.roll(x, {there[0]}, axis={here[1]})", x=value.value)
            whole_target = ast.Subscript(target.value, ast.Slice(), ast.Store())
            yield Change(ast.Assign([whole_target], new, lineno=0), RING, RING_TEXT)


def diagonals(node: ast.Call, words: Words) -> Iterator[Change]:
    """A diagonal beside the main one that begins again at the other end."""
    steps = [one.value for one in node.keywords if one.arg == "k"]
    if called(node) == "eye" and steps and node.args:
        yield Change(parsed("np.roll(np.eye(n), -(k), axis=0)", n=node.args[0], k=steps[0]), RING, RING_TEXT)


def whole(node: ast.AST | None) -> int | None:
    """The whole number that stands in the code, None for anything else."""
    try:
        value = ast.literal_eval(node) if isinstance(node, ast.expr) else None
    except (ValueError, TypeError):
        return None
    return value if type(value) is int else None
