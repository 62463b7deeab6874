"""The pages Systems, Equations and Claims: every row of the ledger, with links both ways.

    ```{ledger} claims
    ```

lists the rows as plain HTML, complete without scripts; `lists.js` adds the search box and the filters. A row links to
the pages that teach it and to the cell or test that proves it.
"""

import json
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from .anchors import register
from .badges import rows_of
from .ledger import DOCUMENTS, KINDS, VERDICTS, Row, shown
from .page_facts import facts_of, pages

LABELS = {"FALSE": "What holds: ", "IMPRECISE": "What holds: ", "INCOMPLETE": "To add: "}  # before `correct`
logger = logging.getLogger(__name__)


class RowList(nodes.General, nodes.Element):
    """The list of rows on a ledger page."""


class RowItem(nodes.General, nodes.Element):
    """One row; `row` is its id."""


class LedgerDirective(SphinxDirective):
    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        kind = self.arguments[0]
        if kind not in KINDS:
            raise self.error(f"ledger: say which of {', '.join(KINDS)} to list; got {kind!r}.")
        rows = [row for row in rows_of(self.env.app).values() if row.kind == kind]
        return [
            summary(rows),
            RowList(
                "",
                *(self.item(row) for row in sorted(rows, key=lambda row: row.id)),
                kind=kind,
            ),
        ]

    def item(self, row: Row) -> RowItem:
        head = nodes.paragraph("", "", nodes.strong(row.id, row.id), classes=["row-head"])
        if row.name:
            head += [
                nodes.Text(" "),
                nodes.inline("", "", *self.inline(row.name), classes=["row-name"]),
            ]
        if row.verdict:
            head += [nodes.Text(" "), verdict(row.verdict)]
        if row.evidence:
            head += [nodes.Text(" "), nodes.inline("", ", ".join(row.evidence), classes=["row-evidence"])]
        head += [
            nodes.Text(" "),
            nodes.inline("", said_by(row), classes=["row-sources"]),
        ]
        item = RowItem(
            "",
            head,
            nodes.paragraph("", "", *self.inline(row.text), classes=["row-text"]),
            row=row.id,
        )
        if row.math:
            item.insert(
                1,
                nodes.math_block(
                    row.math,
                    row.math,
                    nowrap=False,
                    number=None,
                    classes=["row-math"],
                ),
            )
        if row.correct:
            label = nodes.strong("", LABELS.get(row.verdict, "In detail: "))
            item.append(
                nodes.paragraph(
                    "",
                    "",
                    label,
                    *self.inline(row.correct),
                    classes=["row-correct"],
                )
            )
        return item

    def inline(self, text: str) -> list[nodes.Node]:
        found, _ = self.state.inline_text(text, self.lineno)
        return found


class RegisterRows(SphinxTransform):
    """Each row is a place that links can point to: `[C007](claims.md#c007)`."""

    default_priority = 213

    def apply(self, **kwargs) -> None:
        for item in self.document.findall(RowItem):
            register(self.document, self.env, item["row"].lower(), item, item["row"])


def verdict(word: str) -> nodes.inline:
    return nodes.inline(word, shown(word), classes=["verdict", f"is-{word.lower()}"])


def said_by(row: Row) -> str:
    """Where the documents say it: `D1 1.8, 2.24; D2 §3.4`."""
    if row.numbers:
        return "; ".join(f"{document} {', '.join(numbers)}" for document, numbers in row.numbers.items())
    return "; ".join(row.sources)


def summary(rows: list[Row]) -> nodes.paragraph:
    """How many rows there are, and for claims how many of each verdict."""
    text = f"{len(rows)} rows"
    tally = {word: sum(row.verdict == word for row in rows) for word in VERDICTS}
    if any(tally.values()):
        text += ": " + "; ".join(f"{n} {shown(word)}" for word, n in tally.items() if n)
    return nodes.paragraph("", text + ".", classes=["ledger-summary"])


def visit_list(self, node: RowList) -> None:
    names = escape(json.dumps(DOCUMENTS))
    self.body.append(
        '<form class="ledger-tools pst-js-only" role="search" aria-label="Rows of this page"></form>\n'
    )
    self.body.append(f'<ol class="ledger" data-kind="{node["kind"]}" data-names="{names}">\n')


def depart_list(self, node: RowList) -> None:
    self.body.append("</ol>\n")


def visit_item(self, node: RowItem) -> None:
    row = rows_of(self.builder.app)[node["row"]]
    data = f'data-chapter="{escape(row.chapter)}" data-documents="{" ".join(row.documents)}"'
    if row.verdict:
        data += f' data-verdict="{shown(row.verdict)}" data-evidence="{"&#10;".join(row.evidence)}"'
    self.body.append(f'<li id="{row.id.lower()}" class="ledger-row" {data}>')


