"""The search: what learners ask is found among the first three, from a disk too; the page opens where it was found."""

# ruff: noqa: F811  (fixtures are used by their names)

import doctest
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from built import tree
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

from _ext import glossary, plain_text, search_data  # noqa: E402  (the extension lies beside the book)
from _ext.notebooks import notebooks  # noqa: E402

SOFTMAX = "book/01-foundations/4-softmax-and-scale.html"
BOOK = ROOT / "book"
QUESTION_FILES = [ROOT / "tests" / "search_questions.yml", *sorted(BOOK.glob("[0-9]*/search_questions.yml"))]
QUESTIONS = {
    question: pages
    for file in QUESTION_FILES
    for question, pages in (yaml.safe_load(file.read_text("utf8")) or {}).items()
}
SERVED = pytest.mark.parametrize("from_disk", [False, True], ids=["served", "from disk"])


def search_page(from_disk: bool, origin: str, query: str) -> str:
    place = (SITE / "search.html").as_uri() if from_disk else f"{origin}search.html"
    return f"{place}?q={query.replace(' ', '+')}"


@pytest.mark.parametrize("module", [search_data, glossary, plain_text])
def test_the_examples_in_the_extension_hold(module) -> None:
    found = doctest.testmod(module)
    assert found.attempted and not found.failed


# ---- What is found --------------------------------------------------------------------------------------------------


def test_the_subject_index_and_the_questions_name_pages_of_the_book() -> None:
    named = [*search_data.subjects_of(BOOK), *(page for pages in QUESTIONS.values() for page in pages)]
    lost = {page for page in named if not list(BOOK.glob(f"{page}.*"))}
    assert not lost, f"a subjects.yml or search_questions.yml names {lost}, no page of book/"


def test_every_notebook_is_in_the_subject_index() -> None:
    numbered = {one.page for one in notebooks(BOOK) if not one.is_checked}
    missing = numbered - set(search_data.subjects_of(BOOK))
    assert not missing, f"add the subjects of {missing} to the subjects.yml of the chapter's folder"


@pytest.mark.browser
@SERVED
def test_what_learners_ask_is_found_among_the_first_three(
    from_disk: bool,
    browser: Any,
    origin: str,
    record_property: Any,
) -> None:
    assert len(QUESTIONS) >= 40
    with Opened(browser, search_page(from_disk, origin, "")) as opened:
        found = opened.page.evaluate(
            """questions => Promise.all(questions.map(async question =>
                [question, [...new Set(await bookSearch(question))].slice(0, 3)]))""",
            list(QUESTIONS),
        )
        assert not opened.faults
    places = {
        question: [i for i, page in enumerate(pages) if page.removeprefix("book/") in QUESTIONS[question]]
        for question, pages in found
    }
    first = sum(place[:1] == [0] for place in places.values())
    record_property("shown", f"search: {len(places)} questions, {first} answered by the first result")
    missed = {question: pages for question, pages in found if not places[question]}
    assert not missed, missed


def number_of(label: str) -> str:
    page = tree(SITE / SOFTMAX)
    tag = page.select_one(f"#{label} annotation")
    found = re.search(r"\\tag\{([^}]*)\}", tag.text) if tag else None
    assert found
    return found[1]


def first_result(browser: Any, address: str) -> str:
    with Opened(browser, address) as opened:
        first = opened.page.locator("#search-results li a").first
        first.wait_for()
        return first.get_attribute("href") or ""


@pytest.mark.browser
@SERVED
@pytest.mark.parametrize("typed", ["{n}", "eq {n}", "({n})", "equation {n}"])
def test_an_equation_is_found_by_its_number(typed: str, from_disk: bool, browser: Any, origin: str) -> None:
    query = typed.format(n=number_of("eq-dot-variance"))
    assert f"{SOFTMAX}#eq-dot-variance" in first_result(browser, search_page(from_disk, origin, query))


@pytest.mark.browser
@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("C007", "#c007"),
        ("foundations.softmax", "#ex-foundations-softmax"),
        ("softmax", "book/01-foundations/"),
        ("scaled_dot_product_attention", "scaled_dot_product_attention"),
    ],
)
def test_a_row_an_exercise_and_a_word_are_found(typed: str, expected: str, browser: Any, origin: str) -> None:
    assert expected in first_result(browser, f"{origin}search.html?q={typed}")


# ---- What is shown --------------------------------------------------------------------------------------------------


@pytest.mark.browser
@SERVED
def test_a_result_shows_whole_words_of_its_page_and_no_code(
    from_disk: bool, browser: Any, origin: str
) -> None:
    with Opened(browser, search_page(from_disk, origin, "softmax")) as opened:
        shown = opened.page.locator("#search-results li > p.context")
        shown.nth(5).wait_for()
        texts = shown.all_inner_texts()
        marks = opened.page.locator("#search-results mark").all_inner_texts()
        stored = opened.page.evaluate("() => searchData.entries.map(entry => entry[3])")
    assert all("softmax" in text.lower() for text in texts[:3])
    assert [text for text in texts if re.search(r"\bimport |Contents|min to read|Colab", text)] == []
    assert marks and all(re.fullmatch(r"softmax(es|_j)?", mark.lower()) for mark in marks)
    for text in texts:
        start, end = text[:2] == "… ", text[-2:] == " …"
        piece = text[2 * start : len(text) - 2 * end]
        whole = rf"(?<![\w]){re.escape(piece)}(?![\w])"
        assert any(re.search(whole, one) for one in stored), f"cut within a word: {text}"


