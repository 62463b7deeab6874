"""Every solution passes where a learner puts it: the notebook's own cell, `show ID > a.py`, a bare shell."""

import ast
import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from attnlib.exercises.engine import interface
from attnlib.exercises.engine.exporting import exported, start_of
from attnlib.exercises.engine.model import AnswerExercise, CodeExercise
from attnlib.exercises.engine.registry import exercises

BOOK = Path(__file__).resolve().parent.parent / "book"
CODE = {id: one for id, one in exercises().items() if isinstance(one, CodeExercise)}


def names_before(one: CodeExercise) -> dict[str, Any]:
    """What the imports and definitions of the cells above an exercise bring into its notebook."""
    names: dict[str, Any] = {}
    for cell in json.loads((BOOK / f"{one.page}.ipynb").read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] != "code" or source.startswith("# Setup"):
            continue
        if f'check("{one.id}"' in source:
            return names
        kinds = (ast.Import, ast.ImportFrom, ast.FunctionDef)
        for node in ast.parse(source).body:
            if isinstance(node, kinds) or is_number(node):
                with contextlib.suppress(
                    NameError
                ):  # a definition that needs what was computed above is not there
                    exec(compile(ast.Module([node], []), one.page, "exec"), names)
    raise AssertionError(f"{one.page} does not check {one.id}")


def is_number(node: ast.stmt) -> bool:
    """Whether a statement gives a name to a number or a text."""
    return isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)


@pytest.mark.parametrize("id", CODE)
def test_the_solution_passes_in_the_cell_of_its_notebook(id):
    one = CODE[id]
    names = names_before(one)
    exec(one.model_answer, names)
    assert interface.graded(one, names[one.name]).passed


@pytest.mark.parametrize("id", CODE)
def test_the_solution_passes_in_the_file_that_show_writes(id, monkeypatch):
    one = CODE[id]
    found = []
    monkeypatch.setattr(interface, "listeners", [found.append])
    exec(start_of(one).replace(one.stub, one.model_answer), {"__name__": "answer"})
    assert [result.passed for result in found] == [True]


@pytest.mark.parametrize("id", CODE)
def test_what_solution_shows_passes_in_a_bare_shell(id):
    one = CODE[id]
    code = interface.solution(id, confirm=True).parts[1]
    names: dict[str, Any] = {}
    exec(code.text, names)
    assert interface.graded(one, names[one.name]).passed


def test_answers_with_their_mistakes_can_be_written_as_json():
    data = json.loads(json.dumps(exported()))
    for id, one in exercises().items():
        assert (id in data) == (isinstance(one, AnswerExercise) and one.value is not None)
    assert all(data[id]["mistakes"][0]["values"] for id in data if data[id]["mistakes"])
