"""The pages of the built book as trees, each parsed once in a run: many tests read the same eighty pages."""

import functools
from pathlib import Path

from bs4 import BeautifulSoup

SITE = Path(__file__).resolve().parent.parent / "_build" / "html"


def tree(page: Path | str) -> BeautifulSoup:
    """A page, as a file or by its name without `.html`. The tree is shared: look, and change nothing."""
    return parsed(SITE / f"{page}.html" if isinstance(page, str) else page)


@functools.cache
def parsed(file: Path) -> BeautifulSoup:
    return BeautifulSoup(file.read_text("utf8"), "html.parser")
