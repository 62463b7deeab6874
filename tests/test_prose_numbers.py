"""Each number in the prose of a page that is held to it stands in an output of the same page."""

import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from prose_numbers import unfounded  # noqa: E402

# What is given, not found: the range of a byte, two neighbouring tokens, the last number of the vocabulary; how long a
# text an investigation tries; the width of GPT-2's heads, its millions of parameters, the bits of a number; a width
# of GPT-2.
GIVEN = {
    "03-multi-head/2-one-matrix-multiplication": {"1280"},
    "04-transformer/1-from-text-to-vectors": {"255", "77", "76", "2,047"},
    "04-transformer/3-where-am-i": {"256"},
    "04-transformer/8-somebody-elses-weights": {"64", "124", "16"},
    "05-training/14-what-to-train-on": {"61", "144", "240"},  # what papers counted
}
BOOK = ROOT / "book"
HELD = sorted(f"{file.parent.name}/{file.stem}" for file in BOOK.glob("[0-9]*/*.ipynb"))


@pytest.mark.parametrize("name", HELD)
def test_each_number_of_the_prose_is_shown_by_the_page(name: str) -> None:
    found = unfounded(BOOK / f"{name}.ipynb")
    assert set(found) <= GIVEN.get(name, set()), f"print them, or say it without: {found}"


def test_a_number_that_only_the_prose_knows_is_found(tmp_path: Path) -> None:
    cells = [
        nbformat.v4.new_markdown_cell(
            "It was 0.52, or 52 %, not 0.37; $n = 64$ gives 64. In 2017 it was `99`."
        ),
        nbformat.v4.new_code_cell(
            "print(x)", outputs=[nbformat.v4.new_output("stream", text="accuracy: 0.5183\n")]
        ),
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "a.ipynb")
    assert unfounded(tmp_path / "a.ipynb") == ["0.37"]
