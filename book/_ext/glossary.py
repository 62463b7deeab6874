"""The glossary: each term has an anchor, and its first use on a page links to it.

    Convex combination, convex hull
    : A weighted mean ...

in book/glossary.md is one entry with two terms; the first gives the place its name, `term-convex-combination`.
`course.js` shows what a term means when its link is pointed at, has the focus or is tapped.
"""

import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.transforms import SphinxTransform

from .anchors import register
from .chapters import number
from .notation import in_running_text

PAGE = "book/glossary"
ENTRY = re.compile(r"^(\S.*)\n: (.+)$", re.M)


def place_of(entry: str) -> str:
    """
    >>> place_of("Convex combination, convex hull"), place_of("GRU, LSTM")
    ('term-convex-combination', 'term-gru')
    """
    return "term-" + re.sub(r"[^a-z0-9]+", "-", entry.split(",")[0].lower()).strip("-")


def as_looked_for(term: str) -> str:
    """A term in small letters; but an abbreviation is looked for as it is written, or "zeros" would lead to ZeRO.

    >>> as_looked_for("Attention mask"), as_looked_for("ZeRO"), as_looked_for("KV cache")
    ('attention mask', 'ZeRO', 'KV cache')
    """
    return term if sum(letter.isupper() for letter in term) > 1 else term.lower()


def read_glossary(file: Path) -> dict[str, tuple[str, str]]:
    """What each term leads to and means: term as it is looked for -> (its entry, the meaning)."""
    entries = ENTRY.findall(file.read_text("utf8")) if file.exists() else []
    return {
        as_looked_for(term.strip()): (entry, meaning)
        for entry, meaning in entries
        for term in entry.split(",")
    }


def pattern(terms: list[str]) -> re.Pattern[str]:
    r"""Any of the terms as a whole word, also with an s; the longest first.

    >>> pattern(["mask", "attention mask"]).search("The attention masks hide")[0]
    'attention masks'
    >>> pattern(["ZeRO"]).search("filled with zeros"), pattern(["ZeRO"]).search("With ZeRO")[0]
    (None, 'ZeRO')
    """

    def word(term: str) -> str:
        written = re.escape(term).replace(r"\ ", r"\s+")
        return written if term == term.lower() else f"(?-i:{written})"

    words = "|".join(word(term) for term in sorted(terms, key=len, reverse=True))
    return re.compile(rf"(?<![\w-])(?:{words})(?:s|es)?(?![\w-])" if words else r"(?!)", re.I)


class RegisterTerms(SphinxTransform):
    default_priority = 213

    def apply(self, **kwargs: object) -> None:
        if self.env.docname == PAGE:
            for term in self.document.findall(nodes.term):
                register(self.document, self.env, place_of(term.astext()), term, term.astext())


class TermLink(nodes.General, nodes.Inline, nodes.TextElement):
    """The link around the first use of a term; `address` is where it leads."""


def link_first_uses(app: Sphinx, document: nodes.document, page: str) -> None:
    known = app.course_glossary  # type: ignore[attr-defined]
    if app.builder.format != "html" or not number(page) or PAGE not in app.env.all_docs:
        return
    left = dict(known)
    target = app.builder.get_relative_uri(page, PAGE)
    for text in list(document.findall(nodes.Text)):
        if not left:
            return
        if in_a_sentence(text):
            link_in(text, left, target)


def link_in(text: nodes.Text, left: dict[str, tuple[str, str]], target: str) -> None:
    """Link the first term of a piece of text; its whole entry is then no longer looked for."""
    found = pattern(list(left)).search(text)
    if found is None:
        return
    said = re.sub(r"\s+", " ", found[0])
    forms = [
        form for one in (said, said.lower()) for form in (one, one.removesuffix("s"), one.removesuffix("es"))
    ]
    term = next(form for form in forms if form in left)
    entry = left[term][0]
    for other in [other for other, (its, _) in left.items() if its == entry]:
        del left[other]
    link = TermLink("", found[0], address=f"{target}#{place_of(entry)}")
    rest = nodes.Text(text[found.end() :])
    parent = text.parent
    parent.replace(text, [nodes.Text(text[: found.start()]), link, rest])
    if left:
        link_in(rest, left, target)


SILENT = (
    nodes.literal,
    nodes.literal_block,
    nodes.math,
    nodes.math_block,
    nodes.raw,
    nodes.reference,
    nodes.term,
    nodes.strong,
)


def in_a_sentence(text: nodes.Text) -> bool:
    """Running text: no heading, table, link, code or bold keyword. A bold term is where the page itself explains it."""
    node = text.parent
    while node is not None:
        if isinstance(node, SILENT):
            return False
        node = node.parent
    return in_running_text(text) and isinstance(text.parent, nodes.paragraph | nodes.emphasis)


def visit_term(self, node: TermLink) -> None:
    self.body.append(f'<a class="term" href="{node["address"]}">')


def depart_term(self, node: TermLink) -> None:
    self.body.append("</a>")


def read_it(app: Sphinx, config: Config) -> None:
    file = Path(app.srcdir) / f"{PAGE}.md"
    app.course_glossary = read_glossary(file)  # type: ignore[attr-defined]
    config["course_glossary"] = file.read_text("utf8") if file.exists() else ""


def setup(app: Sphinx) -> None:
    app.add_config_value("course_glossary", "", "html")
    app.connect("config-inited", read_it)
    app.add_transform(RegisterTerms)
    app.add_node(TermLink, html=(visit_term, depart_term))
    app.connect("doctree-resolved", link_first_uses)
