"""What proves a row, as code that runs alone, and whether an edit of it is a counter-proof.

A counter-proof changes what is *computed*. An edit is refused if it touches an assert, a call that compares, a
comparison, a tolerance or an expected value, as far as the syntax tells; if it adds a way to fail; or if it changes
nothing. An expected value is one with such a name, or a literal that is used in comparisons alone.
"""

import ast
import builtins
import json
import re
import symtable
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from .ledger import Edit
from .proofs import CHECKERS, test_source

COMPARES = re.compile(r"judged|close|all_?close|isclose|approx|array_equal|equal|raises|almost\w*")
NEAR = re.compile(r"[ar]tol|tol|tolerance|rel|abs|kind")
EXPECTED = re.compile(r"(expected|tolerance|[ar]tol|printed|published|stated)\w*")
JUDGES = {"attnlib/testing.py", "attnlib/checking.py", "attnlib/shapes.py", "attnlib/rules.py"}


class Cell(NamedTuple):
    """A code cell of a notebook, as Python."""

    tags: tuple[str, ...]
    source: str


@lru_cache(maxsize=256)
def cells_of(text: str) -> tuple[Cell, ...]:
    """The code cells of a notebook behind its setup cell; lines that only IPython reads are empty."""
    code = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    cells = [Cell(tuple(c["metadata"].get("tags", [])), _python("".join(c["source"]))) for c in code]
    return tuple(cell for cell in cells if "remove-cell" not in cell.tags)


def _python(source: str) -> str:
    lines = ("" if line.lstrip().startswith(("%", "!")) else line for line in source.splitlines())
    return "\n".join(lines)


def proving_cells(cells: tuple[Cell, ...], tag: str) -> list[str]:
    """The cells with a tag and those before them whose names they use, in order."""
    chosen = {i for i, cell in enumerate(cells) if tag in cell.tags}
    wanted: set[str] = set()
    for i in range(max(chosen, default=-1), -1, -1):
        names = names_of(cells[i].source)
        if i in chosen or wanted & names.bound:
            chosen.add(i)
            wanted = (wanted - names.bound) | names.needed
    return [cells[i].source for i in sorted(chosen)]


class Names:
    """Which names a cell binds, and which it needs from cells before it.

    >>> names = Names("y = x + 1\\nz = [y * i for i in range(n)]")
    >>> sorted(names.bound), sorted(names.needed)
    (['y', 'z'], ['n', 'x'])
    """

    def __init__(self, source: str) -> None:
        self.bound: set[str] = set()
        self.needed: set[str] = set()
        for statement in ast.parse(source).body:
            table = symtable.symtable(ast.unparse(statement), "cell", "exec")
            binds = {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()}
            reads = set(_free(table)) - (binds - _read_first(statement))
            self.needed |= reads - self.bound - set(dir(builtins))
            self.bound |= binds


@cache
def names_of(source: str) -> Names:
    """The names of a cell, which many rows ask for."""
    return Names(source)


def _free(table: symtable.SymbolTable) -> Iterator[str]:
    """Names that are read and belong to the module."""
    module = table.get_type() == "module"
    yield from (s.get_name() for s in table.get_symbols() if s.is_referenced() and (module or s.is_global()))
    for child in table.get_children():
        yield from _free(child)


def _read_first(statement: ast.stmt) -> set[str]:
    """Names that a statement reads before it binds them: `x` in `x = x + 1` and in `x += 1`."""
    first = {
        ast.Assign: lambda s: [s.value],
        ast.AugAssign: lambda s: [s.value, ast.Name(s.target.id)] if isinstance(s.target, ast.Name) else [s],
        ast.For: lambda s: [s.iter],
    }.get(type(statement), lambda s: [])
    parts = [part for whole in first(statement) for part in ast.walk(whole)]
    return {part.id for part in parts if isinstance(part, ast.Name)}


def proving_code(root: Path, proof: str) -> list[str]:
    """What runs when a proof is run alone: cells, or one test; empty if there is none."""
    name, target = proof.split("::", 1)
    file = root / name
    if not file.exists():
        return []
    if file.suffix == ".ipynb":
        return proving_cells(cells_of(file.read_text("utf8")), target)
    source = test_source(file, target)
    return [source] if source else []


def edit_problem(root: Path, proof: str, edit: Edit) -> str:
    """Why an edit is no counter-proof, in a sentence; empty if it may be one."""
    if edit.file in JUDGES:
        return f"{edit.file} is what judges; edit what is computed."
    if edit.file:
        file = root / edit.file
        return text_problem(file.read_text("utf8"), edit) if file.exists() else f"{edit.file} does not exist."
    name = proof.split("::")[0]
    parts = proving_code(root, proof) if name.endswith(".ipynb") else [(root / name).read_text("utf8")]
    holders = [part for part in parts if edit.old in part]
    if len(holders) != 1:
        return f"`{edit.old}` stands in {len(holders)} of the cells that the proof runs; it must be one."
    return text_problem(holders[0], edit, "\n".join(parts))


