"""Files of a class that are the same but for names: for a person to look at, because a short answer has few forms.

Two files are compared as trees of their code, in which comments, docstrings and imports do not count, and each name
that a file gives is replaced by the order in which it comes.
"""

import ast
from collections import defaultdict
from collections.abc import Sequence

from attnlib.exercises.classroom.grading import Report
from attnlib.exercises.classroom.submission import Submission

LEAST = 40  # nodes: a file with less code has no choice


class Renamed(ast.NodeTransformer):
    """Gives each name of a file its number."""

    def __init__(self, given: set[str]) -> None:
        self.given, self.numbers = given, dict[str, str]()

    def name(self, name: str) -> str:
        return self.numbers.setdefault(name, f"name {len(self.numbers)}") if name in self.given else name

    def visit(self, node: ast.AST) -> ast.AST:
        for field in ("id", "name", "arg"):
            if isinstance(value := getattr(node, field, None), str):
                setattr(node, field, self.name(value))
        return self.generic_visit(node)


def given_names(tree: ast.AST) -> set[str]:
    """The names that a file gives: of functions, arguments and variables."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found


def is_left_out(node: ast.stmt) -> bool:
    """An import, or a text that stands alone, such as a docstring."""
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return text or isinstance(node, ast.Import | ast.ImportFrom)


def form_of(submission: Submission) -> str | None:
    """What two files have in common that are the same but for names; None for a file with little code."""
    try:
        tree = ast.parse("\n".join(cell.source for cell in submission.cells))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [one for one in body if not is_left_out(one)]  # type: ignore[attr-defined]
    if sum(1 for _ in ast.walk(tree)) < LEAST:
        return None
    return ast.dump(Renamed(given_names(tree)).visit(tree))


def alike(reports: Sequence[Report]) -> list[list[str]]:
    """The learners whose files are the same but for names, of those who have tried something."""
    groups: dict[str, list[str]] = defaultdict(list)
    for report in reports:
        tried = any(mark.status != "not attempted" for mark in report.marks)
        form = form_of(report.submission) if tried else None
        if form is not None:
            groups[form].append(report.submission.learner)
    return [names for names in groups.values() if len(names) > 1]
