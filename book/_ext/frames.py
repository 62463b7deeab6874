"""Block quotes that open with a bold keyword become frames: claim boxes, callouts, theorems, proofs, exercises.

    > **Claim checked** · D2 §7 Step 4 · C007 · FALSE     a claim box, with the anchor c007
    > **Pitfall** · A title                               a callout (also Shapes, Cost, Try it)
    > **Theorem 2.1** (Permutation). For every ...        a theorem, with the anchor theorem-2-1
    > **Proof.** ...                                      its proof
    > **Exercise** · write · ★★ · 10 min · foundations.softmax

A paragraph that opens with `**Predict first.**` is set apart quietly. Outside the book all of them read as they stand.
"""

import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

from .anchors import register
from .badges import Badge, shows_rows
from .ledger import VERDICTS, shown
from .page_facts import facts_of

logger = logging.getLogger(__name__)

CALLOUTS = {
    "Pitfall": "pitfall",
    "Shapes": "shapes",
    "Cost": "cost",
    "Try it": "try",
}
STATEMENTS = ("Theorem", "Lemma", "Proposition", "Corollary", "Definition")
OPENING = re.compile(
    r"(?P<kind>Claim checked|Pitfall|Shapes|Cost|Try it|Exercise|Proof|Theorem|Lemma|Proposition|Corollary|Definition)"
    r"\s*(?P<number>\d+(\.\d+)*)?\.?"
)
CLAIM_IDS = re.compile(r"C\d{3}([\s,]+C\d{3})*")
LEVELS = {"★": "easy", "★★": "medium", "★★★": "hard"}


class Frame(nodes.General, nodes.Element):
    """A boxed part of a page; `kind` names its look."""


class Head(nodes.General, nodes.TextElement):
    """The title line of a frame."""


def id_of(frame: Frame) -> str:
    """The id of an exercise, as its title line says it."""
    return next((node.astext() for node in frame.findall(nodes.inline) if "frame-id" in node["classes"]), "")


def chip(text: str, *looks: str) -> nodes.Node:
    """One item of a title line."""
    return nodes.inline(text, text, classes=list(looks))


def opening(node: nodes.Node) -> re.Match | None:
    """The keyword that a paragraph opens with, or None."""
    first = bold_start(node)
    return OPENING.fullmatch(first.astext().strip()) if first else None


def bold_start(node: nodes.Node) -> nodes.strong | None:
    """The bold text that a paragraph starts with; the parser's empty text before it is dropped."""
    if not isinstance(node, nodes.paragraph):
        return None
    while node.children and isinstance(node[0], nodes.Text) and not node[0].astext():
        del node[0]
    first = node.children[0] if node.children else None
    return first if isinstance(first, nodes.strong) else None


