"""The whole book as HTML, for printing, a page for each of its parts: assembled from the built pages, so that it shows
what they show.

What only works on a screen is left out: folded code (the drawing of figures), hints, forms and scripts. Other folds are
open. The solutions are at the end, and each exercise links to its own.
"""

import posixpath
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml
from bs4 import BeautifulSoup, Tag

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "book"))

from _ext.chapters import with_subject  # noqa: E402  # pyright: ignore[reportMissingImports]

ON_SCREEN_ONLY = {"script", "template", "form"}  # elements
CLASSES_ON_SCREEN_ONLY = {
    "headerlink", "copybtn", "ledger-tools", "page-foot", "enlarge", "start", "cell-check"
}  # fmt: skip
REFERS_TO_IDS = ("for", "aria-labelledby", "aria-describedby", "aria-controls")
HEADINGS = re.compile(r"h[1-5]")
ARTICLE = re.compile(r'<article class="bd-article".*</article>', re.S)  # the rest of a page need not be read
ELSEWHERE = "another-part:"  # prefix of links into other parts, until the parts are joined


@dataclass(frozen=True)
class Page:
    """One page of the book: its name (`book/intro`), and the part that it belongs to ('' before the first)."""

    name: str
    part: str

    @property
    def key(self) -> str:
        """The prefix of the ids of this page."""
        return re.sub(r"\W+", "-", self.name.removeprefix("book/"))


def contents(root: Path) -> list[Page]:
    """The pages in the order of _toc.yml, the solutions last."""
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    pages = [Page(toc["root"], "")]
    for part in toc["parts"]:
        pages += [Page(name, part.get("caption", "")) for name in files(part["chapters"])]
    solutions = [Page(page.name, "Solutions") for page in pages if "/solutions-" in page.name]
    return [page for page in pages if "/solutions-" not in page.name] + solutions


def files(entries: list[dict[str, Any]]) -> Iterator[str]:
    for entry in entries:
        if "file" in entry:
            yield entry["file"]
        yield from files(entry.get("sections", []))


def assemble(root: Path, site: Path, address: str) -> list[str]:
    """The parts as HTML, to be stored beside the folder `site`: the title and the contents, then part by part.

    The table of contents has no page numbers yet.
    """
    pages = contents(root)
    articles = {page: article(site, page, pages, address) for page in pages}
    titles = {page: articles[page].find(HEADINGS).get_text() for page in pages}  # type: ignore[union-attr]
    subjects = {
        page: text.get_text() for page in pages if (text := articles[page].find(class_="page-subject"))
    }
    front = BeautifulSoup(
        title_page(root, address) + table_of_contents(pages, titles, subjects), "html.parser"
    )
    asked = lead_elsewhere([(None, front), *((page.part, text) for page, text in articles.items())], pages)
    documents = [page_of(site, "", str(front))]
    for part in dict.fromkeys(page.part for page in pages):
        body = f'<section class="part"><h1>{escape(part)}</h1></section>\n' if part else ""
        of_part = [page for page in pages if page.part == part]
        for page in of_part:
            text = articles[page].decode_contents()
            body += f'<section class="page" id="{page.key}" style="page: of-{page.key}">{text}</section>\n'
        heads = "".join(running_head(page, titles[page]) for page in of_part)
        documents.append(page_of(site, f"<style>{heads}</style>", body + places(asked[part])))
    return documents


def lead_elsewhere(texts: list[tuple[str | None, Tag]], pages: list[Page]) -> dict[str, list[str]]:
    """Mark links into other parts, in texts given with their parts; returns the link targets in each part."""
    part_of = {page.key: page.part for page in pages}
    asked: dict[str, set[str]] = {page.part: set() for page in pages}
    for part, text in texts:
        for link in text.find_all("a", href=re.compile("^#")):
            place = str(link["href"])[1:]
            there = part_of.get(place.partition("--")[0], part)
            if there is not None and there != part:
                link["href"] = ELSEWHERE + place
                asked[there].add(place)
    return {part: sorted(places) for part, places in asked.items()}


def places(names: list[str]) -> str:
    """Hidden links, because Chromium stores a target only if the same document links to it."""
    links = "".join(f'<a href="#{name}"></a>' for name in names)
    return f"<nav hidden>{links}</nav>\n"


def article(site: Path, page: Page, pages: list[Page], address: str) -> Tag:
    """The text of one page, adapted to the single document."""
    whole = ARTICLE.search((site / f"{page.name}.html").read_text(encoding="utf-8"))
    if whole is None:
        raise SystemExit(f"single_page: {page.name}.html has no article; build the book again: make book")
    text = BeautifulSoup(whole[0], "html.parser").article
    assert text is not None
    point_to_solutions(text)
    for element in text.find_all(on_screen_only):
        element.decompose()
    for fold in text.find_all("details"):
        fold["open"] = ""
    for link in text.select(
        'a[aria-hidden="true"]'
    ):  # says what the link beside it says, and has no tag in a PDF
        link.unwrap()
    for heading in text.find_all(HEADINGS) if page.part else ():
        heading.name = f"h{int(heading.name[1]) + 1}"
    rewrite(text, page, {other.name: other.key for other in pages}, address)
    return text


def on_screen_only(element: Tag) -> bool:
    """Whether an element is of no use on paper."""
    classes = element.get_attribute_list("class")
    if element.name == "details":
        around = element.parent.get_attribute_list("class") if element.parent else []
        return "above-input" in classes or "frame-exercise" in around
    return (
        element.name in ON_SCREEN_ONLY
        or not CLASSES_ON_SCREEN_ONLY.isdisjoint(classes)
        or element.get("id") == "what-you-have-read"
    )