@pytest.mark.browser
def test_a_word_in_a_formula_is_no_word_of_the_text(browser: Any, origin: str) -> None:
    with Opened(browser, f"{origin}search.html?q=KV+cache") as opened:
        opened.page.locator("#search-results li").first.wait_for()
        marks = opened.page.locator("#search-results mark").all_inner_texts()
    assert marks and {mark.lower() for mark in marks} & {"kv", "cache"}
    assert [mark for mark in marks if not re.search("cache|kv|key", mark.lower())] == []


@pytest.mark.browser
def test_one_sees_results_while_typing_and_a_sentence_when_there_are_none(browser: Any, origin: str) -> None:
    with Opened(browser, f"{origin}search.html") as opened:
        page = opened.page
        page.get_by_role("searchbox").first.press_sequentially("temperat")
        page.locator("#search-results li", has_text="Softmax and the scale").first.wait_for()
        assert page.url.endswith("?q=temperat")
        page.get_by_role("searchbox").first.fill("zzzz")
        page.get_by_role("status").filter(has_text="Nothing found").wait_for()
        assert not opened.faults


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_the_results_can_be_read_by_everyone(width: int, browser: Any, origin: str) -> None:
    with Opened(browser, f"{origin}search.html?q=attention", width) as opened:
        opened.page.get_by_role("button", name="Show all").click()
        assert opened.page.locator("#search-results li").count() > 10
        wrong = inaccessible(opened.page) + overflow(opened.page)
        in_dark(opened.page)
        assert wrong + inaccessible(opened.page, colours_only=True) == []


# ---- Where one arrives ----------------------------------------------------------------------------------------------

MARKED = """() => [...CSS.highlights.get('found') || []].map(({startContainer, startOffset, endOffset}) =>
  startContainer.data.slice(startOffset, endOffset).toLowerCase())"""
HERE = """() => {
  const [mark] = CSS.highlights.get('found-here') || [];
  return mark ? mark.startContainer.parentElement.getBoundingClientRect().y : null;
}"""


@pytest.mark.browser
@SERVED
@pytest.mark.parametrize("width", [1280, 820, 390])
def test_a_result_opens_at_its_first_mark_until_escape(
    width: int,
    from_disk: bool,
    browser: Any,
    origin: str,
) -> None:
    with Opened(browser, search_page(from_disk, origin, "the temperature"), width) as opened:
        page = opened.page
        page.locator("#search-results a", has_text="What to say next").first.click()
        until(page, "a mark has been found here", f"({HERE})() !== null")
        marked = page.evaluate(MARKED)
        assert len(marked) > 3 and set(marked) <= {"temperature", "temperatures"}, "not `the`"
        assert 0 < page.evaluate(HERE) < 900
        bar = page.get_by_role("region", name="What was searched for")
        assert re.fullmatch(rf"\d+ of {len(marked)}", bar.locator("output").inner_text())
        page.get_by_role("button", name="Next").click()
        assert 0 < page.evaluate(HERE) < 900
        page.keyboard.press("Escape")
        assert page.evaluate(MARKED) == [] and bar.count() == 0
        assert not opened.faults


@pytest.mark.browser
@SERVED
def test_marks_of_an_earlier_search_are_gone(from_disk: bool, browser: Any, origin: str) -> None:
    with Opened(browser, search_page(from_disk, origin, "temperature")) as opened:
        page = opened.page
        page.locator("#search-results a", has_text="Softmax and the scale").first.click()
        until(page, "what was searched for is marked", f"({MARKED})().length > 0")
        page.reload()
        page.wait_for_load_state()
        assert page.evaluate(MARKED) == []
        page.goto(search_page(from_disk, origin, "saturation"))
        page.locator("#search-results a", has_text="Softmax and the scale").first.click()
        until(page, "what was searched for is marked", f"({MARKED})().length > 0")
        assert all(mark.startswith("satura") for mark in page.evaluate(MARKED))


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_marks_change_nothing_of_the_page(width: int, browser: Any, origin: str) -> None:
    articles = []
    for query in ("", "?highlight=gradient"):
        with Opened(browser, f"{origin}{SOFTMAX}{query}", width) as opened:
            page = opened.page
            article = page.locator(".bd-article").inner_html()
            articles.append(re.sub(r' tabindex="0"| open=""', "", article))
            assert page.evaluate("() => moved") == 0
            if query:
                assert page.evaluate(MARKED)
                assert inaccessible(page) + overflow(page) == []
                in_dark(page)
                assert inaccessible(page, colours_only=True) == []
    assert articles[0] == articles[1]


@pytest.mark.browser
def test_a_place_with_a_name_of_its_own_is_found_without_marks(browser: Any, origin: str) -> None:
    with Opened(browser, f"{origin}search.html?q=C007") as opened:
        opened.page.locator("#search-results li a").first.click()
        opened.page.wait_for_url(re.compile("#c007$"))  # its box, or its row
        assert opened.page.evaluate(MARKED) == []


RINGS = """() => {
    const ringed = (look) => look.outlineStyle !== "none" || /^\\S.* 0px 0px 0px [1-9]/.test(look.boxShadow);
    const around = [];
    for (let one = document.activeElement; one; one = one.parentElement) around.push(one);
    return around.filter((one) => ringed(getComputedStyle(one))).map((one) => one.tagName);
}"""


@pytest.mark.browser
def test_the_search_field_has_one_ring(browser: Any, origin: str) -> None:
    with Opened(browser, origin + SOFTMAX, 1280) as opened:
        opened.page.keyboard.press("Control+k")
        field = "() => document.activeElement.tagName === 'INPUT'"
        until(opened.page, "the field has the focus", field)
        assert len(opened.page.evaluate(RINGS)) == 1
