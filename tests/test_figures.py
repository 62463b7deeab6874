"""Figures have numbers and captions and open large; a term is explained on hover, focus and tap."""

# ruff: noqa: F811  (fixtures are used by their names)

import doctest
import math
import re
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from built import tree
from test_book_ext import build, drawing, notebook, only, page
from test_pages import (
    SITE,
    Opened,
    browser,  # noqa: F401  (the two fixtures are used by their names)
    in_dark,
    inaccessible,
    origin,  # noqa: F401
    overflow,
)
from waits import until

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "book"))

from _ext import glossary  # noqa: E402  (the extension lies beside the book)

SOFTMAX = "book/01-foundations/4-softmax-and-scale.html"
SOURCES = sorted((ROOT / "book").glob("[0-9]*/[0-9]*.ipynb"))  # the pages of old addresses have none
NOTEBOOKS = [(SITE / file.relative_to(ROOT)).with_suffix(".html") for file in SOURCES]
TOUCHED = pytest.mark.parametrize("width", [1280, 820, 390])


# ---- Captions -------------------------------------------------------------------------------------------------------


def a_book(cells: list[Any]) -> dict[str, str]:
    return {
        "book/index.md": "# Book\n\n```{toctree}\n01-one/2-page\n```\n",
        "book/01-one/2-page.ipynb": notebook(*cells),
        **{f"book/ledger/{kind}.yml": "[]" for kind in ("systems", "equations", "claims")},
    }


def test_a_figure_has_the_caption_that_follows_it_or_else_its_alternative_text(tmp_path: Path) -> None:
    plain = ([], *drawing()[1:])
    assert build(tmp_path, a_book(["# Page", plain, "**Figure.** See how it *rises*.\n\nText.", plain])) == ""
    shown = page(tmp_path, "01-one/2-page")
    first, second = shown.select(".figure-caption p")
    assert (
        " ".join(first.text.split()) == "Figure 1.2.1. See how it rises."
        and only(first, "em").text == "rises"
    )
    assert second.text == "Figure 1.2.2. A rising line."
    assert only(second, "[aria-hidden]").text == "A rising line.", "read aloud with the drawing already"
    assert [button["aria-label"] for button in shown.select("button.enlarge")] == [
        "Enlarge Figure 1.2.1",
        "Enlarge Figure 1.2.2",
    ]


@pytest.mark.built
@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_every_figure_of_the_book_has_a_number_and_a_caption(file: Path) -> None:
    shown = tree(file)
    captions = [caption.text for caption in shown.select(".figure-caption p")]
    assert len(captions) == len(shown.select(".drawing"))
    number = f"{int(file.parent.name[:2])}.{file.name.split('-')[0]}"
    for i, caption in enumerate(captions, 1):
        assert re.match(rf"Figure {re.escape(number)}\.{i}\. \S.{{20,}}", caption)


PANELS = "book/02-self-attention/8-slopes-and-saturation.html"


@pytest.mark.browser
@pytest.mark.parametrize(("width", "rows"), [(1280, 1), (390, 2)])
def test_panels_stand_side_by_side_where_there_is_room(
    width: int, rows: int, browser: Any, origin: str
) -> None:
    with Opened(browser, origin + PANELS, width) as opened:
        drawing_of = opened.page.locator(".drawing:has(.strips)").first
        tops = {round(part.bounding_box()["y"]) for part in drawing_of.locator(".strips svg").all()}
        assert len(tops) == rows
        assert drawing_of.evaluate("box => box.scrollWidth <= box.clientWidth")
        assert drawing_of.get_by_role("img").count() == 1, "read aloud once"


COLUMN, LETTER = 358, 11  # pixels: of a page on a phone, and of the smallest letter
SIZE = re.compile(r"scale\((0\.\d+) -0")


def smallest_letter(svg: str) -> float:
    """Its height in pixels on a phone, where each panel of a drawing is at most as wide as the page."""
    whole, windows = re.search(r'width="([\d.]+)pt"', svg), re.search(r'data-windows="([^"]*)"', svg)
    assert whole
    parts = re.split("[;,] ", windows[1]) if windows else []
    widest = max([float(part.split()[2]) for part in parts] or [float(whole[1])])
    letters = [100 * float(size) for size in SIZE.findall(svg)] or [math.inf]
    return min(letters) * min(1.6, COLUMN / widest)


def drawings(file: Path) -> list[str]:
    cells = nbformat.read(file, as_version=4).cells
    return [
        output.data["image/svg+xml"]
        for cell in cells
        for output in cell.get("outputs", [])
        if "image/svg+xml" in output.get("data", {}) and "viz.explore(" not in cell.source
    ]


