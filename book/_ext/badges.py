"""Badges: small links from a page to the row of the ledger that it treats."""

from collections.abc import Mapping
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

from .ledger import KINDS, Row, load, shown

PAGES = {letter: f"book/{kind}" for kind, letter in KINDS.items()}


class Badge(nodes.General, nodes.Inline, nodes.Element):
    """A link to the row `row` of the ledger; plain text while the ledger has no such row."""


def rows_of(app: Sphinx) -> Mapping[str, Row]:
    """The rows of the ledger, read once a build."""
    if not hasattr(app, "course_rows"):
        app.course_rows = load(Path(app.srcdir) / "book")  # type: ignore[attr-defined]
    return app.course_rows  # type: ignore[attr-defined]


def shows_rows(docname: str) -> bool:
    """Whether a page is about the rows: a chapter's Checked notebook. On the others a reader switches them on.

    >>> shows_rows("book/04-transformer/checked"), shows_rows("book/04-transformer/2-the-block")
    (True, False)
    """
    return docname.rpartition("/")[2].startswith("checked")


def link(builder, row_id: str, *, anchor: str = "", text: str = "") -> str:
    """HTML of a badge; with `anchor` it also carries that id."""
    look = "badge-row is-shown" if shows_rows(builder.current_docname) else "badge-row"
    identity = f' id="{anchor}"' if anchor else ""
    rows, page = rows_of(builder.app), PAGES[row_id[0]]
    if row_id not in rows or page not in builder.env.all_docs:
        return f'<span class="{look}"{identity}>{text or row_id}</span>'
    row = rows[row_id]
    uri = builder.get_relative_uri(builder.current_docname, page) + f"#{row_id.lower()}"
    title = escape(row.name or f"{shown(row.verdict).capitalize()}: {row.text}")
    return f'<a class="{look}"{identity} href="{uri}" title="{title}">{text or row_id}</a>'


def visit_badge(self, node: Badge) -> None:
    self.body.append(link(self.builder, node["row"]))
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    app.add_node(Badge, html=(visit_badge, None))
