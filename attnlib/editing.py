"""The one editor of Python code: a node of the syntax tree is replaced, and the same edit is written as text.

A rule takes one node of a tree and yields `Change`s of its node. The mistakes of exercises
(attnlib/exercises/engine/generator/edited_code.py), the edits that tests must notice (tools/mutants.py) and the
generated edits of the ledger's rows (tools/proofs.py) are made by different rules and put in by this module. It needs
the standard library alone.

>>> source = Source("x = (a - b) * 2  # doubled\\n")
>>> position = next(one for one in source.places() if isinstance(one.node, ast.BinOp))
>>> source.written(position, ast.parse("a - b", mode="eval").body).applied(source.text)
'x = a - b  # doubled\\n'
>>> shown(position, ast.parse("a - b", mode="eval").body)
('x = (a - b) * 2', 'x = a - b')
"""

import ast
import contextlib
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple


@dataclass(frozen=True)
class Change:
    """What a node is replaced by; a mistake of an exercise also has a name and a sentence."""

    new: ast.AST
    name: str = ""
    sentence: str = ""
    everywhere: bool = False  # also where the same code stands elsewhere
    family: Callable[[ast.AST], ast.AST | None] | None = None  # also made of many nodes at once
    weak: bool = False  # named only where no other mistake gives the same numbers


class Place:
    """Where a node hangs in the tree: a field of its parent, and its number where the field is a list."""

    def __init__(
        self, parent: ast.AST, field: str, index: int | None, node: ast.AST, above: "Place | None" = None
    ) -> None:
        self.parent, self.field, self.index, self.node, self.above = parent, field, index, node, above

    @functools.cached_property
    def text(self) -> str:
        return ast.dump(self.node)

    @property
    def now(self) -> ast.AST:
        """What stands here at the moment."""
        found = getattr(self.parent, self.field)
        return found if self.index is None else found[self.index]

    def put(self, node: ast.AST) -> None:
        if self.index is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.index] = node

    def outwards(self) -> Iterator["Place"]:
        """This node, and those around it."""
        position = self
        while position is not None:
            yield position
            position = position.above

    @property
    def line(self) -> ast.AST:
        """The nearest node around this one that has a line in the source."""
        parents = (position.parent for position in self.outwards() if hasattr(position.parent, "lineno"))
        return next(parents, self.node)

    @property
    def lineno(self) -> int:
        return getattr(self.node, "lineno", 0) or getattr(self.line, "lineno", 0)


def anywhere(position: Place) -> bool:
    return True


def places(
    tree: ast.AST, enters: Callable[[Place], bool] = anywhere, above: Place | None = None
) -> Iterator[Place]:
    """All nodes of a tree below its root, from the outside in; what `enters` refuses is left out with its inside."""
    for field, value in ast.iter_fields(tree):
        for index, node in enumerate(value) if isinstance(value, list) else ((None, value),):
            if isinstance(node, ast.AST):
                position = Place(tree, field, index, node, above)
                if enters(position):
                    yield position
                    yield from places(node, enters, position)


def called(node: ast.AST) -> str:
    """The last name of what a call calls: `sum` of `E.sum(...)` and of `np.sum(...)`."""
    if not isinstance(node, ast.Call):
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


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


@contextlib.contextmanager
def replaced(pairs: Iterable[tuple[Place, ast.AST]]) -> Iterator[None]:
    """Within the block the new nodes stand in the tree, with the lines of what they replace; then the old ones."""
    pairs = list(pairs)
    try:
        for position, new in pairs:
            position.put(new)
            around = ast.Expr(new)  # pyright: ignore[reportArgumentType]
            ast.fix_missing_locations(ast.copy_location(around, position.line))  # in what is new alone
        yield
    finally:
        for position, _ in pairs:
            position.put(position.node)


def shown(position: Place, new: ast.AST) -> tuple[str, str]:
    """For people: the statement before and after, in one line; of a loop or a condition its first line."""
    statement = next(
        one for one in position.outwards() if isinstance(one.node, ast.stmt) or one.above is None
    )
    inside = not isinstance(statement.node, ast.stmt)  # the tree begins below the statement
    before = first_line(statement.parent if inside else statement.node)
    with replaced([(position, new)]):
        return before, first_line(statement.parent if inside else statement.now)


def first_line(statement: ast.AST) -> str:
    """A statement without the statements in it."""
    inner = {name: part for name, part in ast.iter_fields(statement) if isinstance(part, list)}
    inner = {
        name: part for name, part in inner.items() if name in ("body", "orelse", "finalbody", "handlers")
    }
    for name in inner:
        setattr(statement, name, [])
    try:
        return " ".join(ast.unparse(statement).split())
    finally:
        for name, part in inner.items():
            setattr(statement, name, part)


