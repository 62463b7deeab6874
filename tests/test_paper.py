"""A page on paper: nothing that one would have to press, and no box in two pieces."""

# ruff: noqa: F811  (fixtures are used by their names)

from typing import Any

import pytest
from test_pages import Opened, browser, origin  # noqa: F401  (the two fixtures are used by their names)

PAGE = "book/03-multi-head/3-memory.html"
TO_PRESS = """() => [...document.querySelectorAll("summary, button, .cell-check, .frame-exercise > details")]
    .filter(one => one.checkVisibility()).map(one => one.textContent.trim())"""
SPLIT = """() => [...document.querySelectorAll(".frame")]
    .filter(one => getComputedStyle(one).breakInside !== "avoid").map(one => one.textContent.slice(0, 60))"""


@pytest.mark.browser
def test_on_paper_no_help_is_offered_that_nobody_can_open(browser: Any, origin: str) -> None:
    with Opened(browser, origin + PAGE, 1280) as opened:
        assert opened.page.evaluate(TO_PRESS)  # on the screen there are hints, solutions and checks
        opened.page.emulate_media(media="print")
        assert opened.page.evaluate(TO_PRESS) == []
        assert "not attempted yet" not in opened.page.locator("article").inner_text()


@pytest.mark.browser
def test_on_paper_no_box_is_split_over_two_sheets(browser: Any, origin: str) -> None:
    with Opened(browser, origin + PAGE, 1280) as opened:
        opened.page.emulate_media(media="print")
        assert opened.page.evaluate(SPLIT) == []
