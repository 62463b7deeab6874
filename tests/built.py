"""The pages of the built book as trees, each parsed once in a run: many tests read the same eighty pages."""

import functools
from pathlib import Path

from bs4 import BeautifulSoup


@functools.cache
def tree(page: Path) -> BeautifulSoup:
    """The tree of a page. It is shared: look, and change nothing."""
    return BeautifulSoup(page.read_text("utf8"), "html.parser")