def depart_item(self, node: RowItem) -> None:
    row = rows_of(self.builder.app)[node["row"]]
    taught = ", ".join(filter(None, (place(self.builder, where) for where in row.where)))
    proved = ", ".join(filter(None, (evidence(self.builder, row, proof) for proof in row.proof)))
    parts = [f"Said in {escape('; '.join(at.split(' #')[0] for at in row.at))}"] if row.at else []
    parts += [f"Taught in {taught}" if taught else f"Belongs to chapter {escape(row.chapter)}"]
    if proved:
        parts.append(f"Proved by {proved}")
    self.body.append(f'<p class="row-links">{" · ".join(parts)}</p></li>\n')


def place(builder, where: str) -> str:
    """A link to the place where a row is taught; its text is the title of the page."""
    page, anchor = where.split("#")
    page = f"book/{page}"
    if page not in builder.env.all_docs:
        return ""
    title = escape(builder.env.titles[page].astext())
    return f'<a href="{builder.get_relative_uri(builder.current_docname, page)}#{anchor}">{title}</a>'


def evidence(builder, row: Row, proof: str) -> str:
    """A link to the cell of a page, or to the test in the repository."""
    file, name = proof.split("::", 1)
    if not file.endswith(".ipynb"):
        theme = builder.config.html_theme_options
        address = f"{theme.get('repository_url', '')}/blob/{theme.get('repository_branch', 'main')}/{file}"
        return f'<a href="{escape(address)}">{escape(Path(file).name)}, {escape(name)}</a>'
    page = file.removesuffix(".ipynb")
    if page not in builder.env.all_docs:
        return ""
    anchor = f"#proof-{name.lower()}" if name in facts_of(builder.env, page).proofs else ""
    return f'<a href="{builder.get_relative_uri(builder.current_docname, page)}{anchor}">the cell {escape(name)}</a>'


def check_rows(app: Sphinx, env) -> None:
    """Every `where` leads to a place on a page, and a claim box says the verdict that the ledger says."""
    rows = rows_of(app)
    for row in rows.values():
        for where in row.where:
            page, anchor = where.split("#")
            known = env.metadata.get(f"book/{page}", {}).get("myst_slugs", {})
            if f"book/{page}" in env.all_docs and anchor not in known:
                logger.warning(
                    f"ledger: row {row.id} is said to be taught at {where}; the page has no such anchor."
                )
    for page, found in pages(env).items():
        for claim, said, line in found.verdicts:
            if claim in rows and rows[claim].verdict != said:
                logger.warning(
                    f"claim box {claim} says {said}, the ledger says {rows[claim].verdict}; make them agree.",
                    location=(page, line),
                )


def pages_to_read(app: Sphinx, env, added: set[str], changed: set[str], removed: set[str]) -> list[str]:
    """The pages of the ledger whose rows have changed since they were read."""
    rows = {kind: [row for row in rows_of(app).values() if row.kind == kind] for kind in KINDS}
    before = getattr(env, "course_rows_read", {})
    env.course_rows_read = rows
    pages = [f"book/{kind}" for kind in KINDS if rows[kind] != before.get(kind)]
    return [page for page in pages if page in env.found_docs]


def pages_to_write(app: Sphinx, env) -> list[str]:
    """Pages whose own text is unchanged, but whose badges, links or previews are not."""
    if not hasattr(env, "course_shown"):
        env.course_shown = {}  # page -> what its badges, links and previews said when it was last written
    rows, stale = rows_of(app), []
    ledger_pages = {f"book/{kind}": kind for kind in KINDS}
    titles = tuple(sorted((page, title.astext()) for page, title in env.titles.items()))
    proofs = tuple(sorted((page, *sorted(found.proofs)) for page, found in pages(env).items()))
    for page in env.all_docs:
        if page in ledger_pages:
            shown = (titles, proofs)
        else:
            found = facts_of(env, page)
            ids = sorted({a.upper() for a in found.anchors} | found.proofs)
            badges = tuple((i, rows[i].name, rows[i].verdict, rows[i].text) for i in ids if i in rows)
            previews = tuple(
                (there, label, pages(env)[there].equations.get(label))
                for there, label in sorted(found.links)
                if there in pages(env)
            )
            shown = (badges, previews)
        if env.course_shown.get(page) != shown:
            stale.append(page)
        env.course_shown[page] = shown
    return stale


def setup(app: Sphinx) -> None:
    app.add_transform(RegisterRows)
    app.add_directive("ledger", LedgerDirective)
    app.add_node(RowList, html=(visit_list, depart_list))
    app.add_node(RowItem, html=(visit_item, depart_item))
    app.connect("env-get-outdated", pages_to_read)
    app.connect("env-updated", check_rows)
    app.connect("env-updated", pages_to_write)
