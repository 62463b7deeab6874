"""The table of tried edits that several commands print: each edit, the check that noticed it, and its seconds.

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     table("example", [Tried("a.py:3", "x = a + b", "x = a - b", "", 0.25)], Path(folder))
1 edits: 0 noticed, 0 compute the same, 1 survived, 0 s
survived: edit | noticed by | seconds
  a.py:3: x = a + b -> x = a - b |  | 0.25
All are in _build/edits/example.jsonl.
"""

import ast
import json
import os.path
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from attnlib.editing import Place, shown

SLOWEST = 10  # slowest edits that are printed, after the survivors
MOST = 40  # at most so many survivors are printed
CONTEXT, WIDTH = 16, 44  # characters shown before the difference, and of each line at most


class Tried(NamedTuple):
    """One row: the position of the edit, the line before and after it, and what noticed it ("" if nothing did)."""

    place: str  # file:line
    before: str
    after: str
    noticed: str
    seconds: float
    reason: str = ""  # why the edit is known to compute the same

    @property
    def survived(self) -> bool:
        return not self.noticed and not self.reason

    def __str__(self) -> str:
        before, after = short(self.before, self.after)
        return f"{self.place}: {before} -> {after} | {self.noticed or self.reason} | {self.seconds:.2f}"


def tried(file: str, at: Place, new: ast.AST, noticed: str = "", seconds: float = 0.0) -> Tried:
    """The row for an edit of the syntax tree."""
    return Tried(f"{file}:{at.lineno}", *shown(at, new), noticed, round(seconds, 2))


def short(before: str, after: str) -> tuple[str, str]:
    """Both lines, cut to where they differ.

    >>> short("result = " + 9 * "long + " + "x", "result = " + 9 * "long + " + "y")
    ('...+ long + long + x', '...+ long + long + y')
    """
    start = max(0, len(os.path.commonprefix([before, after])) - CONTEXT)
    start = start if max(len(before), len(after)) > WIDTH else 0

    def cut(line: str) -> str:
        end = "..." if len(line) > start + WIDTH else ""
        return ("..." if start else "") + line[start : start + WIDTH] + end

    return cut(before), cut(after)


def counts(rows: Sequence[Tried]) -> str:
    """How many edits were noticed, compute the same, or survived, as a sentence."""
    noticed, same = sum(bool(row.noticed) for row in rows), sum(bool(row.reason) for row in rows)
    left = sum(row.survived for row in rows)
    return f"{noticed} noticed, {same} compute the same, {left} survived"


def table(command: str, rows: Sequence[Tried], root: Path) -> None:
    """Write all rows to `_build/edits/`, and print the survivors and the slowest edits."""
    file = root / "_build" / "edits" / f"{command}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(row._asdict(), ensure_ascii=False) for row in rows]
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    print(f"{len(rows)} edits: {counts(rows)}, {sum(row.seconds for row in rows):.0f} s")
    survivors = [row for row in rows if row.survived]
    dearest = sorted((row for row in rows if not row.survived), key=lambda row: -row.seconds)[:SLOWEST]
    show_rows("survived", survivors[:MOST])
    if len(survivors) > MOST:
        print(f"  and {len(survivors) - MOST} more")
    show_rows("the dearest", dearest)
    print(f"All are in {file.relative_to(root)}.")


def show_rows(title: str, rows: Iterable[Tried]) -> None:
    rows = list(rows)
    if rows:
        print(f"{title}: edit | noticed by | seconds", *rows, sep="\n  ")
