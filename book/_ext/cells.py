"""Code cells that prove a row of the ledger: a tag such as `C007` gives the cell an anchor and a badge.

The ledger page links to `#proof-c007`; under the cell stands `Asserts C007`, which links back to the row.
"""

import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

from .badges import link, shows_rows
from .page_facts import facts_of

ROW = re.compile(r"[SEC]\d{3}")


class Asserts(nodes.General, nodes.Element):
    """The line under a cell that names the rows it asserts; `rows` are their ids."""


class LinkProofs(SphinxTransform):
    default_priority = 214

    def apply(self, **kwargs) -> None:
        proofs = facts_of(self.env).proofs
        for cell in self.document.findall(nodes.container):
            if cell.get("nb_element") != "cell_code":
                continue
            rows = [tag for tag in cell["cell_metadata"].get("tags", []) if ROW.fullmatch(tag)]
            cell["ids"] += [f"proof-{row.lower()}" for row in rows if row not in proofs]
            proofs.update(rows)
            if rows:
                cell.append(Asserts(rows=rows))


def visit_asserts(self, node: Asserts) -> None:
    badges = " ".join(link(self.builder, row) for row in node["rows"])
    look = "asserts is-shown" if shows_rows(self.builder.current_docname) else "asserts"
    self.body.append(f'<p class="{look}"><span>Asserts</span> {badges}</p>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    app.add_node(Asserts, html=(visit_asserts, None))
    app.add_transform(LinkProofs)
