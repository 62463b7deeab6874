"""Figures become part of the page: an SVG output is written into the HTML and follows light and dark.

Text and axes are drawn in one ink, which becomes the text colour of the page. Names inside the drawing get a prefix, so
that two figures on one page cannot mix up their clips and marks. Letters, which are outlines too, are defined once for
all figures of a page.

Every figure has a number and a visible caption: a paragraph right after its cell that opens with `**Figure.**`, or else
the alternative text, which says what one sees. A button opens it large.

A picture `x.png` that has an `x-dark.png` beside it is shown in light, the other one in dark.
"""

import posixpath
import re
from html import escape, unescape
from pathlib import Path
from urllib.parse import quote

from docutils import nodes
from PIL import Image
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

from .chapters import number as number_of
from .frames import bold_start

INK = "#1f2430"

PROLOGUE = re.compile(r"^.*?(?=<svg\b)", re.S)
NOISE = re.compile(r"<!--.*?-->|<metadata>.*?</metadata>", re.S)
BLANK = re.compile(r">\s+<")
PLACES = re.compile(r'\s(?:d|x|y)="[^"]*"')  # a hundredth of a point is enough for them
LETTER = re.compile(r'<path id="([\w-]+)"( d="[^"]*" transform="scale\(0\.015625\)")/>')
NUMBER = re.compile(r"-?\d+\.\d{3,}")
SIZE = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)"')
WINDOWS = re.compile(r'\sdata-windows="([-\d., ;]+)"')
TITLE = re.compile(r"<title[^>]*>(.*?)</title>\s*", re.S)
HEAD = re.compile(r"<svg\b([^>]*)>")
GIVEN = re.compile(r'\s(?:role|aria-label|style|version|xmlns)="[^"]*"')


def inline(svg: str, prefix: str, letters: set[str] | None = None) -> str:
    """An SVG document as part of a page: its names prefixed, ink and ground the page's, its title its accessible name.

    >>> inline('<svg style="background: #ffffff"><title>Up.</title><path id="a" style="fill: #1f2430"/></svg>', "f1-")
    '<svg role="img" aria-label="Up."><path id="f1-a" style="fill: currentColor"/></svg>'
    """
    svg = BLANK.sub("><", NOISE.sub("", PROLOGUE.sub("", svg))).strip()
    title = TITLE.search(svg)
    label = ' aria-label="{}"'.format(title[1].strip().replace('"', "&quot;")) if title else ""
    svg = TITLE.sub("", svg, count=1)
    svg, own = share_letters(svg, letters if letters is not None else set())
    svg = re.sub(r'\bid="(?!letter-)([^"]+)"', rf'id="{prefix}\1"', svg)
    svg = re.sub(r'href="#([^"]+)"', lambda m: f'href="#{"letter-" if m[1] in own else prefix}{m[1]}"', svg)
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}\1)", svg)
    svg = PLACES.sub(lambda place: NUMBER.sub(lambda n: f"{float(n[0]):.2f}", place[0]), svg)
    svg = re.sub(INK, "currentColor", svg, flags=re.I)
    size = SIZE.search(svg)
    wide = f' style="--w: {float(size[1]):g}"' if size else ""
    return HEAD.sub(lambda m: f'<svg role="img"{label}{wide}{GIVEN.sub("", m[1])}>', svg, count=1)


def share_letters(svg: str, letters: set[str]) -> tuple[str, set[str]]:
    """Name the letters of a drawing for the whole page and leave out those in `letters`; also the names of all."""
    own = {letter[1] for letter in LETTER.finditer(svg)}
    svg = LETTER.sub(lambda m: "" if m[1] in letters else f'<path id="letter-{m[1]}"{m[2]}/>', svg)
    letters |= own
    return svg.replace("<defs></defs>", ""), own


def strips(drawing: str) -> str:
    """The panels of a drawing, each a window onto it, in rows that wrap; nothing where it is one panel.

    >>> drawing = '<svg data-windows="20 0 60 9; 0 9 40 50, 40 9 60 50"><g id="f1-figure_1"></g></svg>'
    >>> strips(drawing).count("<svg"), strips(drawing).count("<div>")
    (3, 2)
    """
    found, name = WINDOWS.search(drawing), re.search(r'<g id="([\w-]*figure_\d+)"', drawing)
    if not (found and name):
        return ""
    rows = [
        "".join(
            f'<svg viewBox="{window}" style="--w: {window.split()[2]}"><use href="#{name[1]}"/></svg>'
            for window in row.split(", ")
        )
        for row in found[1].split("; ")
    ]
    return f'<div class="strips" aria-hidden="true">{"".join(f"<div>{row}</div>" for row in rows)}</div>'


