"""An empty chapter that can be built and passes the tests: `make chapter NAME=06-efficient-attention`.

New are its folder, with chapter.yml, ledger.yml, subjects.yml, search_questions.yml and an empty *Checked* notebook,
and the folder of its exercises. At most two files that were there change: `_toc.yml` lists it, and rows of the ledger
that have waited for it in book/ledger/later.yml move into its own.
"""

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "book"))

import contents  # noqa: E402
from _ext.chapters import FOLDER  # noqa: E402  # pyright: ignore[reportMissingImports]
from setup_cell import TAGS, setup_text  # noqa: E402

CHAPTER = """title: {title}
subject: # a line for the introduction's plan
question: # what the README asks; while it is empty, neither announces the chapter
pages: # in order; each numbered one has a subject, in the words of the field, and a line in the introduction's plan
  checked:
"""
LEDGER = (
    "# What the documents say that this chapter treats, row by row. The schema is in book/_ext/ledger.py.\n"
)
SUBJECTS = "# What each page treats, in the words of the field, as in the index of a printed book.\n"
QUESTIONS = (
    "# What learners type, and the pages that answer it: one of them must be among the first three results.\n"
)
EXERCISES = '"""The exercises of Chapter {number}, one small file for each idea."""\n\nCHAPTER = "{number} · {title}"\n'
CHECKED = """# Checked: {title}

The sentences of the five documents about this subject, each with the computation that judges it. Nothing here is needed
to read on."""
IMPORTS = "from attnlib import viz\n\nviz.use_style()"
ROW = re.compile(r"^- id: .*?(?=^- id: |\Z)", re.M | re.S)


def parts_of(name: str, root: Path) -> tuple[int, str]:
    """The number and the title of the chapter, if there can be one of this name."""
    parts = FOLDER.fullmatch(name)
    if not parts:
        raise SystemExit(
            f"chapter: a name is like 06-efficient-attention; got {name!r}. Try: make chapter NAME=06-..."
        )
    taken = sorted(folder.name for folder in (root / "book").glob(f"{parts[1]}-*"))
    if taken:
        raise SystemExit(f"chapter: each chapter has a number of its own; {parts[1]} is that of {taken[0]}.")
    return int(parts[1]), parts[2].replace("-", " ").title()


def checked(title: str, root: Path) -> str:
    """The *Checked* notebook as it is stored, with its setup cell and an empty cell of imports."""
    shown = {"code_prompt_hide": "Hide the imports", "code_prompt_show": "Show the imports"}
    cells = [
        code_cell(0, 1, setup_text(root), {"tags": TAGS}),
        cell(1, "markdown", CHECKED.format(title=title.lower()), {}),
        code_cell(2, 2, IMPORTS, {"mystnb": shown, "tags": ["hide-input"]}),
    ]
    metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    whole = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def cell(i: int, kind: str, source: str, metadata: dict) -> dict:
    lines = source.splitlines(keepends=True)
    return {"cell_type": kind, "id": f"checked-{i:02}", "metadata": metadata, "source": lines}


def code_cell(i: int, count: int, source: str, metadata: dict) -> dict:
    return cell(i, "code", source, metadata) | {"execution_count": count, "outputs": []}


def move_rows(number: int, later: Path) -> str:
    """Take the rows that name this chapter out of later.yml; returns them without the name."""
    text = later.read_text("utf8")
    rows = [row for row in ROW.findall(text) if re.search(rf"^  chapter: {number:02} ", row, re.M)]
    for row in rows:
        text = text.replace(row, "")
    if rows:
        later.write_text(text.rstrip() + "\n", "utf8")
    return "".join("\n" + re.sub(r"^  chapter: .*\n", "", row, flags=re.M).rstrip() + "\n" for row in rows)


def make(name: str, root: Path = ROOT) -> list[Path]:
    """Make the chapter; returns the files that are new or have changed."""
    number, title = parts_of(name, root)
    book = root / "book"
    exercises = root / "attnlib" / "exercises" / name[3:].replace("-", "_")
    rows = move_rows(number, book / "ledger" / "later.yml")
    new = {
        book / name / "chapter.yml": CHAPTER.format(title=title),
        book / name / "ledger.yml": LEDGER + rows,
        book / name / "subjects.yml": SUBJECTS,
        book / name / "search_questions.yml": QUESTIONS,
        book / name / "checked.ipynb": checked(title, root),
        exercises / "__init__.py": EXERCISES.format(number=number, title=title),
    }
    for file, text in new.items():
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, "utf8")
    return [*new, *([book / "ledger" / "later.yml"] if rows else []), *contents.write(root)]


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        raise SystemExit("chapter: one name is needed. Try: make chapter NAME=06-efficient-attention")
    print("New or changed:", *(file.relative_to(ROOT) for file in make(arguments[0])), sep="\n  ")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