def text_problem(source: str, edit: Edit, proof: str = "") -> str:
    """The same for one text; `proof` is all of the proving code, if the text is of it.

    >>> text_problem("x = 1 + y\\nassert x > 2", Edit("1 + y", "1 - y"), "x = 1 + y\\nassert x > 2")
    ''
    >>> text_problem("x = 1 + y\\nassert x > 2", Edit("> 2", "> 3"), "x = 1 + y\\nassert x > 2")
    'the edit touches what compares: `assert x > 2`.'
    """
    if (times := source.count(edit.old)) != 1:
        return f"`{edit.old}` stands there {times} times; it must be once."
    try:
        before, after = ast.parse(source), ast.parse(source.replace(edit.old, edit.new))
    except SyntaxError as error:
        return f"the edited code is no Python: {error.msg}."
    if _computes(before) == _computes(after):
        return "the edit changes nothing that is computed."
    if _ways_to_fail(after) > _ways_to_fail(before):
        return "the edit adds an assert or a raise; it must change what is computed."
    start, stop = _span(source, edit)
    touched = list(_on_lines(before, source.count("\n", 0, start) + 1, source.count("\n", 0, stop) + 1))
    for node in [*_judges(touched, bool(proof)), *_expected(touched, proof or source)]:
        first, last = _place(source, node)
        if start < last and first < stop:
            return f"the edit touches what compares: `{ast.unparse(node).splitlines()[0]}`."
    return ""


def _span(source: str, edit: Edit) -> tuple[int, int]:
    """Where the text changes; at least one character."""
    same = 0
    while same < min(len(edit.old), len(edit.new)) and edit.old[same] == edit.new[same]:
        same += 1
    behind = 0
    most = min(len(edit.old), len(edit.new)) - same
    while behind < most and edit.old[-1 - behind] == edit.new[-1 - behind]:
        behind += 1
    start = source.index(edit.old)
    return start + same, max(start + len(edit.old) - behind, start + same + 1)


def _place(source: str, node: ast.AST) -> tuple[int, int]:
    """First and last character of a node in the source."""
    lines = source.splitlines(keepends=True)

    def at(line: int, column: int) -> int:
        before = lines[line - 1].encode()[:column].decode()
        return sum(map(len, lines[: line - 1])) + len(before)

    return at(node.lineno, node.col_offset), at(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]


def _on_lines(tree: ast.AST, first: int, last: int) -> Iterator[ast.AST]:
    """The parts of a tree that stand on these lines, if only partly."""
    for node in ast.iter_child_nodes(tree):
        begins = min(getattr(one, "lineno", first) for one in [node, *getattr(node, "decorator_list", [])])
        if begins <= last and getattr(node, "end_lineno", first) >= first:
            yield node
            yield from _on_lines(node, first, last)


def _judges(nodes: Iterable[ast.AST], proving: bool) -> Iterator[ast.AST]:
    """What compares: asserts, calls that compare, tolerances; in proving code each comparison, too."""
    for node in nodes:
        if isinstance(node, ast.Assert) or (proving and isinstance(node, ast.Compare)):
            yield node
        elif isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if CHECKERS.fullmatch(name) or COMPARES.fullmatch(name):
                yield node
        elif proving and isinstance(node, ast.keyword) and NEAR.fullmatch(node.arg or ""):
            yield node


def _expected(nodes: Iterable[ast.AST], proof: str) -> Iterator[ast.AST]:
    """Assignments of what is expected: by their name, or a literal that is read in comparisons alone."""
    for node in nodes:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = {part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}
            named = any(map(EXPECTED.fullmatch, names))
            if named or (names and _is_literal(node.value) and all(_only_compared(n, proof) for n in names)):
                yield node


def _is_literal(value: ast.expr | None) -> bool:
    """A number, a text, a table of them, or an array made of one."""
    if isinstance(value, ast.Call):
        made = isinstance(value.func, ast.Attribute) and value.func.attr in {"array", "tensor"}
        return made and bool(value.args) and _is_literal(value.args[0])
    try:
        ast.literal_eval(value if value is not None else ast.Name("x"))
    except ValueError:
        return False
    return True


def _only_compared(name: str, proof: str) -> bool:
    tree = ast.parse(proof)
    compared = {id(part) for judge in _judges(ast.walk(tree), True) for part in ast.walk(judge)}
    loads = [
        n for n in ast.walk(tree)
        if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)
    ]  # fmt: skip
    return bool(loads) and all(id(load) in compared for load in loads)


def _computes(tree: ast.Module) -> str:
    """The tree without its docstrings."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            body[:] = [s for s in body if not _is_text(s)] or [ast.Pass()]
    return ast.dump(tree)


def _is_text(statement: ast.AST) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _ways_to_fail(tree: ast.AST) -> int:
    return sum(isinstance(node, ast.Assert | ast.Raise) for node in ast.walk(tree))
