"""Check everything that depends on one notebook: cells, page at both widths, ledger rows, exercises, explorables.

    make check NB=book/01-foundations/3-queries-keys-values.ipynb

The cells run against their stored outputs while the book is built anew; then come the tests that are about this page.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
CELLS = ["--nbval", "--nbval-current-env", "--nbval-sanitize-with=tests/nbval_sanitize.cfg"]
# Test files with tests for single pages, rows, exercises or explorables.
FILES = [
    "notebooks",
    "pages",
    "figures",
    "reading_helps",
    "prose_numbers",
    "budget",
    "tolerance",
    "bibliography",
]
FILES += ["rows", "ledger", "claim_places", "row_badges", "answers", "exercise_pages", "exercises_guard"]
FILES += ["exercises_natural", "explorables", "explorable_pages", "explorable_hands"]
ROW = re.compile(r"[SEC]\d{3}")
EXERCISE = re.compile(r"> \*\*Exercise\*\* · .* · ([a-z-]+\.[a-z0-9-]+)")
EXPLORABLE = re.compile(r"\b([A-Z][a-z]\w+)\(")


def names(path: Path, rows: dict[str, str]) -> list[str]:
    """The names by which pytest selects the tests about this notebook: page, exercises, rows and explorables."""
    cells = json.loads(path.read_text("utf8"))["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells)
    moved = ["".join(cell["source"]) for cell in cells if "viz.explore(" in "".join(cell["source"])]
    classes = {name for source in moved for name in EXPLORABLE.findall(source)}
    tags = {tag for cell in cells for tag in cell["metadata"].get("tags", []) if ROW.fullmatch(tag)}
    proved = {row for row, proof in rows.items() if proof.partition("::")[0].endswith(f"{page(path)}.ipynb")}
    return [page(path), *EXERCISE.findall(text), *sorted(classes), *sorted(tags | proved)]


def page(path: Path) -> str:
    """
    >>> page(ROOT / "book/03-multi-head/3-memory.ipynb")
    '03-multi-head/3-memory'
    """
    return path.resolve().relative_to(ROOT / "book").with_suffix("").as_posix()


def proofs() -> dict[str, str]:
    """Where each row of the ledger is proved."""
    listed = [
        row
        for file in sorted((ROOT / "book/ledger").glob("*.yml"))
        for row in yaml.safe_load(file.read_text())
    ]
    return {row["id"]: str(row.get("proof", "")) for row in listed if isinstance(row, dict) and "id" in row}


def main(notebook: str) -> int:
    path = Path(notebook)
    if path.suffix != ".ipynb" or not path.is_file():
        print(
            f"check: NB must be a notebook of the book; got {notebook}. Try: NB=book/03-multi-head/3-memory.ipynb"
        )
        return 2
    pytest = [sys.executable, "-m", "pytest"]
    cells = subprocess.Popen([*pytest, *CELLS, notebook], cwd=ROOT)
    built = subprocess.run([sys.executable, "tools/build_book.py"], cwd=ROOT)
    files = [f"tests/test_{name}.py" for name in FILES]
    chosen = ["-n", "2", "-m", "not colab", "-k", " or ".join(names(path, proofs()))]
    tests = subprocess.run([*pytest, *chosen, *files], cwd=ROOT)
    broken = {
        "its cells": cells.wait(),
        "the build": built.returncode,
        "the tests about it": tests.returncode,
    }
    failed = [what for what, code in broken.items() if code]
    print(
        f"check: {notebook}: {', '.join(failed) + ' failed; see above.' if failed else 'everything passed.'}"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