class InlineFigures(SphinxTransform):
    """Replace the image of an SVG output by the drawing itself."""

    default_priority = 212

    def apply(self, **kwargs) -> None:
        outputs = [
            node
            for node in self.document.findall(nodes.container)
            if node.get("mime_type") == "image/svg+xml"
        ]
        letters: set[str] = set()
        for number, output in enumerate(outputs, 1):
            for image in list(output.findall(nodes.image)):
                path = Path(self.app.srcdir) / image["uri"].lstrip("/")
                drawing = inline(path.read_text("utf8"), f"f{number}-", letters)
                raw = nodes.raw("", f'<div class="drawing">{drawing}{strips(drawing)}</div>', format="html")
                raw.source, raw.line = image.source, image.line
                image.replace_self(raw)
                self.caption(output, raw, number)

    def caption(self, output: nodes.container, drawing: nodes.raw, number: int) -> None:
        """Below a drawing its number and caption."""
        label = f"Figure {section(self.env.docname)}{number}"
        written = caption_after(output)
        said = LABEL.search(drawing.astext())
        words = [Words("", "", *written)] if written else [Words(said=unescape(said[1]) if said else "")]
        bundle = around(output, "mime_bundle")
        bundle.parent.insert(bundle.parent.index(bundle) + 1, Caption("", *words, label=label, number=number))


LABEL = re.compile(r'<svg role="img" aria-label="([^"]*)"')


def section(page: str) -> str:
    """What the numbers of a page's figures begin with: `1.4.` on the page 1.4, nothing on a page without a number."""
    number = number_of(page)
    return f"{number}." if number else ""


def around(output: nodes.Element, kind: str) -> nodes.Element:
    """What of this kind an output belongs to: its cell, or the bundle of its forms; itself where there is none."""
    node: nodes.Element | None = output
    while node is not None and node.get("nb_element") != kind:
        node = node.parent
    return output if node is None else node


def caption_after(output: nodes.Element) -> list[nodes.Node]:
    """What a paragraph `**Figure.** ...` right after the cell says; the paragraph is taken away."""
    cell = around(output, "cell_code")
    following = cell.next_node(descend=False, siblings=True)
    if not isinstance(following, nodes.paragraph):
        return []
    first = bold_start(following)
    if first is None or first.astext() != "Figure.":
        return []
    following.parent.remove(following)
    words = following.children[1:]
    if words and isinstance(words[0], nodes.Text):
        words[0] = nodes.Text(words[0].lstrip())
    return words


class Caption(nodes.General, nodes.Element):
    """The line below a figure: its number, what to see, and the button that opens it large."""


class Words(nodes.General, nodes.TextElement):
    """What a caption says; from the alternative text (`said`), which is read aloud with the drawing already."""


def visit_caption(self, node: Caption) -> None:
    label = node["label"]
    self.body.append(f'<div class="figure-caption" id="figure-{node["number"]}"><p><b>{label}.</b> ')


def depart_caption(self, node: Caption) -> None:
    button = f'<button type="button" class="enlarge pst-js-only" aria-label="Enlarge {node["label"]}">Enlarge</button>'
    self.body.append(f"</p>{button}</div>\n")


def visit_words(self, node: Words) -> None:
    if "said" in node:
        self.body.append(f'<span aria-hidden="true">{escape(node["said"])}</span>')


def depart_words(self, node: Words) -> None:
    pass


class Picture(nodes.image):
    """An image for light or for dark pages; its place is kept free before it arrives."""


class LightAndDark(SphinxTransform):
    """Put the dark twin of a picture behind it. Only one of the two is ever shown, so its words are read once."""

    default_priority = 213

    def apply(self, **kwargs) -> None:
        for image in list(self.document.findall(nodes.image)):
            dark = re.sub(r"(\.\w+)$", r"-dark\1", image["uri"])
            if "://" in dark or not (file := Path(self.env.relfn2path(dark)[1])).exists():
                continue
            width = int(image["width"].removesuffix("px"))
            wide, high = Image.open(file).size
            # Sphinx would put each into a link of its own, and one would be a link with nothing to see.
            given = {
                "classes": ["no-scaled-link"],
                "alt": image["alt"],
                "width": width,
                "height": round(width * high / wide),
            }
            pair = [
                Picture(uri=uri, only=only, **given)
                for uri, only in ((image["uri"], "light"), (dark, "dark"))
            ]
            image.replace_self(pair)


def visit_picture(self, node: Picture) -> None:
    file = posixpath.join(self.builder.imgpath, quote(self.builder.images[node["uri"]]))
    lazy = ' loading="lazy"' if node["only"] == "dark" else ""  # paper needs the light one
    self.body.append(
        f'<img class="only-{node["only"]}" src="{file}" alt="{escape(node["alt"])}"'
        f' width="{node["width"]}" height="{node["height"]}"{lazy}>'
    )
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    app.add_transform(InlineFigures)
    app.add_transform(LightAndDark)
    app.add_node(Picture, html=(visit_picture, None))
    app.add_node(Caption, html=(visit_caption, depart_caption))
    app.add_node(Words, html=(visit_words, depart_words))
