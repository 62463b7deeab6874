"""Where am I, where do I start, what did I read: the contents, the way on, the first page, and what is kept."""

# ruff: noqa: F811  (fixtures are used by their names)

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from built import tree
from test_pages import (
    PAGES,
    SITE,
    Opened,
    browser,  # noqa: F401  (the two fixtures are used by their names)
    in_dark,
    inaccessible,
    origin,  # noqa: F401
    overflow,
)
from waits import patient, until

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "book"), str(ROOT / "tools")]

from _ext import navigation, page_foot  # noqa: E402  (the extension lies beside the book)
from set_address import wanted  # noqa: E402

INTRO = "book/intro.html"
FIRST = "book/01-foundations/1-the-bottleneck"
SECOND = "book/01-foundations/2-the-attention-function"
built = pytest.mark.built
in_browser = pytest.mark.browser


# ---- The contents and the way on ------------------------------------------------------------------------------------


def test_chapters_have_the_names_of_the_contents() -> None:
    names = navigation.titles(ROOT / "book")
    assert names["2"] == "Self-Attention" and names["3"] == "Multi-Head Attention"


def test_a_notebook_that_calls_itself_a_side_road_is_one(tmp_path: Path) -> None:
    folder = tmp_path / "book" / "01-foundations"
    folder.mkdir(parents=True)
    for name, course in (("1-core", {}), ("2-aside", {"course": {"side_road": True}})):
        (folder / f"{name}.ipynb").write_text(json.dumps({"cells": [], "metadata": course}), "utf8")
    assert navigation.side_roads(tmp_path / "book") == {"book/01-foundations/2-aside"}


@built
def test_each_notebook_has_its_number_in_the_contents_and_above_its_title() -> None:
    page = tree(SITE / f"{SECOND}.html")
    entries = page.select("nav.bd-links li[data-page]")
    assert len(entries) == len([name for name in PAGES if re.search(r"/0[^/]+/\d", name)])
    numbers = [entry.select_one(".nr").text for entry in entries]  # type: ignore[union-attr]
    assert numbers == sorted(numbers, key=lambda one: [int(part) for part in one.split(".")])
    current = [entry for entry in entries if "current" in entry["class"]]
    assert [entry["data-page"] for entry in current] == [SECOND]
    assert page.select_one(".eyebrow").text == "Foundations · 1.2"  # type: ignore[union-attr]
    assert (
        tree(SITE / "book/02-self-attention/3-masks.html").select_one(".eyebrow").text
        == "Self-Attention · 2.3"
    )  # type: ignore[union-attr]


@built
def test_the_way_on_says_the_number_and_where_a_chapter_begins() -> None:
    following = tree(SITE / "book/01-foundations/checked-2.html").select_one(".right-next .prev-next-title")
    assert following is not None
    assert following.text == "2.1 A sequence attends to itself, a new chapter: Self-Attention"
    before = tree(SITE / f"{SECOND}.html").select_one(".left-prev .prev-next-title")
    assert before is not None and before.text == "1.1 The bottleneck"


# ---- The first page -------------------------------------------------------------------------------------------------


@in_browser
@pytest.mark.parametrize(("width", "height"), [(1280, 800), (820, 1100), (390, 844)])
def test_the_first_screen_says_where_to_start(width: int, height: int, browser: Any, origin: str) -> None:
    with Opened(browser, origin + INTRO, width) as opened:
        opened.page.set_viewport_size({"width": width, "height": height})
        start = opened.page.get_by_role("link", name="Start with 1.1 The bottleneck")
        box = start.bounding_box()
        assert box and box["y"] + box["height"] < height
        start.click()
        opened.page.wait_for_url(f"**/{FIRST}.html")


@built
def test_the_first_page_says_how_to_cite_as_the_citation_file_does() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf8"))
    text = tree(SITE / "book/intro.html").select_one("#how-to-cite").text  # type: ignore[union-attr]
    for part in (
        cited["title"],
        str(cited["version"]),
        cited["url"],
        "@misc{",
        str(cited["date-released"])[:4],
    ):
        assert str(part) in text
    assert cited["url"] == wanted(ROOT)["site"]


# ---- What is kept ---------------------------------------------------------------------------------------------------

KEPT = "() => JSON.parse(localStorage.getItem('attention-executed'))"


@in_browser
@pytest.mark.parametrize("from_disk", [False, True], ids=["served", "from disk"])
def test_what_was_read_is_marked_in_the_contents_and_can_be_taken_back(
    from_disk: bool, browser: Any, origin: str
) -> None:
    root = SITE.as_uri() + "/" if from_disk else origin
    with Opened(browser, f"{root}{SECOND}.html") as opened:
        page = opened.page
        button = page.locator(".mark-read")
        assert button.inner_text() == "Mark as read"
        button.click()
        assert button.get_attribute("aria-pressed") == "true"
        mark = page.locator(f'nav.bd-links li[data-page="{SECOND}"] .done')
        assert mark.get_attribute("aria-label") == "read"
        page.goto(f"{root}{FIRST}.html")
        assert mark.count() == 1 and page.locator("nav.bd-links .done").count() == 1
        page.evaluate("() => courseProgress.solve('foundations.forgetting')")
        solved = page.locator(f'nav.bd-links li[data-page="{FIRST}"] .done')
        assert (solved.get_attribute("aria-label") or "").startswith("1 of ")
        page.goto(f"{root}{INTRO}")
        page.locator(".progress-said", has_text="1 of ").wait_for(state="attached")
        assert page.locator(".start .go-on").inner_text() == "Go on with 1.1 The bottleneck"
        page.goto(f"{root}{SECOND}.html")
        button.click()
        assert page.evaluate(KEPT)["read"] == {}
        assert not opened.faults


