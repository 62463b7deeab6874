"""What helps while reading: the head of a notebook, the meaning of a symbol, and previews by keyboard."""

import doctest
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from bs4 import Tag
from built import tree
from playwright.sync_api import expect
from test_pages import (
    SITE,
    Opened,
    browser,  # noqa: F401  (the two fixtures are used by their names)
    in_dark,
    inaccessible,
    origin,  # noqa: F401
    overflow,
)

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "book"))

from _ext import notation  # noqa: E402  (the extension lies beside the book)

SOURCES = sorted((ROOT / "book").glob("[0-9]*/[0-9]*.ipynb"))  # the pages of old addresses have none
NOTEBOOKS = [
    (SITE / file.relative_to(ROOT)).with_suffix(".html") for file in SOURCES
]  # without those named checked
SOFTMAX = "book/01-foundations/4-softmax-and-scale.html"
built = pytest.mark.built


@pytest.mark.parametrize("module", [notation])
def test_the_examples_in_the_extension_hold(module) -> None:
    found = doctest.testmod(module)
    assert found.attempted and not found.failed


# ---- The head of a notebook -----------------------------------------------------------------------------------------


@built
@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_says_how_long_it_takes_and_where_it_stands(file: Path) -> None:
    page = tree(file)
    line = page.select_one(".page-head .at-a-glance")
    assert line is not None
    assert re.fullmatch(r"[1-9]\d* min to read( · \d+ exercises?)?", line.text)
    said = re.search(r"(\d+) exercise", line.text)
    assert len(page.select(".frame-exercise")) == int(said[1] if said else 0)
    chapter = [other for other in NOTEBOOKS if other.parent == file.parent]
    links = page.select(".chapter-map li a")
    assert len(links) == (len(chapter) if len(chapter) > 1 else 0)
    assert [link.text.split(" ")[0] for link in links if "aria-current" in link.attrs] == [
        f"{int(file.parent.name[:2])}.{file.name.split('-')[0]}" for _ in links[:1]
    ]
    assert all(link["href"] == "#" or (file.parent / str(link["href"])).exists() for link in links)


# ---- The meaning of a symbol ----------------------------------------------------------------------------------------


@built
@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_the_first_use_of_a_symbol_leads_to_its_meaning(file: Path) -> None:
    page, rows = tree(file), tree(SITE / "book" / "notation.html")
    links = page.select("a.symbol")
    anchors = [str(link["href"]).partition("#")[2] for link in links]
    assert anchors and len(anchors) == len(set(anchors)), "each symbol once"
    for anchor in anchors:
        assert isinstance(rows.find("tr", id=anchor), Tag), anchor
        stored = page.select_one(f'template[data-preview="{anchor}"]')
        assert stored is not None and "in code" in stored.decode()
    assert all(re.fullmatch(r".+: \w.+", str(link["aria-label"])) for link in links), (
        "read aloud with its meaning"
    )


def test_a_letter_that_means_something_else_on_a_page_is_left_alone() -> None:
    file = ROOT / "book" / "notation.md"
    exceptions = notation.read_exceptions(file)
    assert ("book/01-foundations/1-the-bottleneck", "T") in exceptions
    assert all(symbol in notation.read_notation(file) for _, symbol in exceptions)
    assert all((ROOT / f"{page}.ipynb").exists() for page, _ in exceptions)


@pytest.mark.browser
def test_a_meaning_is_shown_by_keyboard_and_hidden_by_escape(browser: Any, origin: str) -> None:  # noqa: F811
    with Opened(browser, origin + SOFTMAX) as opened:
        page = opened.page
        for link in (page.locator("a.symbol").first, page.locator('.bd-article a[href*="#eq-"]').first):
            link.focus()
            assert page.locator("#preview[role=tooltip]").is_visible()
            page.keyboard.press("Escape")
            assert page.locator("#preview").count() == 0
            assert link.get_attribute("aria-describedby") is None
        assert not opened.faults


WIDTHS = "box => [box.scrollWidth, box.clientWidth, box.closest('#preview').style.fontSize]"
LINKS = {"symbol": "a.symbol", "equation": '.bd-article a[href*="#eq-"]'}


@pytest.mark.browser
def test_a_link_to_an_equation_says_it_and_a_symbol_is_said_once(browser: Any, origin: str) -> None:  # noqa: F811
    with Opened(browser, origin + SOFTMAX) as opened:
        link = opened.page.locator(".bd-article a[href$='2-the-attention-function.html#eq-weights']").first
        link.focus()
        words = "p sub j = (e to the (s sub j)) over (sum from l = 1 to n e to the (s sub l))"
        expect(link).to_have_accessible_description(re.compile(rf"Equation 1\.\d+: {re.escape(words)}"))
        symbol = opened.page.locator(LINKS["symbol"]).first
        symbol.focus()
        expect(symbol).to_have_accessible_description("")
        expect(opened.page.get_by_role("tooltip", name=symbol.get_attribute("aria-label"))).to_be_visible()


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("kind", LINKS)
def test_nothing_is_wrong_while_a_preview_is_open(kind: str, width: int, browser: Any, origin: str) -> None:  # noqa: F811
    with Opened(browser, origin + SOFTMAX, width) as opened:
        page = opened.page
        page.locator(LINKS[kind]).first.focus()
        wrong = inaccessible(page) + overflow(page)
        in_dark(page)
        wrong += inaccessible(page, colours_only=True)
        assert page.locator("#preview").is_visible()
    # A preview may cover a part of another link, as long as it is open.
    assert [fault for fault in wrong if "partially obscured" not in fault] == []


@pytest.mark.browser
def test_a_wide_formula_is_made_to_fit_its_preview(browser: Any, origin: str) -> None:  # noqa: F811
    with Opened(browser, f"{origin}book/02-self-attention/5-gradients-by-hand.html", 320) as opened:
        page = opened.page
        widths = []
        for link in page.locator(LINKS["equation"]).all()[:12]:
            link.focus()
            widths.append(page.locator("#preview .katex-display").evaluate(WIDTHS))
        assert [size for size in widths if size[0] > size[1] + 2] == []
        assert any(size[2] for size in widths), "none was wide"


@pytest.mark.browser
def test_the_pointer_may_move_on_to_what_is_shown(browser: Any, origin: str) -> None:  # noqa: F811
    with Opened(browser, origin + SOFTMAX) as opened:
        page = opened.page
        page.locator("a.symbol").first.hover(
            position={"x": 5, "y": 12}
        )  # on the letter: a formula also has a box for screen readers
        page.locator("#preview").hover()
        page.wait_for_timeout(400)
        assert page.locator("#preview").is_visible()
        page.locator(".bd-article h1").hover()
        page.locator("#preview").wait_for(state="detached")
