"""Names that changed are changed everywhere in the notebooks."""

import json
from pathlib import Path

import pytest
import renames

BOOK = Path(__file__).resolve().parent.parent / "book"
ROWS = [
    renames.Rename("module", "attnlib.old", "attnlib.new"),
    renames.Rename("name", "f", "g"),
    renames.Rename("attribute", "turn", "rotary"),
    renames.Rename("argument", "longest", "clip", of=("f", "g")),
]


def a_notebook(*cells: tuple[str, str]) -> str:
    rows = [
        {"cell_type": kind, "source": text.splitlines(keepends=True), "outputs": []} for kind, text in cells
    ]
    return json.dumps({"cells": rows}, indent=1, ensure_ascii=False) + "\n"


def test_each_kind_of_name_is_replaced_where_it_stands_and_nowhere_else() -> None:
    before = a_notebook(
        ("markdown", "`attnlib.old` has f."),
        (
            "code",
            "%pip list\nfrom attnlib.old import (\n    e,\n    f,\n)\nself_f = f(longest=3).turn  # a turn",
        ),
        ("code", "other(longest=f(1, longest=2), é=x.f, turn=1)"),
    )
    after = a_notebook(
        ("markdown", "`attnlib.new` has f."),
        (
            "code",
            "%pip list\nfrom attnlib.new import (\n    e,\n    g,\n)\nself_f = g(clip=3).rotary  # a turn",
        ),
        ("code", "other(longest=g(1, clip=2), é=x.f, turn=1)"),
    )
    assert renames.renamed(before, ROWS) == after
    assert renames.renamed(after, ROWS) == after


def test_a_name_that_a_notebook_does_not_import_stays() -> None:
    text = a_notebook(("code", "from elsewhere import g\nf = g"))
    assert renames.renamed(text, ROWS) == text


def test_an_unknown_kind_is_refused_with_a_sentence() -> None:
    with pytest.raises(ValueError, match="a kind must be one of module"):
        renames.Rename("file", "a", "b")


@pytest.mark.parametrize("file", sorted(BOOK.rglob("*.ipynb")), ids=lambda file: file.stem)
def test_no_notebook_has_an_old_name(file: Path) -> None:
    text = file.read_text("utf8")
    assert renames.renamed(text, renames.table()) == text, "run `python tools/renames.py`"


def test_an_argument_is_also_renamed_in_a_dictionary_that_a_call_unpacks() -> None:
    code = 'options = {"longest": 3}\nother = {"longest": 4}\nf(1, **options)\nh(**other)'
    new = renames.in_calls(code, ROWS[3])
    assert new == 'options = {"clip": 3}\nother = {"longest": 4}\nf(1, **options)\nh(**other)'
