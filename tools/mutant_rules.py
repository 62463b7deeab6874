"""Rules for edits of the mathematics; each gets one node of the syntax tree and yields edited ones.

Annotations, error messages and checks of arguments are not edited: other tests cover them.
"""

import ast
from collections.abc import Callable, Iterable, Iterator

from attnlib.editing import Place, called

OTHER_OPERATOR = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Div,
}
OTHER_COMPARE = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}
PAIRS = (
    ("maximum", "minimum"),
    ("max", "min"),
    ("sum", "mean"),
    ("all", "any"),
    ("tril", "triu"),
    ("cos", "sin"),
)
OTHER_NAME = {**dict(PAIRS), **{b: a for a, b in PAIRS}, "argmax": "argmin"}
LEFT_OUT = {"mask", "bias", "causal", "initial", "keepdims", "where", "cache", "positions"}


def is_mathematics(place: Place) -> bool:
    """Whether a node and its children may be edited."""
    parent, node = place.parent, place.node
    if isinstance(parent, ast.FunctionDef) and place.field != "body":
        return False
    if isinstance(parent, ast.ClassDef):
        return isinstance(node, ast.FunctionDef) and not node.name.startswith("__repr") and not is_check(node)
    if isinstance(parent, ast.AnnAssign) and place.field != "value":
        return False
    return not (isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr) or is_check(node) or is_free(place))


def is_check(node: ast.AST) -> bool:
    """Whether a node is a check of arguments."""
    match node:
        case ast.FunctionDef(name=name):
            return name.lstrip("_").startswith("check")
        case ast.If(body=body):
            return any(isinstance(statement, ast.Raise) for statement in body)
        case ast.keyword(arg="strict"):  # strict=True of zip
            return True
        case ast.Call(func=func):
            return ast.unparse(func).startswith("rules.")
    return False


def is_free(place: Place) -> bool:
    """Whether this is the -1 of a reshape: any negative number means the same."""
    node = place.node
    negative = isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant)
    return negative and place.field == "args" and called(place.parent) == "reshape"


# The rules, in the order in which they are applied to one node.


def turned_condition(place: Place) -> Iterator[ast.AST]:
    """`if not (test)` for `if test`."""
    if isinstance(place.parent, ast.If) and place.field == "test":
        yield ast.UnaryOp(ast.Not(), place.node)  # type: ignore[arg-type]


def swapped_results(place: Place) -> Iterator[ast.AST]:
    """Swap two results."""
    node = place.node
    if isinstance(place.parent, ast.Return) and isinstance(node, ast.Tuple) and len(node.elts) == 2:
        yield ast.Tuple(node.elts[::-1], ast.Load())


def other_operator(place: Place) -> Iterator[ast.AST]:
    """Minus for plus and so on; and the left operand alone."""
    node = place.node
    if not isinstance(node, ast.BinOp):
        return
    if other := OTHER_OPERATOR.get(type(node.op)):
        yield ast.BinOp(node.left, other(), node.right)
    if isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.Div):
        yield node.left


def other_comparison(place: Place) -> Iterator[ast.AST]:
    """< for <= and so on, and unequal for equal."""
    node = place.node
    other = OTHER_COMPARE.get(type(node.ops[0])) if isinstance(node, ast.Compare) else None
    if isinstance(node, ast.Compare) and other and len(node.ops) == 1:
        yield ast.Compare(node.left, [other()], node.comparators)


def without_sign(place: Place) -> Iterator[ast.AST]:
    """Remove a minus or a `not`; negative numbers are edited by `other_number`."""
    node = place.node
    if not isinstance(node, ast.UnaryOp) or isinstance(node.operand, ast.Constant):
        return
    if isinstance(node.op, ast.USub | ast.Invert | ast.Not):
        yield node.operand


def other_number(place: Place) -> Iterator[ast.AST]:
    """An integer plus one, another number doubled, True for False."""
    value = place.node.value if isinstance(place.node, ast.Constant) else None
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int):
        yield ast.Constant(value + 1)
    elif isinstance(value, float):
        yield ast.Constant(2 * value if value else 1.0)


def other_function(place: Place) -> Iterator[ast.AST]:
    """The mean for the sum and so on; the argument of a root for the root."""
    node = place.node
    if not isinstance(node, ast.Call):
        return
    if other := OTHER_NAME.get(called(node)):
        at = node.func
        func = (
            ast.Attribute(at.value, other, at.ctx)
            if isinstance(at, ast.Attribute)
            else ast.Name(other, ast.Load())
        )
        yield ast.Call(func, node.args, node.keywords)
    if called(node) == "sqrt" and len(node.args) == 1:
        yield node.args[0]


def without_argument(place: Place) -> Iterator[ast.AST]:
    """Remove a mask, a bias or another argument, unless it is the first of several."""
    node = place.node
    if not isinstance(node, ast.Call):
        return
    for keyword in node.keywords:
        first = not node.args and keyword is node.keywords[0] and len(node.keywords) > 1
        if keyword.arg in LEFT_OUT and not first:
            yield ast.Call(node.func, node.args, [one for one in node.keywords if one is not keyword])


RULES: tuple[Callable[[Place], Iterator[ast.AST]], ...] = (
    turned_condition,
    swapped_results,
    other_operator,
    other_comparison,
    without_sign,
    other_number,
    other_function,
    without_argument,
)


def edits(places: Iterable[Place]) -> Iterator[tuple[Place, ast.AST]]:
    """All edits of these nodes by the rules, without those that change nothing."""
    for place in places:
        for new in (new for rule in RULES for new in rule(place)):
            if ast.dump(new) != place.text:
                yield place, new
