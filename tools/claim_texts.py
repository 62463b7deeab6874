"""What the *Checked* notebooks say of a claim is written from the ledger: `python tools/claim_texts.py`.

A paragraph of a notebook that opens with the claim's anchor and `**Said**` is written anew from the row's `text`,
`sources`, `verdict` and `correct`; what stands around it stays. A test compares, so a claim is worded in one place.
"""

import re
import sys
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "book"))

from _ext.ledger import DOCUMENTS, Row, load, shown  # noqa: E402  # pyright: ignore[reportMissingImports]

NOTEBOOKS = sorted((ROOT / "book").glob("*/checked*.ipynb"))
PARAGRAPH = re.compile(
    r'((?:<a id="[cse]\d{3}"></a>\n)*<a id="(c\d{3})"></a>\n(?:<a id="[se]\d{3}"></a>\n)*)\*\*Said\*\*.*?(?=\n\n|\Z)',
    re.S,
)


def said(row: Row) -> str:
    """What a document says, and what is right of it."""
    sources = "; ".join(f"{DOCUMENTS[source[:2]]}, {source[3:]}" for source in row.sources)
    return f"**Said** ({sources}): {row.text}\n**{shown(row.verdict).capitalize()}.** {row.correct}"


def written(text: str, rows: dict[str, Row]) -> str:
    """The text of a cell with its claims as the ledger has them."""
    return PARAGRAPH.sub(lambda found: found[1] + said(rows[found[2].upper()]), text)


def main() -> int:
    rows = load(ROOT / "book")
    for path in NOTEBOOKS:
        notebook = nbformat.read(path, as_version=4)
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                cell.source = written(cell.source, rows)
        nbformat.write(notebook, path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
