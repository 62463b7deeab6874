"""What every notebook keeps: it has run from top to bottom, it is plain, and it opens with the one setup cell."""

import ast
import os
import re
from pathlib import Path

import nbformat
import pytest

from attnlib.viz.style import GROUND

ROOT = Path(__file__).resolve().parent.parent


def place(path: Path) -> tuple[str, int, str]:
    """Where a notebook stands in the book: in its chapter by its number, behind them those without."""
    number = path.stem.split("-")[0]
    return path.parent.name, int(number) if number.isdigit() else 1000, path.stem


CHAPTERS = sorted((ROOT / "book").glob("[0-9]*/*.ipynb"), key=place)
PATHS = [ROOT / "book" / "intro.ipynb", *CHAPTERS]
TEACHING = [
    path for path in CHAPTERS if path.stem[0].isdigit()
]  # beside them: what the documents say, checked
CODE_LABEL = re.compile(r"\beq-[a-z0-9-]+")


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT / "book"))


@pytest.fixture(params=PATHS, ids=name_of)
def notebook(request):
    return nbformat.read(request.param, as_version=4)


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]


def texts(notebook):
    return [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]


def tags(cell):
    return cell.metadata.get("tags", [])


def test_there_are_notebooks():
    assert len(CHAPTERS) >= 7


def test_every_cell_has_run_in_order(notebook):
    counts = [cell.execution_count for cell in code_cells(notebook)]
    assert counts == list(range(1, len(counts) + 1)), (
        "nbval is silent about a cell that never ran: `make run`"
    )


def test_no_stored_output_is_an_error_or_a_warning(notebook):
    for cell in code_cells(notebook):
        for output in cell.outputs:
            if "raises-exception" not in tags(cell):
                assert output.output_type != "error"
            assert output.get("name") != "stderr", f"a warning is stored under: {cell.source[:60]}"


def test_the_text_is_plain_markdown(notebook):
    leak = re.compile(r"^(```+|:::+)\{[a-z]|\{(eq|ref|numref|cite|prf:ref|doc|term|math)[^}]*\}`", re.M)
    for text in texts(notebook):
        assert not leak.search(text), f"directive or role syntax shows as raw text in Colab: {text[:80]}"


def test_the_setup_cell_is_the_same_everywhere():
    first = {path: code_cells(nbformat.read(path, as_version=4))[0] for path in PATHS}
    one = (ROOT / "book" / "setup-cell.py").read_text(encoding="utf-8").rstrip("\n")
    assert len(one.splitlines()) <= 8
    others = [name_of(path) for path, cell in first.items() if cell.source != one]
    assert not others, f"{others}: run `make cell`"
    for path, cell in first.items():
        assert {"remove-cell", "nbval-ignore-output"} <= set(tags(cell)), name_of(path)


def test_the_setup_cell_keeps_to_one_thread_unless_somebody_has_set_how_many(monkeypatch):
    """All cores at once, beside other programs, took ten times as long; whoever set a number keeps it."""
    one = (ROOT / "book" / "setup-cell.py").read_text(encoding="utf-8")
    for before, after in ((None, "1"), ("3", "3")):
        monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
        if before:
            monkeypatch.setenv("OMP_NUM_THREADS", before)
        exec(one, {})
        assert os.environ["OMP_NUM_THREADS"] == after


def asserts_something(source: str) -> bool:
    tree = ast.parse(re.sub(r"^%.*$", "pass", source, flags=re.M))
    return any(isinstance(node, ast.Assert) for node in ast.walk(tree)) or "assert_" in source


def test_a_cell_whose_output_may_differ_says_why_and_asserts_its_claim(notebook):
    """It asserts, or, where a reader sees the code, the folded cell after it does."""
    cells = code_cells(notebook)[1:]
    for cell, after in zip(cells, [*cells[1:], None], strict=True):
        if "nbval-ignore-output" in tags(cell):
            folded = after is not None and "hide-input" in tags(after) and "hide-input" not in tags(cell)
            says = asserts_something(cell.source) or (folded and asserts_something(after.source))
            assert "#" in cell.source and says, cell.source[:80]
        assert "nbval-skip" not in tags(cell)


