"""What is called: another function, none, or the same over another axis, in another shape, or of another mask."""

import ast
from collections.abc import Callable, Iterator

from attnlib.editing import Change, called, inside, parsed, replaced_keyword, with_name
from attnlib.exercises.engine.generator.words import ADDED, REDUCED, SMALL, Words, word

# function -> what learners put in its place
OTHERS = {
    "sum": ("mean", "max", "prod"),
    "mean": ("sum", "max", "min", "median"),
    "max": ("min", "mean"),
    "min": ("max",),
    "argmax": ("argmin",),
    "argmin": ("argmax",),
    "any": ("all",),
    "all": ("any",),
    "exp": ("exp2",),
    "log": ("log2", "log10"),
    "tanh": ("sin", "arctan"),
    "minimum": ("maximum",),
    "maximum": ("minimum",),
    "ceil": ("floor", "round"),
    "floor": ("ceil",),
    "tril": ("triu",),
    "triu": ("tril",),
    "sqrt": ("square",),
    "zeros": ("ones",),
    "ones": ("zeros",),
}


def axes(node: ast.Call, words: Words) -> Iterator[Change]:
    """A reduction over another axis, over everything, or with its axis kept or lost."""
    if called(node) not in REDUCED:
        return
    what = word(called(node))
    if called(node) in ("sum", "mean", "max", "min", "cumsum"):
        yield Change(inside(node), f"the {what} was left out", f"The {what} is missing.")
    given = next((one for one in node.keywords if one.arg == "axis"), None)
    if given is None:
        return
    for value in (-1, -2, -3, 0, 1, 2):
        new = replaced_keyword(node, "axis", ast.Constant(value))
        family = same_axis(given.value, value)
        text = f"The {what} runs over another axis than it should: each result mixes the wrong numbers."
        yield Change(new, f"the {what} over another axis", text, family=family)
    without = ast.Call(
        node.func, node.args, [one for one in node.keywords if one.arg not in ("axis", "keepdims")]
    )
    text = f"The {what} was taken of the whole array at once; each row (or column) has its own."
    yield Change(without, f"one {what} for all", text, everywhere=True)
    kept = next((one for one in node.keywords if one.arg == "keepdims"), None)
    if kept is not None:
        lost = ast.Call(node.func, node.args, [one for one in node.keywords if one.arg != "keepdims"])
        text = f"The {what} lost its axis, so it was lined up with the wrong axis of the other array."
        yield Change(lost, f"the axis of the {what} was not kept", text, everywhere=True)
    else:
        more = replaced_keyword(node, "keepdims", ast.Constant(True))
        text = f"The {what} kept an axis of length one, which the result should not have."
        yield Change(more, f"the axis of the {what} was kept", text)


def same_axis(old: ast.AST, value: int) -> Callable[[ast.AST], ast.AST | None]:
    """Replaces this axis in all calls."""
    like = ast.dump(old)

    def family(node: ast.AST) -> ast.AST | None:
        if isinstance(node, ast.keyword) and node.arg == "axis" and ast.dump(node.value) == like:
            return ast.keyword("axis", ast.Constant(value))
        return None

    return family


def functions(node: ast.Call, words: Words) -> Iterator[Change]:
    """Another function in place of the right one, or none."""
    name = called(node)
    for other in OTHERS.get(name, ()):
        text = f"The {word(other)} was taken where the {word(name)} is needed."
        yield Change(with_name(node, other), f"{word(other)} in place of {word(name)}", text, everywhere=True)
    if name in ("tanh", "sigmoid"):
        new = (
            parsed("1 / (1 + np.exp(-x))", x=node.args[0])
            if name == "tanh"
            else parsed("np.tanh(x)", x=node.args[0])
        )
        yield Change(new, f"another activation in place of {name}", f"This should go through a {name}.")
        yield Change(
            parsed("np.maximum(x, 0)", x=node.args[0]),
            f"relu in place of {name}",
            "Negative numbers were set to zero in place of going through it.",
        )
        yield Change(
            parsed("f(-x)", f=node.func, x=node.args[0]),
            f"the sign inside one {name} is turned",
            f"One {name}, and only that one, has its argument with the wrong sign.",
        )
    if (
        len(node.args) == 1
        and not node.keywords
        and name in (*OTHERS, "abs", "softmax", "sigmoid", "log", "sqrt")
    ):
        yield Change(
            node.args[0], f"the {word(name)} was left out", f"The {word(name)} is missing.", everywhere=True
        )
    if name in ("sqrt", "softmax", "exp", "log", "tanh", "norm"):
        twice = ast.Call(node.func, [node, *node.args[1:]], node.keywords)
        yield Change(
            twice, f"the {word(name)} was taken twice", f"The {word(name)} was taken of itself once more."
        )
    if name == "norm":
        yield Change(
            parsed("x**2", x=node),
            "length squared",
            "The square of the length was used; its root is missing.",
            everywhere=True,
        )


