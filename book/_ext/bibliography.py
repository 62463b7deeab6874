"""Under *Further reading* each title in italics leads to its paper.

The papers are those of book/references.bib, which sphinxcontrib-bibtex lists on the page book/bibliography. A test says
which title is not among them.
"""

import re
from pathlib import Path

from docutils import nodes
from pybtex.database import Entry, parse_file
from sphinx.application import Sphinx
from sphinx.config import Config

from .chapters import number

PAGE = "book/bibliography"
FILE = "book/references.bib"
SHORTEST = 7  # letters of a title that may stand for a longer one: WaveNet


def letters(title: str) -> str:
    """
    >>> letters("{Self-attention} does not need $O(n^2)$ memory"), letters("Self-Attention Does Not Need O(n²) Memory")
    ('selfattentiondoesnotneedon2memory', 'selfattentiondoesnotneedon2memory')
    """
    return re.sub(r"[^a-z0-9]", "", title.replace("²", "2").lower())


def address(entry: Entry) -> str:
    """Where a paper can be read: its arXiv page, its DOI or its own address."""
    fields = entry.fields
    assert fields is not None  # pybtex declares None, and sets it in every entry that it makes
    if "eprint" in fields:
        return f"https://arxiv.org/abs/{fields['eprint']}"
    return f"https://doi.org/{fields['doi']}" if "doi" in fields else fields["url"]


def find(title: str, papers: dict[str, str]) -> str:
    """The key of a paper by its title, or by the beginning of it; empty if there is none."""
    wanted = letters(title)
    if wanted in papers or len(wanted) < SHORTEST:
        return papers.get(wanted, "")
    return next((key for known, key in papers.items() if known.startswith(wanted)), "")


def further_reading(document: nodes.document) -> list[nodes.emphasis]:
    """The titles under the heading Further reading."""
    sections = [one for one in document.findall(nodes.section) if one[0].astext() == "Further reading"]
    return [title for section in sections for title in section.findall(nodes.emphasis)]


def link_titles(app: Sphinx, document: nodes.document, page: str) -> None:
    entries = app.course_papers  # type: ignore[attr-defined]
    if app.builder.format != "html" or not entries or not number(page):
        return
    papers = {letters(entry.fields["title"]): key for key, entry in entries.items()}
    for title in further_reading(document):
        key = find(title.astext(), papers)
        if key and not isinstance(title.parent, nodes.reference):
            link = nodes.reference("", "", internal=False, refuri=address(entries[key]))
            title.replace_self(link)
            link.append(title)


def read_it(app: Sphinx, config: Config) -> None:
    file = Path(app.srcdir) / FILE
    app.course_papers = dict(parse_file(file, "bibtex").entries.items()) if file.exists() else {}  # type: ignore[attr-defined]
    config["course_papers"] = file.read_text("utf8") if file.exists() else ""


def setup(app: Sphinx) -> None:
    app.add_config_value("course_papers", "", "html")
    app.connect("config-inited", read_it)
    app.connect(
        "doctree-resolved", link_titles, priority=400
    )  # before terms lead to the glossary: not in a title
