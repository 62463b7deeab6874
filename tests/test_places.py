"""Never lost: a jump lands where it should, the way back leads to where one was, and what was chosen stays chosen."""

# ruff: noqa: F811  (fixtures are used by their names)

from typing import Any

import pytest
from test_pages import (
    SITE,
    Opened,
    browser,  # noqa: F401  (the two fixtures are used by their names)
    origin,  # noqa: F401
)
from waits import until

pytestmark = pytest.mark.browser
WIDTHS = pytest.mark.parametrize("width", [1280, 820, 390])
LONG = "book/01-foundations/4-softmax-and-scale.html"
LISTS = {"claims": "verdict", "equations": "document", "systems": "chapter", "exercises": "kind"}

# Where the browser stands once nothing has moved for some frames.
STILL = """(selector) => new Promise(done => {
  let before = null, same = 0;
  const look = () => {
    const now = selector ? document.querySelector(selector).getBoundingClientRect().y : scrollY;
    same = now === before ? same + 1 : 0;
    before = now;
    if (same > 10) done(now); else setTimeout(look, 30);
  };
  look();
})"""


def address(page: str, from_disk: bool, origin: str) -> str:
    return (SITE / page).as_uri() if from_disk else origin + page


@WIDTHS
@pytest.mark.parametrize("which", ["limits", "exercises", "saturation"])
def test_a_tap_in_the_contents_lands_on_its_heading(
    which: str, width: int, browser: Any, origin: str
) -> None:
    with Opened(browser, origin + LONG, width, has_touch=width < 1000) as opened:
        page = opened.page
        link = page.locator(f'.page-toc a[href="#{which}"]')
        if not link.is_visible():
            page.locator(".secondary-toggle").click()
            link = page.locator(f'dialog a[href="#{which}"]')
        link.tap() if width < 1000 else link.click()
        until(page, f"the address ends in #{which}", f"() => location.hash === '#{which}'")
        heading = page.evaluate(STILL, f"#{which}")
        end = page.evaluate("() => document.documentElement.scrollHeight - scrollY - innerHeight < 2")
        assert end or 0 <= heading <= 120, f"{heading:.0f} px from the top"


@WIDTHS
def test_a_link_to_a_place_on_another_page_lands_on_it(width: int, browser: Any, origin: str) -> None:
    with Opened(browser, f"{origin}{LONG}#limits", width) as opened:
        assert 0 <= opened.page.evaluate(STILL, "#limits") <= 120


@WIDTHS
@pytest.mark.parametrize("row", ["c030", "c087"])
def test_the_way_back_leads_to_the_row_that_one_came_from(
    row: str, width: int, browser: Any, origin: str
) -> None:
    with Opened(browser, f"{origin}book/claims.html", width) as opened:
        page = opened.page
        page.locator(f"#{row}").scroll_into_view_if_needed()
        link = page.locator(f"#{row} .row-links a").first
        link.scroll_into_view_if_needed()
        before = page.evaluate(STILL, f"#{row}")
        link.click()
        page.wait_for_url("**/0*/**")
        page.go_back()
        page.wait_for_url("**/claims.html**")
        assert abs(page.evaluate(STILL, f"#{row}") - before) <= 40


@pytest.mark.parametrize("from_disk", [False, True], ids=["served", "from disk"])
@pytest.mark.parametrize("name", LISTS)
def test_filters_survive_a_reload_and_can_be_reset(
    name: str, from_disk: bool, browser: Any, origin: str
) -> None:
    with Opened(browser, address(f"book/{name}.html", from_disk, origin)) as opened:
        page = opened.page
        rows = page.locator(":is(ol.ledger, ol.exercises) > li")
        shown = page.locator(":is(ol.ledger, ol.exercises) > li:visible")
        select = page.locator(f"#ledger-{LISTS[name]}")
        value = select.locator("option").nth(1).get_attribute("value")
        select.select_option(value)
        left = shown.count()
        assert 0 < left < rows.count()
        page.reload()
        assert select.input_value() == value and shown.count() == left
        page.locator("#ledger-search").fill("zzzz")
        assert shown.count() == 0
        assert page.locator(".ledger-tools output").inner_text().startswith(f"0 of {rows.count()}")
        page.get_by_role("button", name=f"Show all {rows.count()}").click()
        assert shown.count() == rows.count() and select.input_value() == ""
        page.reload()
        assert shown.count() == rows.count()
        assert not opened.faults


@WIDTHS
def test_a_link_to_a_solution_opens_it(width: int, browser: Any, origin: str) -> None:
    with Opened(browser, origin + LONG, width) as opened:
        page = opened.page
        frame = page.locator(".frame-exercise", has=page.locator('a[href*="#solution-"]')).first
        frame.locator(":scope > details > summary", has_text="Solution").click()
        link = frame.locator('a[href*="#solution-"]')
        target = link.get_attribute("href").partition("#")[2]
        link.click()
        page.wait_for_url(f"**/solutions-01.html#{target}")
        fold = page.locator(f"#{target} > details")
        assert fold.evaluate("fold => fold.open")
        assert 0 <= page.evaluate(STILL, f"#{target}") <= 120


@pytest.mark.parametrize("from_disk", [False, True], ids=["served", "from disk"])
@pytest.mark.parametrize(
    ("old", "now"),
    [
        ("01-foundations/1-the-bottleneck.html#c001", "01-foundations/checked.html#c001"),
        (
            "02-self-attention/2-permutation.html#eq-weights",
            "01-foundations/*.html#eq-weights",
        ),
    ],
    ids=["a claim", "an equation"],
)
def test_an_old_link_to_what_has_moved_to_another_page_lands_on_it(
    old: str, now: str, from_disk: bool, browser: Any, origin: str
) -> None:
    with Opened(browser, f"{address('book', from_disk, origin)}/{old}") as opened:
        opened.page.wait_for_url(f"**{now}")
        place = f"#{now.rpartition('#')[2]}"
        opened.page.wait_for_selector(place)
        assert 0 <= opened.page.evaluate(STILL, place) <= 120
        assert not opened.faults


def test_a_link_to_what_is_nowhere_stays_on_its_page(browser: Any, origin: str) -> None:
    with Opened(browser, f"{origin}{LONG}#c999") as opened:
        until(opened.page, "the places are known", "() => window.places")
        assert opened.page.url == f"{origin}{LONG}#c999"