class Written(NamedTuple):
    """An edit as text: at `start`, `new` stands instead of `old`."""

    start: int
    old: str
    new: str

    def applied(self, text: str) -> str:
        return text[: self.start] + self.new + text[self.start + len(self.old) :]

    def undone(self, text: str) -> str:
        return text[: self.start] + self.old + text[self.start + len(self.new) :]


class Source:
    """A text with its tree, whose edits are written as text; what is not edited stays letter by letter."""

    def __init__(self, text: str) -> None:
        self.text, self.tree = text, ast.parse(text)
        self.lines = [f"{line}\n" for line in text.split("\n")]
        self.starts = [0, *itertools.accumulate(map(len, self.lines))]

    def places(self, enters: Callable[[Place], bool] = anywhere) -> Iterator[Place]:
        return places(self.tree, enters)

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Where a node begins and ends in the text, in letters."""
        assert isinstance(node, ast.expr | ast.stmt | ast.keyword)
        assert node.end_lineno and node.end_col_offset is not None
        return self.at(node.lineno, node.col_offset), self.at(node.end_lineno, node.end_col_offset)

    def at(self, line: int, column: int) -> int:
        before = self.lines[line - 1].encode()[:column]
        return self.starts[line - 1] + len(before.decode(errors="ignore"))

    def written(self, position: Place, new: ast.AST) -> Written:
        """The edit as text, which parses to the tree in which `new` is put in.

        The smallest part that differs is written anew, in brackets where it needs them; where even that reads
        otherwise (a part of an f-string, an operator without a position of its own), what stands around it is written.
        """
        position, new = narrowed(position, as_read(new))
        *_, top = position.outwards()
        with replaced([(position, new)]):
            wanted = ast.dump(top.now)
            for outer in position.outwards():
                if not isinstance(outer.node, ast.expr | ast.stmt | ast.keyword):
                    continue
                start, end = self.span(outer.node)
                code = ast.unparse(outer.now)
                for one in (code, f"({code})"):
                    edit = Written(start, self.text[start:end], one)
                    if self.reads(edit, top.node) == wanted:
                        return edit
        raise ValueError(f"written: no text reads as the edit of `{shown(position, new)[0]}`.")

    def reads(self, edit: Written, top: ast.AST) -> str | None:
        """What a statement of the module is after the edit, read from its text alone; None if it is no Python."""
        start, end = self.span(top)
        start = min([start, *(self.starts[one.lineno - 1] for one in getattr(top, "decorator_list", ()))])
        moved = edit._replace(start=edit.start - start)
        try:
            body = ast.parse(moved.applied(self.text[start:end])).body
        except (SyntaxError, ValueError):
            return None
        return ast.dump(body[0]) if len(body) == 1 else None


def as_read(new: ast.AST) -> ast.AST:
    """The node as Python would read it from its text: a negative number is a minus and a number, names are loaded.

    >>> ast.dump(as_read(ast.Constant(-2)))
    'UnaryOp(op=USub(), operand=Constant(value=2))'
    """
    if isinstance(new, ast.expr):
        return ast.parse(f"({ast.unparse(new)})", mode="eval").body
    if isinstance(new, ast.keyword):
        call = ast.parse(f"f({ast.unparse(new)})", mode="eval").body
        return call.keywords[0] if isinstance(call, ast.Call) else new
    return ast.parse(ast.unparse(new)).body[0] if isinstance(new, ast.stmt) else new


def narrowed(position: Place, new: ast.AST) -> tuple[Place, ast.AST]:
    """The smallest part in which old and new differ."""
    while type(position.node) is type(new) and (inner := only_difference(position, new)):
        position, new = inner
    return position, new


def only_difference(position: Place, new: ast.AST) -> tuple[Place, ast.AST] | None:
    """The one child in which two nodes of a kind differ; None if they differ in more, or in something else."""
    found: list[tuple[Place, ast.AST]] = []
    for field, old in ast.iter_fields(position.node):
        other: Any = getattr(new, field, None)
        pairs = [(None, old, other)]
        if isinstance(old, list):
            if len(old) != len(other):
                return None
            pairs = [(i, *pair) for i, pair in enumerate(zip(old, other, strict=True))]
        for index, a, b in pairs:
            if not (isinstance(a, ast.AST) and isinstance(b, ast.AST)):
                if a != b:
                    return None
            elif ast.dump(a) != ast.dump(b):
                found.append((Place(position.node, field, index, a, position), b))
    return found[0] if len(found) == 1 else None
