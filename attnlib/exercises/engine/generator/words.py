"""How functions are called in sentences, and how pieces of code are put together."""

import ast
from typing import Any

REDUCED = {
    "sum": "sum",
    "mean": "mean",
    "max": "maximum",
    "min": "minimum",
    "argmax": "largest",
    "any": "any",
    "all": "all",
    "argmin": "smallest",
    "norm": "length",
    "prod": "product",
    "argsort": "order",
    "sort": "order",
    "cumsum": "running sum",
    "std": "spread",
    "concatenate": "joining",
    "stack": "stacking",
    "repeat": "repeating",
}  # functions that make an axis shorter, and what they are called
WORDS = REDUCED | {
    "exp": "exponential",
    "exp2": "power of 2",
    "log": "logarithm",
    "log2": "logarithm to base 2",
    "log10": "logarithm to base 10",
    "sqrt": "root",
    "var": "variance",
    "abs": "absolute value",
    "argmax": "place of the largest",
    "argmin": "place of the smallest",
}
ADDED = "A small number was added to a denominator or inside a logarithm. It changes every result a little."
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


def inside(call: ast.Call) -> ast.expr:
    """What a function or a method is called of: x of `x.sum(...)` and of `np.sum(x, ...)`."""
    if isinstance(call.func, ast.Attribute) and getattr(call.func.value, "id", "") not in (
        "np",
        "torch",
        "math",
    ):
        return call.func.value
    return call.args[0] if call.args else call.func


def replaced_keyword(call: ast.Call, name: str, value: ast.expr) -> ast.Call:
    others = [one for one in call.keywords if one.arg != name]
    return ast.Call(call.func, call.args, [*others, ast.keyword(name, value)])


def first_big(text: str) -> str:
    return text[0].upper() + text[1:]
