"""A page asks no more of its reader than it may; what a page asks is counted as a reader would count."""

import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import budget  # noqa: E402

MODEL = "class Model:\n    def forward(self, X):\n\n        return X\n\nplot(1)\nplot(2)"


@pytest.mark.parametrize("file", budget.notebooks(), ids=lambda f: f"{f.parent.name}/{f.stem}")
def test_a_page_asks_no_more_than_it_may(file: Path) -> None:
    assert budget.too_much(file) == []


def page(tmp_path: Path, *cells: nbformat.NotebookNode, **course: object) -> Path:
    file = tmp_path / "1-a-page.ipynb"
    nbformat.write(new_notebook(cells=list(cells), metadata={"course": course}), file)
    return file


def test_formulas_tables_exercises_and_investigations_are_no_prose(tmp_path: Path) -> None:
    cells = [
        new_markdown_cell("# Title here\n\nThree words $x = 3$ more.\n\n$$ a = b $$\n\n| a | b |\n|---|---|"),
        new_markdown_cell("**Predict first.** Which?\n\n> **Claim checked** it is so."),
        new_markdown_cell("## Exercises"),
        new_markdown_cell("> **Exercise** · write · many words"),
        new_code_cell("def f(): ..."),
        new_markdown_cell("## An investigation\n\nMany words again."),
        new_markdown_cell("## Further reading\n\nA book."),
    ]
    has = budget.asked(page(tmp_path, *cells))
    assert (has.words, has.code) == (5 + 3 + 5 + 4, 0)
    assert (has.predictions, has.exercises, has.investigations, has.claims) == (1, 1, 1, 1)


def test_a_model_in_a_fold_counts_as_code_and_a_plot_does_not(tmp_path: Path) -> None:
    folded = new_code_cell(MODEL, metadata={"tags": ["hide-input"]})
    assert budget.asked(page(tmp_path, folded, new_code_cell("x = 1\n\ny = 2"))).code == 3 + 2


@pytest.mark.parametrize(
    ("words", "course", "fits"),
    [
        (3000, {}, True),
        (3001, {}, False),
        (3300, {"over": "a proof that cannot be cut"}, True),
        (3301, {"over": "a proof that cannot be cut"}, False),
        (4000, {"side_road": True}, True),
        (4001, {"side_road": True}, False),
    ],
)
def test_a_tenth_more_needs_a_reason_and_a_side_road_may_be_longer(tmp_path, words, course, fits) -> None:
    file = page(tmp_path, new_markdown_cell("so " * words), **course)
    assert (not any(one.startswith("words") for one in budget.too_much(file))) == fits


def test_what_a_notebook_says_of_itself_survives_its_run() -> None:
    import run_notebooks

    notebook = new_notebook(metadata={"course": {"side_road": True}, "signature": "1"})
    run_notebooks.tidy(notebook)
    assert notebook.metadata["course"] == {"side_road": True} and "signature" not in notebook.metadata