def test_the_letters_of_figures_can_be_read_on_a_phone() -> None:
    sizes = {
        f"{file.parent.name}/{file.stem}, drawing {i}": smallest_letter(svg)
        for file in SOURCES
        for i, svg in enumerate(drawings(file), 1)
    }
    small = {name: round(size, 1) for name, size in sizes.items() if size < LETTER}
    assert len(small) <= 0.02 * len(sizes), f"letters under {LETTER} pixels: {small}"


@pytest.mark.browser
@TOUCHED
def test_a_figure_opens_large_and_comes_back(width: int, browser: Any, origin: str) -> None:
    with Opened(browser, origin + SOFTMAX, width) as opened:
        opened_page = opened.page
        button = opened_page.locator("button.enlarge:visible").first
        above = "button.closest('.figure-caption').previousElementSibling"
        panel = f"({above}.querySelector('.strips svg') || {above}.querySelector('.drawing > svg'))"
        before = button.evaluate(f"button => {panel}.getBoundingClientRect().width")
        article = opened_page.locator(".bd-article").evaluate(
            "article => article.querySelectorAll('.drawing').length"
        )
        button.click()
        large = opened_page.locator("dialog.large .drawing > svg")
        assert large.bounding_box()["width"] > before * 1.15
        wrong = inaccessible(opened_page)
        in_dark(opened_page)
        assert wrong + inaccessible(opened_page, colours_only=True) == []
        opened_page.keyboard.press("Escape")
        assert opened_page.locator("dialog.large").count() == 0
        assert opened_page.locator(".bd-article .drawing").count() == article
        assert button.evaluate("button => button === document.activeElement")
        assert not opened.faults


# ---- Terms, symbols and equations -----------------------------------------------------------------------------------


def test_the_examples_in_the_glossary_hold() -> None:
    found = doctest.testmod(glossary)
    assert found.attempted and not found.failed


@pytest.mark.built
@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_the_first_use_of_a_term_leads_to_the_glossary_once(file: Path) -> None:
    shown = tree(file)
    terms = tree(SITE / "book" / "glossary.html")
    anchors = [str(link["href"]).partition("#")[2] for link in shown.select("a.term")]
    assert anchors and len(anchors) == len(set(anchors))
    for anchor in anchors:
        assert terms.find(id=anchor) is not None, anchor
        stored = shown.select_one(f'template[data-preview="{anchor}"]')
        assert stored is not None and 'class="meaning"' in stored.decode(), anchor
    assert not shown.select(":is(h1, h2, h3, code, a, .katex) a.term")


# On its first letter: a formula also has a box for screen readers, and a link may begin at the end of a line.
INSIDE = """link => {
  const [box, line] = [link.getBoundingClientRect(), link.getClientRects()[0]];
  return { x: line.x - box.x + 5, y: line.y - box.y + 12 };
}"""
LINKS = {"term": "a.term", "symbol": "a.symbol", "equation": '.bd-article a[href*="#eq-"]'}


@pytest.mark.browser
@pytest.mark.parametrize("kind", LINKS)
@TOUCHED
def test_a_first_tap_shows_and_a_second_leads_on(kind: str, width: int, browser: Any, origin: str) -> None:
    with Opened(browser, origin + SOFTMAX, width, has_touch=True) as opened:
        page = opened.page
        link = page.locator(LINKS[kind]).first
        link.scroll_into_view_if_needed()
        before, inside = page.url, link.evaluate(INSIDE)
        link.tap(position=inside)
        assert page.locator("#preview").is_visible() and page.url == before
        page.wait_for_timeout(400)
        assert page.locator("#preview").is_visible(), "it stays when the finger has gone"
        assert overflow(page) == []
        link.tap(position=inside)
        until(page, "the second tap has led on", "before => location.href !== before", before)
        assert not opened.faults


@pytest.mark.browser
def test_a_tap_elsewhere_hides_what_is_shown(browser: Any, origin: str) -> None:
    with Opened(browser, origin + SOFTMAX, 390) as opened:
        opened.page.locator("a.term").first.tap()
        assert opened.page.locator("#preview").is_visible()
        opened.page.locator(".bd-article h1").tap()
        assert opened.page.locator("#preview").count() == 0


@pytest.mark.browser
def test_a_term_is_explained_by_pointer_and_by_keyboard(browser: Any, origin: str) -> None:
    with Opened(browser, origin + SOFTMAX) as opened:
        page = opened.page
        term = page.locator("a.term").first
        term.hover()
        page.locator("#preview .meaning").wait_for()
        page.locator(".bd-article h1").hover()
        page.locator("#preview").wait_for(state="detached")
        term.focus()
        assert page.locator("#preview .meaning").is_visible()
        page.keyboard.press("Escape")
        assert page.locator("#preview").count() == 0
