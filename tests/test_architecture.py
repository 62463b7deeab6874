"""ARCHITECTURE.md names every room, and imports go where it says."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "ARCHITECTURE.md").read_text()
TABLE = TEXT.partition("## The rooms")[2].partition("## ")[0]
ROOMS = [
    re.findall(r"`([\w/.]+)`", line.split("|")[1]) for line in TABLE.splitlines() if line.startswith("| `")
]
LEVEL = {room: level for level, rooms in enumerate(ROOMS) for room in rooms}
FILES = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "attnlib").rglob("*.py"))]
DECISION = re.compile(r"^\| (\d{4}-\d\d-\d\d) \|.*?\(([0-9a-f]{7})\) \|", re.M)


def room_of(file: str) -> str:
    """The row's name that fits longest; empty if there is none."""
    fitting = [room for room in LEVEL if file == room or (room.endswith("/") and file.startswith(room))]
    return max(fitting, key=len, default="")


def imported(file: str) -> set[str]:
    """The files of the package that a file imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse((ROOT / file).read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("attnlib"):
            base = (node.module or "").replace(".", "/")
            found |= {f"{base}.py", *(f"{base}/{alias.name}.py" for alias in node.names)}
            found |= {f"{base}/__init__.py"} if (ROOT / base).is_dir() and base != "attnlib" else set()
    return {name for name in found if (ROOT / name).exists()}


def test_every_file_of_the_package_is_in_a_room():
    assert [file for file in FILES if not room_of(file) and file != "attnlib/__init__.py"] == []
    assert [room for room in LEVEL if not (ROOT / room).exists()] == []


@pytest.mark.parametrize("file", [file for file in FILES if file != "attnlib/__init__.py"])
def test_a_room_imports_from_rooms_above_it(file):
    here = LEVEL[room_of(file)]
    below = {other for other in imported(file) if LEVEL[room_of(other)] > here}
    assert below == set(), f"{file} imports from below: move it, or what it needs"


def test_a_decision_has_the_date_of_its_commit():
    asked = DECISION.findall(TEXT)
    assert len(asked) > 5
    for date, commit in asked:
        command = ["git", "show", "-s", "--format=%cs", commit]
        told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if told.returncode == 0:  # a clone may have no history
            assert told.stdout.strip() == date, commit