def logarithms(node: ast.Call, words: Words) -> Iterator[Change]:
    """A logarithm of a number that was made a little larger."""
    if called(node) == "log" and node.args:
        for small in SMALL:
            new = ast.Call(node.func, [parsed("a + e", a=node.args[0], e=ast.Constant(small))], node.keywords)
            yield Change(new, "a small number was added", ADDED, everywhere=True)


def repetitions(node: ast.Call, words: Words) -> Iterator[Change]:
    """A whole array after itself where each entry is repeated, or the other way round."""
    if called(node) == "tile" and len(node.args) == 2:
        yield from untiled(node)
    if called(node) != "repeat" or not isinstance(node.func, ast.Attribute):
        return
    given = (
        node
        if getattr(node.func.value, "id", "") == "np"
        else ast.Call(node.func, [node.func.value, *node.args], node.keywords)
    )
    axis = next((one.value for one in node.keywords if one.arg == "axis"), None)
    if len(given.args) == 2 and axis is not None:
        x, count = given.args
        new = parsed("np.concatenate([x] * (n), axis=a)", x=x, n=count, a=axis)
        text = "The whole was put down several times, one copy after the other; each entry is to be repeated."
        yield Change(new, "tiled, not repeated", text)


def untiled(node: ast.Call) -> Iterator[Change]:
    """Each entry several times in a row, where copies of the whole come one after the other."""
    x, counts = node.args
    along = counts.elts if isinstance(counts, ast.Tuple) else [counts]
    text = "Each entry was repeated before the next one came; copies of the whole should come one after the other."
    for axis, count in enumerate(along, -len(along)):
        if not (isinstance(count, ast.Constant) and count.value == 1):
            new = parsed("np.repeat(x, n, axis=a)", x=x, n=count, a=ast.Constant(axis))
            yield Change(new, "repeated, not tiled", text)


def rearranged(node: ast.Call, words: Words) -> Iterator[Change]:
    """A change of shape, or an exchange of axes, that is missing or too much."""
    name = called(node)
    if name in ("reshape", "ravel", "flatten", "split", "heads"):
        yield Change(inside(node), "not brought into another shape", "A change of shape is missing.")
    elif name in ("swapaxes", "transpose", "moveaxis", "permute"):
        text = "`.T` reverses the order of all axes, and mixes the batch with the rest."
        yield Change(parsed("x.T", x=inside(node)), "all axes reversed", text, everywhere=True)
        yield not_transposed(inside(node), words)


def transposes(node: ast.Attribute, words: Words) -> Iterator[Change]:
    """A `.T` left out."""
    if node.attr == "T":
        yield not_transposed(node.value, words)


def not_transposed(inner: ast.expr, words: Words) -> Change:
    of = words.of(inner, "matrix")
    return Change(inner, f"{of} is not transposed", f"A transpose of {of} is missing.", everywhere=True)


def masks(node: ast.Call, words: Words) -> Iterator[Change]:
    """A choice by a mask that is inverted, left out, or fills in something else."""
    if called(node) != "where" or len(node.args) != 3:
        return
    condition, yes, no = node.args
    of = words.of(condition, "condition")
    inverted = ast.Call(node.func, [condition, no, yes], [])
    text = "What should be kept was hidden, and what should be hidden was kept."
    yield Change(inverted, f"{of} is inverted", text, everywhere=True)
    text = "The choice between two values is missing: one of them was always taken."
    for always in (yes, no):
        yield Change(always, f"{of} was left out", text, everywhere=True)
    hides = isinstance(no, ast.Constant | ast.UnaryOp) or getattr(no, "attr", "") == "inf"
    for value in (0.0, -1e9, -1e4, 1e-9, 1.0) if hides else ():
        new = ast.Call(node.func, [condition, yes, ast.Constant(value)], [])
        text = f"Entries that are hidden hold {value:g}, which is a number like any other."
        almost = value == 1e-9  # gives the numbers of 0, as a rule
        yield Change(new, f"{value:g} in hidden entries", text, weak=almost)


def ranges(node: ast.Call, words: Words) -> Iterator[Change]:
    """A loop with a step more or less."""
    if called(node) not in ("range", "arange") or not node.args:
        return
    for step, many in ((1, "many"), (-1, "few")):
        last = parsed("a + s", a=node.args[-1], s=ast.Constant(step))
        new = ast.Call(node.func, [*node.args[:-1], last], node.keywords)
        text = f"A loop, or a row of numbers, has one step too {many}."
        yield Change(new, f"one step too {many}", text)
