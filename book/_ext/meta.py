"""What a page says about itself to search engines, and to those with whom it is shared."""

import re
from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

CARD = "_static/social-card.png"
CARD_SHOWS = "Three sources on the left, one answer on the right: the book's sign, beside its title."
FORMULA = "\N{REPLACEMENT CHARACTER}"
LONGEST = 160  # characters of a description, about what a search engine shows


def description(doctree: nodes.document, fallback: str) -> str:
    """What the first paragraph says in sentences without formulas, cut at a word."""
    for paragraph in doctree.findall(nodes.paragraph):
        if isinstance(paragraph.parent, (nodes.section, nodes.document)):
            sentences = re.split(r"(?<=[.?!])\s+", plain(paragraph))
            text = " ".join(one for one in sentences if FORMULA not in one and one.endswith((".", "?", "!")))
            if text:
                return shorten(text)
    return fallback


def plain(paragraph: nodes.paragraph) -> str:
    """The words of a paragraph, with a mark in place of each formula."""
    copy = paragraph.deepcopy()
    for formula in list(copy.findall(nodes.math)):
        formula.replace_self(nodes.Text(FORMULA))
    return re.sub(r"\s+", " ", copy.astext()).strip()


def shorten(text: str, longest: int = LONGEST) -> str:
    """
    >>> shorten("Score, normalise, average.", 20)
    'Score, normalise …'
    """
    if len(text) <= longest:
        return text
    return text[: longest - 1].rsplit(" ", 1)[0].rstrip(",;:") + " …"


def tags(title: str, text: str, page: str, site: str, book: str) -> str:
    """The meta elements of one page.

    >>> print(tags("A title", "A < B.", "https://b.example/a.html", "https://b.example/", "The book").split("\\n")[0])
    <meta name="description" content="A &lt; B." />
    """
    pairs = [
        ("name", "description", text),
        ("property", "og:type", "website" if title == book else "article"),
        ("property", "og:site_name", book),
        ("property", "og:title", title),
        ("property", "og:description", text),
        ("property", "og:url", page),
        ("property", "og:image", site + CARD),
        ("property", "og:image:alt", CARD_SHOWS),
        ("name", "twitter:card", "summary_large_image"),
    ]
    return "\n".join(f'<meta {kind}="{key}" content="{escape(value)}" />' for kind, key, value in pairs)


def describe(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    if doctree is None:
        context["metatags"] = context.get("metatags", "") + '<meta name="robots" content="noindex" />\n'
        return
    site, book = app.config.html_baseurl, app.config.html_title
    title = app.env.titles[pagename].astext()
    text = description(doctree, f"{title}: a page of {book}.")
    context["metatags"] = context.get("metatags", "") + tags(
        title, text, f"{site}{pagename}.html", site, book
    )


def setup(app: Sphinx) -> None:
    app.connect("html-page-context", describe)