class BuildFrames(SphinxTransform):
    default_priority = 211

    def apply(self, **kwargs) -> None:
        for quote in list(self.document.findall(nodes.block_quote)):
            if quote.children and opening(quote[0]):
                self.frame(quote)
        for paragraph in self.document.findall(nodes.paragraph):
            first = bold_start(paragraph)
            if first and first.astext().startswith("Predict first"):
                paragraph["classes"].append("predict")

    def frame(self, quote: nodes.block_quote) -> None:
        """Replace a block quote by one frame, or by several where a proof follows its theorem in the same quote."""
        frames: list[Frame] = []
        for child in list(quote.children):
            found = opening(child)
            if found:
                frames.append(Frame(kind="", ids=[]))
                frames[-1].source, frames[-1].line = (
                    child.source,
                    child.line or quote.line,
                )
                assert isinstance(child, nodes.paragraph)
                self.open(frames[-1], child, found)
            else:
                frames[-1].append(child)
        for frame in frames:
            if frame["kind"] == "proof":
                drop_end_mark(frame)
        quote.replace_self(frames)

    def open(self, frame: Frame, paragraph: nodes.paragraph, found: re.Match) -> None:
        kind, number = found["kind"], found["number"]
        if kind in STATEMENTS or kind == "Proof":
            frame["kind"] = "proof" if kind == "Proof" else "theorem"
            keyword = bold_start(paragraph)
            assert keyword is not None
            keyword["classes"].append("frame-kind")
            frame.append(paragraph)
            if number:
                name = f"{kind} {number}"
                register(
                    self.document,
                    self.env,
                    name.lower().replace(" ", "-").replace(".", "-"),
                    frame,
                    name,
                )
            return
        title, rest = split_first_line(paragraph)
        head = Head("", "", nodes.inline(kind, kind, classes=["frame-kind"]))
        if kind == "Claim checked":
            frame["kind"] = "claim"
            head.extend(self.claim(frame, nodes.inline("", "", *title).astext()))
        elif kind == "Exercise":
            frame["kind"] = "exercise"
            head.extend(self.exercise(frame, nodes.inline("", "", *title).astext()))
        else:
            frame["kind"] = CALLOUTS[kind]
            if title and (rest or paragraph.next_node(descend=False, siblings=True)):
                head.append(nodes.inline("", "", *title, classes=["frame-title"]))
            else:
                rest = title + rest
        frame.append(head)
        if rest:
            frame.append(nodes.paragraph("", "", *rest))

    def claim(self, frame: Frame, text: str) -> list[nodes.Node]:
        """`D2 §7 Step 4 · C007 · FALSE` -> chips; registers the anchors and remembers the verdict."""
        parts = [part.strip() for part in text.split("·") if part.strip()]
        ids = next((part for part in parts if CLAIM_IDS.fullmatch(part)), None)
        verdict = parts[-1] if parts else ""
        if ids is None or verdict not in VERDICTS:
            logger.warning(
                "claim box: the first line must read **Claim checked** · D2 §7 · C007 · FALSE, "
                f"with a verdict out of {', '.join(VERDICTS)}; got {text.strip()!r}.",
                location=frame,
            )
            return [chip(part, "frame-title") for part in parts]
        look = ("frame-source", "is-shown") if shows_rows(self.env.docname) else ("frame-source",)
        chips = [chip(part, *look) for part in parts if part not in (ids, verdict)]
        for claim in re.findall(r"C\d{3}", ids):
            if register(self.document, self.env, claim.lower(), frame, claim):
                facts_of(self.env).verdicts.append((claim, verdict, frame.line or 0))
            chips.append(Badge(row=claim))
        frame["classes"].append(f"is-{verdict.lower()}")
        return [*chips, chip(shown(verdict), "verdict", f"is-{verdict.lower()}")]

    def exercise(self, frame: Frame, text: str) -> list[nodes.Node]:
        """`write · ★★ · 10 min · foundations.softmax` -> chips; registers the anchor ex-foundations-softmax."""
        chips: list[nodes.Node] = []
        for part in (p.strip() for p in text.split("·") if p.strip()):
            if part in LEVELS:
                spoken = f'<span class="level" role="img" aria-label="{LEVELS[part]}">{part}</span>'
                chips.append(nodes.raw("", spoken, format="html"))
            elif re.fullmatch(r"[a-z][\w-]*(\.[\w-]+)+", part):
                register(
                    self.document,
                    self.env,
                    "ex-" + re.sub(r"[._]", "-", part),
                    frame,
                    part,
                )
                chips.append(chip(part, "frame-id"))
            else:
                chips.append(chip(part, "frame-source"))
        return chips


def drop_end_mark(proof: Frame) -> None:
    """The page draws the end of a proof itself."""
    texts = [node for node in proof.findall(nodes.Text) if node.strip()]
    if texts and texts[-1].rstrip().endswith("∎"):
        texts[-1].parent.replace(texts[-1], nodes.Text(texts[-1].rstrip().removesuffix("∎").rstrip()))


def split_first_line(
    paragraph: nodes.paragraph,
) -> tuple[list[nodes.Node], list[nodes.Node]]:
    """What follows the keyword on the first line, and what stands on the lines below it."""
    first: list[nodes.Node] = []
    rest: list[nodes.Node] = []
    for child in paragraph.children[1:]:
        if rest or not isinstance(child, nodes.Text) or "\n" not in child:
            (rest if rest else first).append(child)
            continue
        above, below = child.split("\n", 1)
        first.append(nodes.Text(above))
        rest.append(nodes.Text(below))
    if first and isinstance(first[0], nodes.Text):
        first[0] = nodes.Text(re.sub(r"^\s*·\s*", "", first[0]))
    return [n for n in first if n.astext().strip()], [n for n in rest if n.astext()]


def visit_frame(self, node: Frame) -> None:
    self.body.append(self.starttag(node, "div", CLASS=f"frame frame-{node['kind']}"))


def depart_frame(self, node: Frame) -> None:
    self.body.append("</div>\n")


def visit_head(self, node: Head) -> None:
    self.body.append('<p class="frame-head">')


def depart_head(self, node: Head) -> None:
    self.body.append("</p>\n")


def setup(app: Sphinx) -> None:
    app.add_transform(BuildFrames)
    app.add_node(Frame, html=(visit_frame, depart_frame))
    app.add_node(Head, html=(visit_head, depart_head))
