"""The pages made from the exercises: an index that can be filtered, and folded solutions that know the mistakes."""

import io
import re
import sys
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

from attnlib.exercises.engine.registry import CHAPTERS, chapter, exercises

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "book"))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The index and the solutions, alone, with one notebook that shows one exercise."""
    import _ext.exercises
    import _ext.maths

    folder = tmp_path_factory.mktemp("pages")
    book = folder / "book"
    (book / "01-foundations").mkdir(parents=True)
    (book / "ledger").mkdir()
    (book / "_vendor" / "katex").mkdir(parents=True)
    (book / "_vendor" / "katex" / "katex.min.css").write_text("")
    solutions = [f"solutions-{number:02}" for number in range(1, 1 + len(CHAPTERS))]
    for name in ("exercises", *solutions):
        source = (ROOT / "book" / f"{name}.md").read_text(encoding="utf-8")
        (book / f"{name}.md").write_text(source, encoding="utf-8")
    (book / "in-a-class.md").write_text("# In a class\n")  # the index leads there
    (book / "index.md").write_text(
        "# Book\n\n```{toctree}\nexercises\n" + "\n".join(solutions) + "\nin-a-class\n"
        "01-foundations/4-softmax-and-scale\n```\n"
    )
    cell = r'{"cell_type": "markdown", "metadata": {}, "source": "# Softmax\n\n> **Exercise** · write · ★ · 8 min'
    cell += r' · foundations.softmax\n>\n> Write it."}'
    notebook = f'{{"cells": [{cell}], "metadata": {{}}, "nbformat": 4, "nbformat_minor": 4}}'
    (book / "01-foundations" / "4-softmax-and-scale.ipynb").write_text(notebook, encoding="utf-8")
    settings = {
        "extensions": ["myst_nb", "_ext"],
        "master_doc": "book/index",
        "html_theme": "basic",
        "nb_execution_mode": "off",
        "myst_enable_extensions": ["dollarmath"],
        "html_math_renderer": "course_katex",
    }
    warnings, out = io.StringIO(), folder / "_build"
    with docutils_namespace(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(_ext.maths, "render", lambda latex, display: latex)  # formulas are tested elsewhere
        app = Sphinx(
            str(folder), None, str(out), str(out / "trees"), "html", settings, status=None, warning=warnings
        )
        if "exercises" not in directives._directives:  # type: ignore[attr-defined]
            _ext.exercises.setup(app)
        app.build()
    return out / "book", warnings.getvalue()


def page(built, name):
    return BeautifulSoup((built[0] / f"{name}.html").read_text(encoding="utf-8"), "html.parser")


def test_the_pages_build_without_a_warning_of_theirs(built):
    assert [line for line in built[1].splitlines() if "exercises" in line or "solutions" in line] == []


def test_the_index_has_every_exercise_with_what_the_filters_need(built):
    rows = page(built, "exercises").select("ol.exercises > li")
    assert len(rows) == len(exercises())
    for row, one in zip(rows, exercises().values(), strict=True):
        text = row.text.replace("’", "'")  # the page sets typographic quotes
        assert one.title in text and one.id in text
        assert row["data-kind"] == one.kind and row["data-level"] == str(one.level)
        assert row["data-minutes"] == str(one.minutes) and row["data-chapter"] == CHAPTERS[one.chapter]


def test_the_index_links_to_the_exercise_in_its_notebook(built):
    links = [link["href"] for link in page(built, "exercises").select("li a")]
    assert "01-foundations/4-softmax-and-scale.html#ex-foundations-softmax" in links


def test_the_solutions_are_folded_and_name_the_mistakes(built):
    text = page(built, "solutions-01")
    assert len(text.select("details > summary")) == len(chapter("foundations"))
    for one in chapter("foundations").values():
        section = text.find(id=f"solution-{one.id.replace('.', '-')}")
        assert section is not None and section.find("details").find("summary").text == "Solution"
        for mistake in getattr(one, "mistakes", ()):
            assert mistake.name in section.text.replace("’", "'")  # the page sets typographic quotes
        assert one.title not in section.find("details").text
    softmax = text.find(id="solution-foundations-softmax")
    assert "return E / E.sum(axis=-1, keepdims=True)" in softmax.find("details").text
    assert "def via_log_sum_exp" in softmax.text


def test_an_exercise_in_a_notebook_carries_its_hints_and_its_solution_folded(built):
    frame = page(built, "01-foundations/4-softmax-and-scale").select_one(".frame-exercise")
    folds = [summary.text for summary in frame.select("details > summary")]
    assert folds == ["Hint 1", "Hint 2", "Hint 3", "Solution"]
    assert frame.select_one("details details details").find("summary").text == "Hint 3", (
        "each hint holds the next"
    )
    assert "return E / E.sum(axis=-1, keepdims=True)" in frame.text
    target = frame.select_one("details a")["href"]
    assert target == "../solutions-01.html#solution-foundations-softmax"
    assert page(built, "solutions-01").find(id="solution-foundations-softmax")


def test_the_kinds_that_the_page_names_are_those_that_exist():
    text = (ROOT / "book" / "exercises.md").read_text("utf8")
    named = re.findall(r"\*([a-z ]+)\*", text[text.index("The kinds:") : text.index("One star")])
    assert set(named) == {one.kind for one in exercises().values()}
