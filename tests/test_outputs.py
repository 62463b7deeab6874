"""What cells print, on a phone: narrow, whole where it can be, and the same text as ever."""

import re
import sys
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_pages import PAGES, SITE, Opened, browser  # noqa: F401  (the fixture is used by its name)

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "book"))

from _ext import outputs  # noqa: E402  (the extension lies beside the book)

NOTEBOOKS = [page for page in PAGES if re.match(r"book/\d", page)]
SHARE = 0.1  # of the outputs may need to be scrolled
BEYOND = """() => {
  document.querySelectorAll('details').forEach(folded => folded.open = true);
  return [...document.querySelectorAll('.cell_output pre')].map(box => box.scrollWidth > box.clientWidth + 1);
}"""
WHOLE = "document.documentElement.dataset.whole = ''"  # sections out of sight are laid out, too


def visible(marks: str) -> str:
    return unescape(re.sub(r'<span class="gap">[^<]*</span>|<[^>]*>', "", marks))


@given(st.text("ab1 .,;<&\n", max_size=300))
def test_the_marked_text_is_the_printed_one(text: str) -> None:
    assert unescape(re.sub("<[^>]*>", "", outputs.marked(text))) == text


def test_a_gap_through_all_rows_closes_and_columns_stay_columns() -> None:
    printed = (
        "            loss    right\nadditive    0.31      98%\ndot         0.4      100%\n\nno   table, alone"
    )
    assert visible(outputs.marked(printed)).split("\n") == [
        "          loss  right",
        "additive  0.31    98%",
        "dot       0.4    100%",
        "",
        "no  table, alone",
    ]


def test_gaps_close_to_one_blank_only_where_two_are_too_wide() -> None:
    row = "   ".join(["0123456789"] * 6)
    assert len(visible(outputs.marked(row))) == 65
    assert len(visible(outputs.marked(row[:60]))) == 60 - 4


@pytest.mark.browser
def test_of_ten_outputs_nine_are_whole_on_a_phone(browser: Any) -> None:  # noqa: F811
    beyond, pages = [], []
    for page in NOTEBOOKS:
        with Opened(browser, (SITE / page).as_uri(), 390) as opened:
            opened.page.evaluate(WHOLE)
            found = opened.page.evaluate(BEYOND)
        beyond.extend(found)
        pages.extend([page] * sum(found))
    assert len(beyond) > 500
    assert sum(beyond) <= SHARE * len(beyond), sorted(pages)
