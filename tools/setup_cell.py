"""Write the setup cell of `book/setup-cell.py` into every notebook: `python tools/setup_cell.py`, or `make cell`.

It is the first code cell. It stores no output, so no notebook has to run again; nothing else is changed.
"""

import sys
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parent.parent
TAGS = ["remove-cell", "nbval-ignore-output"]


def setup_text(root: Path = ROOT) -> str:
    """The one setup cell."""
    return (root / "book" / "setup-cell.py").read_text(encoding="utf-8").rstrip("\n")


def give(path: Path, text: str) -> bool:
    """Write `text` into the notebook's setup cell; returns whether the file changed."""
    before = path.read_text(encoding="utf-8")
    notebook = nbformat.reads(before, as_version=4)
    first = next(cell for cell in notebook.cells if cell.cell_type == "code")
    if not first.source.startswith("# Setup:"):
        raise SystemExit(f"setup_cell: the first code cell of {path} must be the setup cell; insert one.")
    first.source, first.metadata["tags"], first.outputs = text, TAGS, []
    after = nbformat.writes(notebook, indent=1).rstrip("\n") + "\n"
    path.write_text(after, encoding="utf-8")
    return after != before


def main() -> None:
    changed = [path for path in sorted((ROOT / "book").glob("**/*.ipynb")) if give(path, setup_text())]
    print("The setup cell is new in:", *(changed or ["no notebook"]), sep="\n  ")


if __name__ == "__main__":
    sys.exit(main())
