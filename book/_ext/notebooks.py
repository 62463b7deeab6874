"""What the notebooks of the chapters say of themselves: title, side road, anchors, and the rows that cells prove.

It is read from their files, so that tools know it without a build.
"""

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

ANCHOR = re.compile(r'<a id="([^"]+)"></a>')
CLAIM = re.compile(r"\*\*Claim checked\*\* · [^\n]*")
ROW = re.compile(r"\b[SEC]\d{3}\b")
TITLE = re.compile(r"^# (.+)$", re.M)


@dataclass(frozen=True)
class Notebook:
    """One notebook of a chapter; `page` is its name, `05-training/2-steps`."""

    page: str
    title: str
    side_road: bool  # no other page needs it
    anchors: frozenset[str]
    proves: frozenset[str]  # ids of ledger rows that a code cell carries as a tag

    @property
    def is_checked(self) -> bool:
        """Whether it is a chapter's *Checked* notebook."""
        return self.page.rpartition("/")[2].startswith("checked")


def notebooks(book: Path) -> list[Notebook]:
    """The notebooks of all chapters, in the order of the book."""
    return sorted(map(read, book.glob("[0-9]*/*.ipynb")), key=lambda one: in_order(one.page))


def in_order(page: str) -> tuple[str, int, str]:
    """By what notebooks are sorted: by chapter, then by their numbers, then those without one."""
    folder, _, name = page.partition("/")
    number = name.partition("-")[0]
    return folder, int(number) if number.isdigit() else 1000, name


def read(file: Path) -> Notebook:
    return _read(file, file.stat().st_mtime_ns)


@lru_cache(maxsize=512)
def _read(file: Path, changed: int) -> Notebook:
    whole = json.loads(file.read_text("utf8"))
    text = "\n".join("".join(cell["source"]) for cell in whole["cells"] if cell["cell_type"] == "markdown")
    tags = {tag for cell in whole["cells"] for tag in cell["metadata"].get("tags", [])}
    title = TITLE.search(text)
    claims = {row.lower() for box in CLAIM.findall(text) for row in ROW.findall(box)}
    return Notebook(
        page=f"{file.parent.name}/{file.stem}",
        title=title[1] if title else file.stem,
        side_road=bool(whole["metadata"].get("course", {}).get("side_road")),
        anchors=frozenset(claims | set(ANCHOR.findall(text))),
        proves=frozenset(tag for tag in tags if ROW.fullmatch(tag)),
    )
