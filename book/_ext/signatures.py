"""Signatures as they read best: `Float[Array, "*b m d_k"]` is written `(*b, m, d_k)`, one parameter a line if long."""

import ast
from html import escape

ELEMENTS = {
    "Float": "",
    "Int": "int ",
    "Bool": "bool ",
    "Shaped": "",
    "Num": "",
    "Integer": "int ",
    "Complex": "complex ",
}
NAMES = {
    "np.floating": "number",
    "Array": "array",
    "Any": "any",
    "np.ndarray": "array",
    "torch.Tensor": "Tensor",
}
WIDTH = 66


def annotation(node: ast.expr) -> str:
    """An annotation in words that a reader of the book knows.

    >>> annotation(ast.parse('Bool[Array, "*b m n"] | None', mode="eval").body)
    'bool (*b, m, n) | None'
    """
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return annotation(ast.parse(node.value, mode="eval").body)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return f"{annotation(node.left)} | {annotation(node.right)}"
    if isinstance(node, ast.Subscript):
        base = ast.unparse(node.value)
        inside = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if base in ELEMENTS and isinstance(inside[-1], ast.Constant):
            return ELEMENTS[base] + shape(str(inside[-1].value))
        if base == "Number" and isinstance(inside[-1], ast.Constant):
            return number(ast.unparse(inside[0]), str(inside[-1].value))
        return f"{base}[{', '.join(map(annotation, inside))}]"
    if isinstance(node, ast.List):
        return f"[{', '.join(map(annotation, node.elts))}]"
    text = ast.unparse(node)
    return NAMES.get(text, text)


def shape(axes: str) -> str:
    """The axes as a tuple is printed.

    >>> shape("*b m d_k"), shape("n"), shape("*s"), shape("")
    ('(*b, m, d_k)', '(n,)', '(*s)', '()')
    """
    names = axes.split()
    only = len(names) == 1 and not names[0].startswith(("*", "."))
    return f"({', '.join(names)}{',' if only else ''})"


def number(kind: str, allowed: str) -> str:
    """A number and its range; `<` beside the dots leaves that end out.

    >>> number("int", "1.."), number("float", "0<..1"), number("int", "0..n"), number("float", "")
    ('int ≥ 1', '0 < float ≤ 1', '0 ≤ int ≤ n', 'float')
    """
    low, _, high = allowed.partition("..")
    least = f"{low.rstrip('<')} {'<' if low.endswith('<') else '≤'} " if low else ""
    most = f" {'<' if high.startswith('<') else '≤'} {high.lstrip('<')}" if high else ""
    if least and not most:
        return f"{kind} {'>' if low.endswith('<') else '≥'} {low.rstrip('<')}"
    return f"{least}{kind}{most}"


def returned(node: ast.expr | None) -> str:
    """What a function gives back; several things stand side by side."""
    if node is None or ast.unparse(node) == "None":
        return ""
    if (
        isinstance(node, ast.Subscript)
        and ast.unparse(node.value) == "tuple"
        and isinstance(node.slice, ast.Tuple)
    ):
        return ", ".join(map(annotation, node.slice.elts))
    return annotation(node)


def parameters(node: ast.FunctionDef, *, method: bool = False) -> list[tuple[str, str, str]]:
    """(name, annotation, default) of each parameter; the bare `*` and `/` are entries too."""
    a = node.args
    plain = [*a.posonlyargs, *a.args]
    defaults = [None] * (len(plain) - len(a.defaults)) + list(a.defaults)
    found = [described(arg, default) for arg, default in zip(plain, defaults, strict=True)]
    if a.posonlyargs:
        found.insert(len(a.posonlyargs), ("/", "", ""))
    found = found[1:] if method else found
    if a.vararg:
        found.append(described(a.vararg, None, "*"))
    elif a.kwonlyargs:
        found.append(("*", "", ""))
    found += [described(arg, default) for arg, default in zip(a.kwonlyargs, a.kw_defaults, strict=True)]
    return found + ([described(a.kwarg, None, "**")] if a.kwarg else [])


def described(arg: ast.arg, default: ast.expr | None, stars: str = "") -> tuple[str, str, str]:
    return (
        stars + arg.arg,
        annotation(arg.annotation) if arg.annotation else "",
        ast.unparse(default) if default else "",
    )


def signature(name: str, given: list[tuple[str, str, str]], gives: str = "") -> str:
    """HTML of a signature."""
    arrow = f" → {gives}" if gives else ""
    length = len(name) + 2 + len(arrow) + sum(len(": ".join(filter(None, p[:2])) + p[2]) + 4 for p in given)
    parts = [parameter(*one) for one in given]
    if length <= WIDTH:
        inside = ", ".join(parts)
    else:
        inside = "\n" + "".join(f"    {part},\n" for part in parts)
    result = f" → <i>{escape(gives)}</i>" if gives else ""
    return f'<pre class="signature"><b>{escape(name)}</b>({inside}){result}</pre>'


def parameter(name: str, kind: str, default: str) -> str:
    text = f"<b>{escape(name)}</b>"
    text += f": <i>{escape(kind)}</i>" if kind else ""
    return text + (f" = {escape(default)}" if default else "")


def function_signature(node: ast.FunctionDef, name: str = "", *, method: bool = False) -> str:
    return signature(name or node.name, parameters(node, method=method), returned(node.returns))


def bases(node: ast.ClassDef) -> list[str]:
    return [ast.unparse(base).split(".")[-1] for base in node.bases]


def fields(node: ast.ClassDef) -> list[tuple[str, str, str]]:
    """The fields of a NamedTuple or a dataclass."""
    lines = [
        line for line in node.body if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
    ]
    return [
        (ast.unparse(line.target), annotation(line.annotation), ast.unparse(line.value) if line.value else "")
        for line in lines
        if not ast.unparse(line.target).startswith("_")
    ]


def methods(node: ast.ClassDef) -> list[ast.FunctionDef]:
    """The public methods, `forward` and `__call__` among them."""
    return [
        line
        for line in node.body
        if isinstance(line, ast.FunctionDef) and (not line.name.startswith("_") or line.name == "__call__")
    ]


def class_signature(node: ast.ClassDef) -> str:
    first = next(
        (line for line in node.body if isinstance(line, ast.FunctionDef) and line.name == "__init__"), None
    )
    return signature(node.name, parameters(first, method=True) if first else fields(node))
