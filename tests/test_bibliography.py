"""Further reading leads to its papers, and the bibliography has those of each chapter."""

import doctest
import json
import re
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from bs4 import BeautifulSoup
from built import tree
from pybtex.database import parse_file

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "book"))

from _ext import bibliography  # noqa: E402  (the extension lies beside the book)

SITE = ROOT / "_build" / "html"
PAPERS = parse_file(ROOT / bibliography.FILE, "bibtex").entries
BY_TITLE = {bibliography.letters(paper.fields["title"]): key for key, paper in PAPERS.items()}
ITALIC = re.compile(r"(?<!\*)\*([^*]+)\*(?!\*)")


def titles(notebook: Path) -> list[str]:
    """The titles in italics under the heading Further reading."""
    cells = json.loads(notebook.read_text("utf8"))["cells"]
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    found = [text.partition("## Further reading")[2] for text in texts]
    return [re.sub(r"\s+", " ", title) for text in found for title in ITALIC.findall(text)]


NAMED = {file: titles(file) for file in sorted((ROOT / "book").glob("[0-9]*/*.ipynb"))}


def test_the_examples_in_the_extension_hold() -> None:
    found = doctest.testmod(bibliography)
    assert found.attempted and not found.failed


def test_every_title_of_further_reading_is_in_the_references() -> None:
    lost = [
        (file.stem, title)
        for file, named in NAMED.items()
        for title in named
        if not bibliography.find(title, BY_TITLE)
    ]
    assert sum(map(len, NAMED.values())) > 40
    assert not lost, f"add to {bibliography.FILE}: {lost}"


def test_a_paper_names_the_chapters_that_name_it_and_where_it_can_be_read() -> None:
    chapters: dict[str, set[str]] = {key: set() for key in PAPERS}
    for file, named in NAMED.items():
        for title in named:
            chapters[bibliography.find(title, BY_TITLE)].add(f"chapter{int(file.parent.name[:2])}")
    said = {key: set(paper.fields["keywords"].split(", ")) for key, paper in PAPERS.items()}
    assert said == chapters
    assert all(urlsplit(bibliography.address(paper)).scheme == "https" for paper in PAPERS.values())


@pytest.mark.built
@pytest.mark.parametrize("file", NAMED, ids=lambda file: file.stem)
def test_each_title_on_a_page_is_a_link(file: Path) -> None:
    page = SITE / file.relative_to(ROOT).with_suffix(".html")
    shown = tree(page).select("#further-reading em")
    assert len(shown) == len(NAMED[file])
    assert all(str(title.parent["href"]).startswith("https://") for title in shown if title.parent)


@pytest.mark.built
def test_the_bibliography_lists_every_paper_under_its_chapters() -> None:
    text = (SITE / "book" / "bibliography.html").read_text("utf8")
    page = BeautifulSoup(text, "html.parser")
    listed = page.select(".bd-article li, .bd-article .citation")
    assert len(listed) >= sum(len(paper.fields["keywords"].split(", ")) for paper in PAPERS.values())
    for paper in PAPERS.values():
        assert bibliography.letters(paper.fields["title"]) in bibliography.letters(page.text)
