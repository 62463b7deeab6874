"""Every link of the built book leads somewhere: the file is there, and so is the place in it."""

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

SITE = Path(__file__).resolve().parent.parent / "_build" / "html"


class Places(HTMLParser):
    """What links can reach on a page, and where its own links lead."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.feed(page.read_text("utf8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attrs if value}
        self.ids |= {given[key] for key in ("id", "name") if key in given}
        if tag in ("a", "link", "img", "script"):
            self.links += [given[key] for key in ("href", "src") if key in given]


def dead_links(site: Path) -> list[str]:
    known = {page: Places(page) for page in site.rglob("*.html") if "_static" not in page.parts}
    dead = []
    for page, found in known.items():
        for link in found.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            there = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            anchor = unquote(parts.fragment)
            reached = there.exists() and (not anchor or there not in known or anchor in known[there].ids)
            dead += [] if reached else [f"{page.relative_to(site)}: {link}"]
    return dead


@pytest.mark.built
def test_no_link_of_the_book_is_dead():
    if not (SITE / "index.html").exists():
        pytest.skip("the book is not built: run `make book`, then this again.")
    assert dead_links(SITE) == []


def test_a_dead_link_a_dead_anchor_and_a_missing_picture_are_seen(tmp_path):
    (tmp_path / "a.html").write_text(
        '<a href="b.html#x">1</a><a href="#here" id="here">2</a><a href="https://x.y">3</a>'
    )
    (tmp_path / "b.html").write_text(
        '<p id="x"><a href="c.html">4</a><a href="a.html#gone">5</a><img src="d.png">'
    )
    assert sorted(dead_links(tmp_path.resolve())) == [
        "b.html: a.html#gone",
        "b.html: c.html",
        "b.html: d.png",
    ]