def test_figures_are_shown_with_a_description(notebook):
    for cell in code_cells(notebook):
        assert "plt.show(" not in cell.source, "show figures with viz.show(figure, alt=...)"
        for output in cell.outputs:
            data = output.get("data", {})
            assert "image/png" not in data, "a figure without description: use viz.show"
            if "image/svg+xml" in data:
                assert len(data["text/plain"].split()) >= 8, (
                    f"say what the figure shows: {data['text/plain']}"
                )
                head = data["image/svg+xml"].partition(">")[0]
                assert GROUND in head, "an old drawing, dark on dark in a dark notebook: `make run`"


def test_a_picture_to_move_has_the_name_by_which_a_reader_can_ask_it(notebook):
    for cell in code_cells(notebook):
        if "viz.explore(" in cell.source:
            assert re.search(r"^picture = ", cell.source, re.M) and re.search(
                r"explore\(\s*picture,", cell.source
            )


@pytest.mark.parametrize("path", CHAPTERS, ids=name_of)
def test_the_imports_are_folded_and_hide_nothing_else(path):
    cell = code_cells(nbformat.read(path, as_version=4))[1]
    assert "hide-input" in tags(cell), "a page begins with its question, not with imports"
    assert cell.metadata["mystnb"]["code_prompt_show"] == "Show the imports"
    for line in ast.parse(cell.source).body:
        settings = ("viz.use_style(", "torch.set_default_dtype(")
        assert isinstance(line, ast.Import | ast.ImportFrom) or ast.unparse(line).startswith(settings)


@pytest.mark.parametrize("path", TEACHING, ids=name_of)
def test_a_section_asks_for_predictions(path):
    asked = sum(text.count("**Predict first.**") for text in texts(nbformat.read(path, as_version=4)))
    assert asked >= 4, f"{asked} predictions"


def test_the_prose_keeps_the_house_words(notebook):
    for text in texts(notebook):
        prose = re.sub(r"`[^`]*`", "", text)
        found = re.findall(r"\b(simply|obviously|trivially|of course)\b", prose, re.I)
        assert not found, f"{found} in: {text[:80]}"


def test_labels_of_equations_are_unique_and_numbers_ascend():
    labels, numbers = [], []
    for path in PATHS:
        for text in texts(nbformat.read(path, as_version=4)):
            labels += re.findall(r'<a id="(eq-[^"]+)">', text)
            numbers += [tuple(map(int, n.split("."))) for n in re.findall(r"\\tag\{([\d.]+)\}", text)]
    assert len(labels) == len(set(labels)), sorted({x for x in labels if labels.count(x) > 1})
    assert numbers == sorted(set(numbers)), "the equations of a chapter are numbered in reading order"


def test_a_reference_to_an_equation_shows_its_number():
    number_of = {}
    for path in PATHS:
        for text in texts(nbformat.read(path, as_version=4)):
            for label, number in re.findall(
                r'<a id="(eq-[^"]+)">(?:(?!<a id="eq-).)*?\\tag\{([\d.]+)\}', text, re.S
            ):
                number_of[label] = number
    wrong = []
    for path in PATHS:
        for text in texts(nbformat.read(path, as_version=4)):
            for number, label in re.findall(r"\[\(([\d.]+)\)\]\([^)#]*#(eq-[^)]+)\)", text):
                if number_of.get(label) != number:
                    wrong.append((name_of(path), label, number, number_of.get(label)))
    assert not wrong


def test_code_names_no_equation_by_its_number(notebook):
    for cell in code_cells(notebook):
        assert not re.search(r"[Ee]quations? \d+\.\d|# *\(\d+\.\d+\)$", cell.source, re.M), (
            "numbers change when an equation is added, and nothing in code follows: name what it is"
        )


def test_every_label_named_in_the_package_is_an_equation_of_the_book():
    labels = set()
    for path in PATHS:
        for text in texts(nbformat.read(path, as_version=4)):
            labels |= set(re.findall(r'<a id="(eq-[^"]+)">', text))
    named = {}
    for path in (ROOT / "attnlib").glob("[rn]*/*.py"):
        for label in CODE_LABEL.findall(path.read_text(encoding="utf-8")):
            named.setdefault(label, path.name)
    missing = {label: file for label, file in named.items() if label not in labels}
    assert not missing