@in_browser
def test_a_page_can_be_marked_as_read_from_the_moment_one_sees_how(browser: Any, origin: str) -> None:
    page = patient(browser.new_page())
    held: list[Any] = []
    page.route("**/progress.js*", lambda route: held.append(route))
    page.goto(f"{origin}{SECOND}.html", wait_until="commit")
    until(page, "all is read but the script", "() => document.readyState === 'interactive'")
    button = page.locator(".mark-read")
    assert button.count() == 1 and not button.is_visible()
    held[0].continue_()
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    page.close()


@in_browser
def test_a_page_counts_as_read_when_its_end_was_in_sight_after_a_minute(browser: Any, origin: str) -> None:
    with Opened(browser, origin + INTRO) as opened:
        page = opened.page
        page.clock.install()
        page.goto(f"{origin}{SECOND}.html")
        foot_of_page = page.locator(".mark-read")
        foot_of_page.scroll_into_view_if_needed()
        page.clock.run_for(1000)
        assert page.evaluate(KEPT) is None
        page.evaluate("() => scrollTo(0, 0)")
        page.clock.run_for(60000)
        assert page.evaluate(KEPT) is None, "the end was not seen again"
        foot_of_page.scroll_into_view_if_needed()
        until(page, "something is kept", f"({KEPT})() !== null")
        assert list(page.evaluate(KEPT)["read"]) == [SECOND]


@in_browser
def test_what_is_kept_can_be_saved_loaded_and_forgotten(browser: Any, origin: str, tmp_path: Path) -> None:
    with Opened(browser, origin + INTRO, accept_downloads=True) as opened:
        page = opened.page
        page.evaluate("page => courseProgress.read(page)", SECOND)
        with page.expect_download() as saved:
            page.get_by_role("button", name="Save a copy").click()
        copy = tmp_path / "copy.json"
        saved.value.save_as(copy)
        assert list(json.loads(copy.read_text())["read"]) == [SECOND]
        page.get_by_role("button", name="Forget it").click()
        assert page.evaluate(KEPT)["read"] == {} and page.locator("nav.bd-links .done").count() == 0
        page.locator(".progress-tools input").set_input_files(copy)
        page.locator("nav.bd-links .done").wait_for()
        wrong = tmp_path / "wrong.json"
        wrong.write_text('{"read": 3}')
        page.locator(".progress-tools input").set_input_files(wrong)
        page.get_by_text(
            "wrong.json is not a copy saved by this book or by attnlib; nothing was changed."
        ).wait_for()
        assert list(page.evaluate(KEPT)["read"]) == [SECOND]
        assert not opened.faults


@in_browser
@pytest.mark.parametrize("stored", ["nonsense", '{"version": 9}', "[]", "null"])
def test_what_another_program_left_there_does_no_harm(stored: str, browser: Any, origin: str) -> None:
    with Opened(browser, origin + INTRO) as opened:
        opened.page.evaluate("text => localStorage.setItem('attention-executed', text)", stored)
        opened.page.reload()
        assert opened.page.locator(".progress-said").text_content() == "Nothing yet."
        assert not opened.faults


# ---- The foot of a page ---------------------------------------------------------------------------------------------


@built
@pytest.mark.parametrize("name", [SECOND, "book/glossary", "book/claims"])
def test_a_page_leads_to_its_source_as_publish_toml_says(name: str) -> None:
    address = wanted(ROOT)
    links = [str(link["href"]) for link in tree(SITE / f"{name}.html").select(".page-foot a")]
    assert links[0].startswith(f"https://github.com/{address['repository']}/issues/new?title=")
    file = links[1].removeprefix(f"https://github.com/{address['repository']}/edit/{address['branch']}/")
    assert (ROOT / file).is_file()


@pytest.mark.parametrize("module", [page_foot])
def test_the_examples_in_the_extension_hold(module: Any) -> None:
    import doctest

    found = doctest.testmod(module)
    assert found.attempted and not found.failed


@in_browser
@pytest.mark.parametrize("width", [1280, 820, 390])
def test_the_way_back_to_the_top_is_there_at_every_width(width: int, browser: Any, origin: str) -> None:
    with Opened(browser, f"{origin}{SECOND}.html", width) as opened:
        page = opened.page
        button = page.get_by_role("button", name="Back to top")
        assert not button.is_visible()
        page.evaluate("() => scrollTo(0, 3000)")
        until(page, "the page has moved", "() => document.body.classList.contains('far-down')")
        assert button.is_visible() == (width == 1280), "on a narrow screen it does not lie on what is read"
        page.evaluate("() => scrollBy(0, -100)")
        button.click()
        until(page, "the page is at its top", "() => scrollY === 0")
        assert not opened.faults


@in_browser
@pytest.mark.parametrize("width", [1280, 390])
def test_the_first_page_with_something_kept_can_be_read_by_everyone(
    width: int, browser: Any, origin: str
) -> None:
    with Opened(browser, origin + INTRO, width) as opened:
        page = opened.page
        page.evaluate("page => courseProgress.read(page)", SECOND)
        wrong = inaccessible(page) + overflow(page)
        in_dark(page)
        assert wrong + inaccessible(page, colours_only=True) == []


@in_browser
@pytest.mark.parametrize("name", [INTRO, FIRST + ".html", "book/claims.html"])
def test_the_first_control_of_the_text_is_at_most_twelve_tabs_away(
    name: str, browser: Any, origin: str
) -> None:
    with Opened(browser, origin + name, 1280) as opened:
        keys = opened.page.keyboard
        for key in ("Tab", "Enter"):  # the way past the contents
            keys.press(key)
        for _ in range(11):
            keys.press("Tab")
            if opened.page.evaluate("() => document.activeElement.closest('article') !== null"):
                return
    pytest.fail("no control of the text was reached")
