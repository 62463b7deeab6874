"""What the text of a submission says of itself, read before it runs, where the submission cannot reach."""

import ast
from collections.abc import Iterator

from attnlib.exercises.classroom.submission import Submission

EXERCISES = "attnlib.exercises."
ALLOWED = ("attnlib.exercises.kit",)  # what a task may say is there


def suspicions(submission: Submission) -> list[str]:
    """A sentence for each import of the engine, the solutions, or the known mistakes."""
    found = []
    for cell in submission.cells:
        try:
            tree = ast.parse(cell.source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        found += [f"imports {name}" for name in imported(tree) if is_ours(name)]
    return list(dict.fromkeys(found))


def imported(tree: ast.Module) -> Iterator[str]:
    """The modules that a text imports, wherever it does so."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            whole = node.module == EXERCISES.rstrip(".")
            yield from (f"{node.module}.{alias.name}" for alias in node.names) if whole else [node.module]


def is_ours(name: str) -> bool:
    """Whether a module is one of the engine's or an exercise's own; what `attnlib.exercises` offers is not."""
    from attnlib import exercises

    offered = name.removeprefix(EXERCISES) in exercises.__all__
    return name.startswith(EXERCISES) and not offered and not name.startswith(ALLOWED)
