"""Count the lines that check arguments: `python tools/count_checking.py [FOLDER]`, where FOLDER holds `attnlib`.

Counted are, in `attnlib/*.py`, `attnlib/reference` and `attnlib/nn`, all lines, blank ones and docstrings too, of

- files with no other purpose: `checking.py`, `rules.py`, `debug.py`, `_values.py`, `_check*.py`;
- functions with no other purpose: `_check...`, and in `shapes.py` `checked`, `same_size` and `_sign`;

and elsewhere the lines of statements that only check (a call of something named `rules` or `_check...`, a `raise` with
the `if` around it) and of decorators (`@checked`, `@same_size`, `@_values...`).
"""

import ast
import re
import sys
from pathlib import Path

FILES = re.compile(r"checking|rules|debug|_values|_check\w*")
CHECK = re.compile(r"(\w+\.)?_check\w*|rules|_values")
IN_SHAPES = {"checked", "same_size", "_sign"}


def lines_of(*nodes: ast.AST) -> set[int]:
    return {line for one in nodes for line in range(one.lineno, (one.end_lineno or one.lineno) + 1)}  # type: ignore


def checks(node: ast.AST) -> bool:
    """Whether a statement only checks."""
    if isinstance(node, ast.If):
        return not node.orelse and all(isinstance(one, ast.Raise) or checks(one) for one in node.body)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return bool(CHECK.match(ast.unparse(node.value.func)))
    return isinstance(node, ast.Raise)


def lines_in(tree: ast.AST, in_shapes: bool) -> set[int]:
    """The checking lines of a file with other contents."""
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            own = node.name.startswith("_check") or (in_shapes and node.name in IN_SHAPES)
            found |= lines_of(node) if own else set()
            found |= lines_of(*(one for one in node.decorator_list if CHECK.match(ast.unparse(one))))
        elif isinstance(node, ast.stmt) and checks(node):
            found |= lines_of(node)
    return found


def count(folder: Path) -> dict[str, int]:
    counted = {}
    for file in sorted([*folder.glob("attnlib/*.py"), *folder.glob("attnlib/*/*.py")]):
        if file.parent.name in ("attnlib", "reference", "nn") and file.stem != "testing":
            text = file.read_text()
            whole = FILES.fullmatch(file.stem)
            n = len(text.splitlines()) if whole else len(lines_in(ast.parse(text), file.stem == "shapes"))
            counted |= {f"{file.parent.name}/{file.name}": n} if n else {}
    return counted


if __name__ == "__main__":
    counted = count(Path(sys.argv[1] if sys.argv[1:] else "."))
    for name, n in counted.items():
        print(f"{n:5}  {name}")
    print(f"{sum(counted.values()):5}  lines of checking")
