"""Rows of the ledger on the teaching pages: off, on when a reader wants them, and seen by whoever comes from a row."""

from typing import Any

import pytest
from playwright.sync_api import expect
from test_pages import (
    browser,  # noqa: F401  (the two fixtures are used by their names)
    origin,  # noqa: F401
    overflow,
)

pytestmark = pytest.mark.built
PAGE, CHECKED = "book/04-transformer/3-where-am-i.html", "book/04-transformer/checked.html"


@pytest.fixture
def page(browser: Any, origin: str):  # noqa: F811
    context = browser.new_context(base_url=origin, viewport={"width": 1280, "height": 800})
    yield context.new_page()
    context.close()


def test_a_teaching_page_shows_no_row_until_it_is_asked_to(page):
    page.goto(PAGE)
    badges = page.locator("article .badge-row")
    assert badges.count() > 5
    assert not any(badge.is_visible() for badge in badges.all())
    page.goto("book/claims.html")
    page.get_by_label("Show on each page which rows it treats").check()
    page.goto(PAGE)
    assert all(badge.is_visible() for badge in badges.all()) and not overflow(page)
    page.reload()
    expect(badges.first).to_be_visible()


def test_who_comes_from_a_row_sees_its_badge_and_the_place(page):
    page.goto("book/systems.html")
    link = page.locator('.ledger-row a[href*="03-multi-head/"][href*="#s0"]').first
    anchor = str(link.get_attribute("href")).partition("#")[2]
    link.click()
    expect(page.locator(f"#{anchor}")).to_be_in_viewport()
    expect(page.locator(f"#{anchor}")).to_be_visible()


def test_a_checked_notebook_is_about_rows_and_shows_them(page):
    page.goto(CHECKED)
    assert all(badge.is_visible() for badge in page.locator("article .badge-row").all())
