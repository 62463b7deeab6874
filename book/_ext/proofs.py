"""Do a row's `where` and `proof` lead anywhere, and does the proof assert anything?

A proof counts if its code could fail: an `assert` of something that is not a constant, a call of an `assert_...`
function, of `check_gradients` or of `ledger_row` with something that is not a constant, or `pytest.raises`. A `where`
counts if the built page has an element of that id.
"""

import ast
import json
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from .ledger import Row

CHECKERS = re.compile(r"(assert_\w+|_?check_\w+|ledger_row)")


def asserts_something(source: str) -> bool:
    """Could this code fail because what it says is untrue?

    >>> asserts_something("x = 1\\nassert x == 1"), asserts_something("assert True"), asserts_something("print(1)")
    (True, False, False)
    """
    lines = ["" if line.lstrip().startswith(("%", "!")) else line for line in source.splitlines()]
    return any(map(_could_fail, ast.walk(ast.parse("\n".join(lines)))))


def _could_fail(node: ast.AST) -> bool:
    if isinstance(node, ast.Assert):
        return _varies(node.test)
    if isinstance(node, ast.Call):
        name = _name(node.func)
        return bool(CHECKERS.fullmatch(name)) and any(
            map(_varies, [*node.args, *(k.value for k in node.keywords)])
        )
    if isinstance(node, ast.With):
        return any(
            isinstance(i.context_expr, ast.Call) and _name(i.context_expr.func) == "raises"
            for i in node.items
        )
    return False


def _varies(node: ast.AST) -> bool:
    """False for `True`, `1 == 1` and `x == x`: these cannot fail, whatever is true."""
    sides = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
    if len(sides) == 2 and ast.dump(sides[0]) == ast.dump(sides[1]):
        return False
    return any(isinstance(part, ast.Name | ast.Attribute | ast.Call) for part in ast.walk(node))


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def proof_problem(root: Path, proof: str) -> str:
    """Why `proof` proves nothing, in a sentence; empty if it does."""
    name, target = proof.split("::", 1)
    file = root / name
    if not file.exists():
        return f"{name} does not exist."
    if file.suffix == ".ipynb":
        cells = tagged_cells(file, target)
        if not cells:
            return f"{name} has no code cell with the tag {target}."
        if not any(map(asserts_something, cells)):
            return f"the cell {target} of {name} asserts nothing."
        return ""
    source = test_source(file, target)
    if source is None:
        return f"{name} has no test {target}, or pytest does not collect it."
    return "" if asserts_something(source) else f"the test {target} of {name} asserts nothing."


def tagged_cells(notebook: Path, tag: str) -> list[str]:
    """The code of the cells with a tag."""
    return [source for tags, source in _cells(notebook, notebook.stat().st_mtime_ns) if tag in tags]


@lru_cache(maxsize=64)
def _cells(notebook: Path, changed: int) -> list[tuple[list[str], str]]:
    cells = json.loads(notebook.read_text("utf8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    return [(cell["metadata"].get("tags", []), "".join(cell["source"])) for cell in code]


def test_source(file: Path, target: str) -> str | None:
    """The code of `test_x`, `TestClass::test_x` or `test_x[case]` in a test file."""
    if not file.name.startswith("test_"):
        return None
    path = re.sub(r"\[.*\]$", "", target).split("::")
    text = file.read_text("utf8")
    node: ast.AST = ast.parse(text)
    for name in path:
        found = next(_definitions(node, name), None)
        if found is None:
            return None
        node = found
    is_test = isinstance(node, ast.FunctionDef) and node.name.startswith("test")
    return ast.unparse(node) if is_test else None


def _definitions(node: ast.AST, name: str) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.ClassDef) and child.name == name:
            yield child


def where_problem(site: Path, where: str) -> str:
    """Why `where` leads nowhere in the built book, in a sentence; empty if it does."""
    page, anchor = where.split("#")
    file = site / "book" / f"{page}.html"
    if not file.exists():
        return f"the page {page} is not in the built book."
    if anchor not in page_ids(file, file.stat().st_mtime_ns):
        return f"the page {page} has no anchor {anchor}."
    return ""


@lru_cache(maxsize=64)
def page_ids(page: Path, changed: int) -> frozenset[str]:
    return frozenset(re.findall(r'\sid="([^"]+)"', page.read_text("utf8")))


def problems(row: Row, root: Path, site: Path) -> list[str]:
    """All that is missing before a row counts as taught and proved."""
    found = [] if row.where else ["it is taught nowhere (no where)."]
    found += [] if row.proof else ["nothing proves it (no proof)."]
    found += [where_problem(site, where) for where in row.where]
    found += [proof_problem(root, proof) for proof in row.proof]
    return [f"{row.id}: {sentence}" for sentence in found if sentence]
