"""The first use of a symbol on a notebook's page is a link to its row in the notation, and says what it means.

The table in book/notation.md is the only list; below it stand the pages on which a letter means something else. A
formula counts as a symbol if it is nothing else: `$d_k$`, or with an index `$\\mathbf{q}_i$`. `course.js` shows the
meaning when the link is pointed at or has the focus.
"""

import re
from dataclasses import dataclass
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.transforms import SphinxTransform

from .anchors import register
from .chapters import number
from .frames import Head

PAGE = "book/notation"
ROW = re.compile(r"^\|\s*(\$.*?)\s*\|\s*`(.*?)`\s*\|\s*(.*?)\s*\|\s*(.*?)\s*\|", re.M)
FORMULA = re.compile(r"\$([^$]+)\$")
EXCEPTION = re.compile(r"^- .*?\]\(([^)]+)\.ipynb\)(.*)$", re.M)
INDEX = re.compile(r"_(?:\{[ijlt,]+\}|[ijlt])$")


@dataclass(frozen=True)
class Meaning:
    """One row of the notation, as it is written there."""

    symbols: str
    code: str
    meaning: str
    shape: str

    @property
    def anchor(self) -> str:
        return "symbol-" + re.sub(r"[^A-Za-z]+", "-", self.keys[0].strip("\\.")).strip("-")

    @property
    def keys(self) -> list[str]:
        """Its symbols, each in the form in which formulas are compared."""
        inside = [
            part
            for formula in FORMULA.findall(self.symbols)
            for part in re.split(r",\s*(?![^(]*\))", formula)
        ]
        return [key(symbol) for symbol in inside]


def key(latex: str) -> str:
    """A symbol without spaces, its running index written as a dot.

    >>> key(r"\\mathbf{q}_i"), key(r"\\mathbf{q}"), key("s_{ij}"), key("d_k")
    ('\\\\mathbf{q}', '\\\\mathbf{q}', 's.', 'd_k')
    """
    latex = re.sub(r"\\mathbf\s+(\w)", r"\\mathbf{\1}", latex.strip()).replace(" ", "")
    return INDEX.sub("" if latex.startswith(r"\mathbf") else ".", latex)


def read_notation(file: Path) -> dict[str, Meaning]:
    """The rows of the table by symbol; none if there is no such file."""
    rows = [Meaning(*row) for row in ROW.findall(file.read_text("utf8"))] if file.exists() else []
    return {symbol: row for row in reversed(rows) for symbol in row.keys}


def read_exceptions(file: Path) -> set[tuple[str, str]]:
    """(page, symbol) where a letter means something else."""
    lines = EXCEPTION.findall(file.read_text("utf8")) if file.exists() else []
    return {(f"book/{page}", key(symbol)) for page, text in lines for symbol in FORMULA.findall(text)}


class SymbolLink(nodes.General, nodes.Inline, nodes.Element):
    """The link around a symbol; `address` and `meaning` are where it leads and what is read aloud."""


class RegisterSymbols(SphinxTransform):
    """Each row of the notation is a place that links can point to."""

    default_priority = 213

    def apply(self, **kwargs: object) -> None:
        if self.env.docname != PAGE:
            return
        known = self.app.course_notation  # type: ignore[attr-defined]
        for row in self.document.findall(nodes.row):
            first = next(iter(row[0].findall(nodes.math)), None)
            found = known.get(key(re.split(r",\s*", first.astext())[0])) if first else None
            if found and found.anchor not in self.document.ids:
                register(self.document, self.env, found.anchor, row, found.code)


def link_first_uses(app: Sphinx, document: nodes.document, page: str) -> None:
    known, exceptions = app.course_notation, app.course_exceptions  # type: ignore[attr-defined]
    if app.builder.format != "html" or not number(page) or PAGE not in app.env.all_docs:
        return
    seen: set[str] = set()
    target = app.builder.get_relative_uri(page, PAGE)
    for formula in list(document.findall(nodes.math)):
        row = known.get(key(formula.astext()))
        here = (page, key(formula.astext()))
        if row is None or row.anchor in seen or here in exceptions or not in_running_text(formula):
            continue
        seen.add(row.anchor)
        link = SymbolLink(address=f"{target}#{row.anchor}", meaning=f"{row.code}: {plain(row.meaning)}")
        formula.replace_self(link)
        link.append(formula)


def plain(text: str) -> str:
    """Text with formulas as it is read aloud.

    >>> plain(r"entropy, $-\\sum_j p_j$; see $d_k$")
    'entropy, -sum_j p_j; see d_k'
    """
    return re.sub(r"[$\\{}]", "", text)


def visit_symbol(self, node: SymbolLink) -> None:
    label = escape(node["meaning"])
    self.body.append(f'<a class="symbol" href="{node["address"]}" aria-label="{label}">')


def depart_symbol(self, node: SymbolLink) -> None:
    self.body.append("</a>")


def in_running_text(node: nodes.Node) -> bool:
    while node.parent is not None:
        node = node.parent
        if isinstance(node, nodes.reference | nodes.title | nodes.table | Head):
            return False
    return True


def read_it(app: Sphinx, config: Config) -> None:
    file = Path(app.srcdir) / f"{PAGE}.md"
    app.course_notation = read_notation(file)  # type: ignore[attr-defined]
    app.course_exceptions = read_exceptions(file)  # type: ignore[attr-defined]
    config["course_notation"] = file.read_text("utf8") if file.exists() else ""


def setup(app: Sphinx) -> None:
    app.add_config_value("course_notation", "", "html")
    app.connect("config-inited", read_it)
    app.add_transform(RegisterSymbols)
    app.add_node(SymbolLink, html=(visit_symbol, depart_symbol))
    app.connect("doctree-resolved", link_first_uses)
