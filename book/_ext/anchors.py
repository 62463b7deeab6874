"""`<a id="..."></a>` in a notebook becomes an anchor that links can point to.

An id that starts with `eq-` belongs to the display formula that follows. Any other id becomes an `Anchor`, which
shows a badge if the ledger has a row of that name. `[text](#id)` and `[text](other.ipynb#id)` then resolve as headings
do, and one that leads nowhere is a warning.

Rows and equations move from page to page, and old links to them do not. So `_static/places.js` says where each of them
stands now; a page that is asked for a place which it does not have loads it and leads on (theme.js).
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

from .badges import PAGES as LISTS
from .badges import link
from .page_facts import facts_of, pages

logger = logging.getLogger(__name__)

OPENING = re.compile(r'<a\s+(?:id|name)="([^"]+)"\s*/?>')
ROW = re.compile(r"[sec]\d{3}")
MOVABLE = re.compile(r"[sec]\d{3}|eq-.+")
TAG = re.compile(r"\\tag\{([^}]*)\}")


class Anchor(nodes.General, nodes.Element):
    """One or more ids to link to; invisible, or a badge if the ledger has a row of that id."""


def register(
    document: nodes.document,
    env,
    anchor: str,
    node: nodes.Element,
    text: str = "",
) -> bool:
    """Let links point to `anchor`; False, with a warning, if the page has it already."""
    if anchor in document.ids:
        logger.warning(
            f'anchor id="{anchor}" occurs twice on this page; rename one.',
            location=node,
        )
        return False
    node["ids"].append(anchor)
    document.ids[anchor] = node
    slugs = getattr(document, "myst_slugs", {})
    slugs[anchor] = (node.line or 0, anchor, text or anchor)
    document.myst_slugs = slugs  # type: ignore[attr-defined]
    env.metadata[env.docname]["myst_slugs"] = slugs
    facts_of(env).anchors.add(anchor)
    return True


class CollectAnchors(SphinxTransform):
    """Replace raw anchors by nodes; runs before anything looks at the document's ids."""

    default_priority = 210

    def apply(self, **kwargs) -> None:
        facts_of(self.env).links.update(links(self.document))
        for paragraph in list(self.document.findall(nodes.paragraph)):
            ids = take_anchors(paragraph)
            if ids:
                self.place(paragraph, ids)

    def place(self, paragraph: nodes.paragraph, ids: list[str]) -> None:
        parent, index = paragraph.parent, paragraph.parent.index(paragraph)
        alone = not paragraph.children
        following = next_after(paragraph)
        if alone:
            parent.remove(paragraph)
        for anchor in [i for i in ids if i.startswith("eq-")]:
            self.place_equation(anchor, following, paragraph)
        others = [i for i in ids if not i.startswith("eq-")]
        if not others:
            return
        node = Anchor()
        node.source, node.line = paragraph.source, paragraph.line
        if alone and isinstance(following, nodes.section):
            following.insert(1, node)  # the anchor of a heading stands right below it
        else:
            parent.insert(index, node)
        for anchor in others:
            register(self.document, self.env, anchor, node)

    def place_equation(self, anchor: str, node: nodes.Node | None, paragraph: nodes.paragraph) -> None:
        if not isinstance(node, nodes.math_block):
            logger.warning(
                f'anchor id="{anchor}" names an equation, so the next block must be $$...$$; '
                "leave one blank line between them, and nothing else.",
                location=paragraph,
            )
            return
        latex = node.astext()
        tag = TAG.search(latex)
        if register(
            self.document,
            self.env,
            anchor,
            node,
            f"({tag[1]})" if tag else anchor,
        ):
            facts_of(self.env).equations[anchor] = latex


def next_after(node: nodes.Node) -> nodes.Node | None:
    """What follows a node that ends here, on whatever level."""
    while node.parent is not None:
        index = node.parent.index(node) + 1
        if index < len(node.parent):
            return node.parent[index]
        node = node.parent
    return None


def visit_anchor(self, node: Anchor) -> None:
    rows = [link(self.builder, i.upper(), anchor=i) for i in node["ids"] if ROW.fullmatch(i)]
    plain = [f'<span id="{i}"></span>' for i in node["ids"] if not ROW.fullmatch(i)]
    look = "anchor" if rows else "anchor is-plain"
    self.body.append(f'<div class="{look}">{"".join(plain)}{" ".join(rows)}</div>\n')
    raise nodes.SkipNode


def take_anchors(paragraph: nodes.paragraph) -> list[str]:
    """Take the raw anchors out of a paragraph and return their ids in order."""
    ids: list[str] = []
    for child in list(paragraph.children):
        if not isinstance(child, nodes.raw):
            continue
        found = OPENING.fullmatch(child.astext().strip())
        if not found:
            continue
        ids.append(found[1])
        after = child.next_node(descend=False, siblings=True)
        if isinstance(after, nodes.raw) and after.astext().strip() == "</a>":
            paragraph.remove(after)
        paragraph.remove(child)
    while (
        ids
        and paragraph.children
        and not paragraph[0].astext().strip()
        and isinstance(paragraph[0], nodes.Text)
    ):
        paragraph.remove(paragraph[0])
    return ids


def links(document: nodes.document) -> Iterator[tuple[str, str]]:
    """(page, id) of the anchors on other pages that a page links to; they are shown as previews."""
    for node in document.findall(addnodes.pending_xref):
        if node.get("reftype") == "myst" and node.get("reftargetid"):
            yield node["reftarget"], node["reftargetid"]


def check_labels(app: Sphinx, env) -> None:
    """An equation's label is unique in the whole book."""
    owner: dict[str, str] = {}
    for page in sorted(pages(env)):
        for label in pages(env)[page].equations:
            if label in owner:
                logger.warning(
                    f"equation label {label} is used here and in {owner[label]}; rename one.",
                    location=page,
                )
            owner[label] = page


def places(env) -> dict[str, str]:
    """Each page with the rows and equations that stand on it and nowhere else, the lists of all rows apart."""
    shown = {page: facts.anchors for page, facts in pages(env).items() if page not in LISTS.values()}
    found = {page: [one for one in anchors if MOVABLE.fullmatch(one)] for page, anchors in shown.items()}
    times = Counter(anchor for anchors in found.values() for anchor in anchors)
    alone = {page: sorted(one for one in found[page] if times[one] == 1) for page in sorted(found)}
    return {page: " ".join(anchors) for page, anchors in alone.items() if anchors}


def write_places(app: Sphinx, exception: Exception | None) -> None:
    if exception or app.builder.name != "html":
        return
    text = json.dumps(places(app.env), separators=(",", ":"))
    (Path(app.outdir) / "_static" / "places.js").write_text(f"window.places = {text};\n", "utf8")


def setup(app: Sphinx) -> None:
    app.add_node(Anchor, html=(visit_anchor, None))
    app.add_transform(CollectAnchors)
    app.connect("env-updated", check_labels)
    app.connect("build-finished", write_places)