def point_to_solutions(text: Tag) -> None:
    """Replace the folded solution of each exercise by a link to the end of the book."""
    for frame in text.find_all(class_="frame-exercise"):
        link = frame.select_one('a[href*="#solution-"]')
        if link is None:
            continue
        place = f'<p class="at-the-back"><a href="{link["href"]}">Solution</a></p>'
        frame.append(BeautifulSoup(place, "html.parser"))


def rewrite(text: Tag, page: Page, keys: dict[str, str], address: str) -> None:
    """Ids begin with their page's key; links between pages stay inside the document, others lead to `address`."""
    folder = posixpath.dirname(page.name)
    for element in text.find_all(True):
        if "id" in element.attrs:
            element["id"] = f"{page.key}--{element['id']}"
        for name in REFERS_TO_IDS:
            if name in element.attrs:
                element[name] = " ".join(f"{page.key}--{one}" for one in str(element[name]).split())
        for name in ("href", "xlink:href"):
            if name in element.attrs:
                element[name] = target(str(element[name]), page, keys, address)
        if element.name == "img" and not str(element["src"]).startswith("data:"):
            element["src"] = posixpath.normpath(posixpath.join("html", folder, str(element["src"])))
        for name, value in element.attrs.items():
            if isinstance(value, str) and "url(#" in value:
                element[name] = value.replace("url(#", f"url(#{page.key}--")


def target(link: str, page: Page, keys: dict[str, str], address: str) -> str:
    """Where a link of `page` leads to in the printed book."""
    url = urlsplit(link)
    if url.scheme or url.netloc:
        return link
    folder = posixpath.dirname(page.name)
    there = posixpath.normpath(posixpath.join(folder, url.path)) if url.path else f"{page.name}.html"
    key = keys.get(there.removesuffix(".html"))
    if key is None:
        return address + there + (f"#{url.fragment}" if url.fragment else "")
    return f"#{key}--{url.fragment}" if url.fragment else f"#{key}"


# ---- What a book has besides its pages ------------------------------------------------------------------------------

TITLE_PAGE = """<section class="title-page">
<p class="emblem">{logo}</p>
<p class="book-title">{title}</p>
<p class="book-subtitle">A course on attention and transformers.<br>Every equation runs, every claim is checked.</p>
<p class="imprint">{author}<br>Version {version}, {date}<br><a href="{address}">{address}</a></p>
<div class="edition">
<p>This is the printed form of the web pages. Left out of it are the folded code cells (they draw the figures) and the
hints to the exercises; both are in the notebooks. The other folds are open, and the solutions stand at the back.</p>
<p>Text and figures: CC BY 4.0. Code: MIT.</p>
</div>
</section>
"""


def title_page(root: Path, address: str) -> str:
    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    citation = yaml.safe_load((root / "CITATION.cff").read_text(encoding="utf-8"))
    return TITLE_PAGE.format(
        logo=(root / "book" / "_static" / "logo.svg").read_text(encoding="utf-8"),
        title=escape(config["title"]),
        author=escape(config["author"]),
        version=citation["version"],
        date=citation["date-released"],
        address=address,
    )


def table_of_contents(pages: list[Page], titles: dict[Page, str], subjects: dict[Page, str]) -> str:
    lines, part = [], ""
    for page in pages:
        if page.part != part:
            part = page.part
            lines.append(f'<li class="book-contents-part">{escape(part)}</li>')
        entry = f'<a href="#{page.key}">{escape(with_subject(titles[page], subjects.get(page, "")))}</a>'
        lines.append(f'<li>{entry}<span class="folio" data-of="{page.key}"></span></li>')
    return f'<nav class="book-contents" id="contents"><h1>Contents</h1><ol>{"".join(lines)}</ol></nav>\n'


def with_numbers(html: str, numbers: dict[str, int]) -> str:
    """The table of contents with the numbers of the pages on which its entries begin."""
    return re.sub(r'(<span class="folio" data-of="([^"]+)">)', lambda m: f"{m[1]}{numbers[m[2]]}", html)


def counting_from(html: str, number: int) -> str:
    """A part whose first page has this number."""
    return html.replace("<html ", f'<html style="counter-reset: page {number - 1}" ', 1)


def running_head(page: Page, title: str) -> str:
    """A style that prints the title of a page at the top of each of its sheets."""
    words = title.replace("\\", "").replace('"', "”")
    return f'@page of-{page.key} {{ @top-right {{ content: "{words}" }} }}\n'


def page_of(site: Path, style: str, body: str) -> str:
    """A document with the book's own style sheets and those of print."""
    intro = (site / "book" / "intro.html").read_text(encoding="utf-8")
    sheets = re.findall(r'<link[^>]*href="\.\./(_static/[^"?]*\.css)[^"]*"', intro)
    links = "".join(f'<link rel="stylesheet" href="html/{sheet}">\n' for sheet in sheets)
    title = re.search(r"<title>.*&#8212; (.*)</title>", intro)
    return (
        '<!doctype html>\n<html lang="en" data-theme="light"><head><meta charset="utf-8">\n'
        f"<title>{title[1] if title else ''}</title>\n{links}"
        f'<link rel="stylesheet" href="../tools/pdf.css">\n{style}</head>\n'
        f'<body class="in-print"><main class="bd-article">\n{body}</main></body></html>\n'
    )
