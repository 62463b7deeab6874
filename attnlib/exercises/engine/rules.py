"""The table of single edits: each rule takes a node and the letters of the task, and yields named replacements."""

import ast
from collections.abc import Callable, Iterator
from typing import Any

from attnlib.editing import Change, called

REDUCED = {
    "sum": "sum",
    "mean": "mean",
    "max": "maximum",
    "min": "minimum",
    "argmax": "largest",
    "any": "any",
}
REDUCED |= {
    "all": "all",
    "argmin": "smallest",
    "norm": "length",
    "prod": "product",
    "argsort": "order",
    "sort": "order",
}
REDUCED |= {
    "cumsum": "running sum",
    "std": "spread",
    "concatenate": "joining",
    "stack": "stacking",
    "repeat": "repeating",
}
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
WORDS = REDUCED | {
    "exp": "exponential",
    "exp2": "power of 2",
    "log": "logarithm",
    "log2": "logarithm to base 2",
    "log10": "logarithm to base 10",
    "sqrt": "root",
    "abs": "absolute value",
    "argmax": "place of the largest",
    "argmin": "place of the smallest",
}
ADDED = "A small number was added to a denominator or inside a logarithm. It changes every result a little."
OFF_BY_ONE = "off by one"
BOUNDS = ("min", "max", "minimum", "maximum", "clip")  # a number in their brackets counts nothing
SMALL = (1e-12, 1e-10, 1e-9, 1e-8, 1e-6, 1e-5, 1e-4, 1e-3)


def parsed(expression: str, **parts: ast.AST) -> ast.expr:
    """An expression in which names stand for the given nodes.

    >>> ast.unparse(parsed("a - b", a=ast.Name("x"), b=ast.Constant(1)))
    'x - 1'
    """

    class Fill(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> Any:
            return parts.get(node.id, node)

    return Fill().visit(ast.parse(expression, mode="eval").body)


def with_name(call: ast.Call, name: str) -> ast.Call:
    """The call of another function of the same kind: of NumPy where it was one of `math`, which has fewer."""
    if not isinstance(call.func, ast.Attribute):
        return ast.Call(ast.Name(name, ast.Load()), call.args, call.keywords)
    of = call.func.value
    if getattr(of, "id", "") == "math":
        of = ast.Name("np", ast.Load())
    return ast.Call(ast.Attribute(of, name, ast.Load()), call.args, call.keywords)


def word(name: str) -> str:
    return WORDS.get(name, name)


def axes(node: ast.AST, letters: Any) -> Iterator[Change]:
    """A reduction over another axis, over everything, or with its axis kept or lost."""
    if not isinstance(node, ast.Call) or called(node) not in REDUCED:
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


def inside(call: ast.Call) -> ast.expr:
    """What a function or a method is called of: x of `x.sum(...)` and of `np.sum(x, ...)`."""
    if isinstance(call.func, ast.Attribute) and getattr(call.func.value, "id", "") not in (
        "np",
        "torch",
        "math",
    ):
        return call.func.value
    return call.args[0] if call.args else call.func


def same_axis(old: ast.AST, value: int) -> Callable[[ast.AST], ast.AST | None]:
    """Replaces this axis in all calls."""
    like = ast.dump(old)

    def family(node: ast.AST) -> ast.AST | None:
        if isinstance(node, ast.keyword) and node.arg == "axis" and ast.dump(node.value) == like:
            return ast.keyword("axis", ast.Constant(value))
        return None

    return family


def replaced_keyword(call: ast.Call, name: str, value: ast.expr) -> ast.Call:
    others = [one for one in call.keywords if one.arg != name]
    return ast.Call(call.func, call.args, [*others, ast.keyword(name, value)])


def functions(node: ast.AST, letters: Any) -> Iterator[Change]:
    """Another function in place of the right one, or none."""
    if not isinstance(node, ast.Call):
        return
    name = called(node)
    for other in OTHERS.get(name, ()):
        text = f"The {word(other)} was taken where the {word(name)} is asked for."
        yield Change(with_name(node, other), f"{word(other)} in place of {word(name)}", text, everywhere=True)
    if name in ("tanh", "sigmoid"):
        new = (
            parsed("1 / (1 + np.exp(-x))", x=node.args[0])
            if name == "tanh"
            else parsed("np.tanh(x)", x=node.args[0])
        )
        yield Change(
            new, f"another squashing in place of {name}", f"What is squashed here should go through a {name}."
        )
        yield Change(
            parsed("np.maximum(x, 0)", x=node.args[0]),
            f"relu in place of {name}",
            "Negative numbers were set to zero in place of being squashed.",
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


def logarithms(node: ast.AST, letters: Any) -> Iterator[Change]:
    """A logarithm of a number that was made a little larger."""
    if isinstance(node, ast.Call) and called(node) == "log" and node.args:
        for small in SMALL:
            new = ast.Call(node.func, [parsed("a + e", a=node.args[0], e=ast.Constant(small))], node.keywords)
            yield Change(new, "a small number was added", ADDED, everywhere=True)


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


def counts(node: ast.AST, letters: Any) -> Iterator[Change]:
    """A whole number, or a parameter that counts, one larger or smaller; a number doubled, halved or left at one."""
    if isinstance(node, ast.Constant) and type(node.value) is int and abs(node.value) < 10:
        for step in (1, -1):
            new = ast.Constant(node.value + step)
            yield Change(new, OFF_BY_ONE, "A count or a place is off by one.")
    number = node.value if isinstance(node, ast.Constant) else None
    if (type(number) is int or type(number) is float) and number not in (0, 1):
        for new in (2 * number, number / 2, -number):
            yield Change(
                ast.Constant(new),
                f"the {number} is another number",
                f"The number {number} is not the one that was used.",
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


def statements(node: ast.AST, letters: Any) -> Iterator[Change]:
    """An addition in a loop that became an assignment, or another operation."""
    if isinstance(node, ast.AugAssign):
        text = "Each turn of the loop writes over what the one before had left; the turns should add up."
        load = ast.parse(ast.unparse(node.target), mode="eval").body
        yield Change(ast.Assign([node.target], node.value, lineno=0), "assigned, not added", text)
        if isinstance(node.op, ast.Add):
            yield Change(
                ast.Assign([node.target], ast.BinOp(load, ast.Sub(), node.value), lineno=0),
                "subtracted, not added",
                "The terms are added up; here they were subtracted.",
            )


RULES = (
    axes,
    functions,
    terms,
    factors,
    logarithms,
    products,
    transposes,
    masks,
    comparisons,
    counts,
    names,
    statements,
)


def first_big(text: str) -> str:
    return text[0].upper() + text[1:]
