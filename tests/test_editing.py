"""The editor of code: an edit as text reads as the edited tree, and leaves every other letter as it was."""

import ast
import importlib
import inspect
import itertools
import pkgutil
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mutant_rules import edits, is_mathematics

from attnlib import reference
from attnlib.editing import Place, Source, as_read, narrowed, replaced, shown
from attnlib.exercises.engine.generator.edited_code import edits_of
from attnlib.exercises.engine.generator.rules import RULES
from attnlib.exercises.engine.registry import find
from attnlib.exercises.kit import guard
from attnlib.exercises.kit.edit_rows import rows_of

ODD = """
# Letters of two bytes stand before what is edited: ä, é.
@cached(size := 3)
def f(x, *rest, n: int = 2, **more):
    "ä"; y = x if n else -x  # both
    total = sum(i ** 2 for i in rest) + (
        x  # a comment in brackets
        * n
    )
    x[a, 1:n] += f"é {x + 1!r:>{n}} {y}" + 'b'
    while not(x) and n < 3 <= y:
        return-x, *rest, lambda: n
    return {"é": x, **more}[y], (yield x), [j for j in rest if j], x.real
é = f(1)[0]
"""
NEW = ["a", "-a", "2", "a + b", "a ** b", "a if b else c", "lambda: a", "a, b", "not a", "a < b", "(a := b)"]
NEW += ["a or b", "f(x for x in a)", "(x for x in a)", "[a]", "{a: b}", "'ä'", "await a", "f'{a}'"]


def modules() -> list[str]:
    return [f"attnlib.reference.{one.name}" for one in pkgutil.iter_modules(reference.__path__)]


def functions(module: str) -> list[str]:
    """The source of each function of a module."""
    of_module = [*vars(importlib.import_module(module)).values()]
    own = [one for one in of_module if inspect.isfunction(inspect.unwrap(one)) if one.__module__ == module]
    return [textwrap.dedent(inspect.getsource(inspect.unwrap(one))) for one in own]


def reads_as_the_tree(source: Source, place: Place, new: ast.AST) -> bool:
    edit = source.written(place, new)
    text = edit.applied(source.text)
    with replaced([(place, new)]):
        wanted = ast.dump(source.tree)
    return ast.dump(ast.parse(text)) == wanted and edit.undone(text) == source.text


@pytest.mark.parametrize("module", modules(), ids=lambda name: name.rpartition(".")[2])
def test_every_edit_of_a_function_reads_as_the_edited_tree_and_is_undone(module):
    for text in functions(module):
        source = Source(text)
        assert all(reads_as_the_tree(source, *edit) for edit in edits(source.places(is_mathematics)))
        assert ast.dump(source.tree) == ast.dump(ast.parse(text)), "the tree is as it was"


def may_be_any_expression(place: Place) -> bool:
    """An expression that is read; in an f-string the text between is none."""
    of_text = isinstance(place.parent, ast.JoinedStr) or place.field == "format_spec"
    loaded = isinstance(getattr(place.node, "ctx", ast.Load()), ast.Load)
    return (
        isinstance(place.node, ast.expr) and loaded and not of_text and not isinstance(place.node, ast.Slice)
    )


SOURCE = Source(ODD)
EXPRESSIONS = [place for place in SOURCE.places() if may_be_any_expression(place)]


@given(st.sampled_from(EXPRESSIONS), st.sampled_from(NEW))
def test_any_expression_takes_the_place_of_any_other(place, new):
    assert reads_as_the_tree(SOURCE, place, ast.parse(new, mode="eval").body)


def place_of(source: Source, code: str) -> Place:
    return next(
        one for one in source.places() if isinstance(one.node, ast.expr) and ast.unparse(one.node) == code
    )


@pytest.mark.parametrize(
    ("text", "old", "new", "wanted"),
    [
        ("x = (a + b) * c\n", "a + b", "a", "x = (a) * c\n"),
        ("x = a * b\n", "b", "c + d", "x = a * (c + d)\n"),
        (
            "x = a.sum(axis = -1, keepdims=True) # so\n",
            "-1",
            "-2",
            "x = a.sum(axis = -2, keepdims=True) # so\n",
        ),
        ("return-x\n", "-x", "x", "return(x)\n"),
        ("x = f'{a + 1}'; y=b\n", "a + 1", "a", "x = f'{a}'; y=b\n"),
        ("é = {'ü': a}; b = c\n", "c", "d", "é = {'ü': a}; b = d\n"),
    ],
)
def test_only_what_differs_is_written_anew(text, old, new, wanted):
    source = Source(text)
    edit = source.written(place_of(source, old), ast.parse(new, mode="eval").body)
    assert edit.applied(text) == wanted


def test_the_smallest_difference_is_found():
    source = Source("x = f(a, g(b, axis=-1))\n")
    place = place_of(source, "f(a, g(b, axis=-1))")
    inner, new = narrowed(place, ast.parse("f(a, g(b, axis=-2))", mode="eval").body)
    assert (ast.unparse(inner.node), ast.unparse(new)) == ("1", "2")


def test_people_see_the_statement_before_and_after():
    source = Source("for i in range(\n    n):\n    if a:\n        x = [i,\n             n + 1]\n")
    new = ast.Name("m", ast.Load())
    assert shown(place_of(source, "n + 1"), new) == ("x = [i, n + 1]", "x = [i, m]")
    assert shown(place_of(source, "n"), new) == ("for i in range(n):", "for i in range(m):")
    assert shown(place_of(source, "a"), ast.Constant(1)) == ("if a:", "if 1:")


def test_a_tree_is_as_it_was_also_after_an_error():
    source = Source("x = a\n")
    with pytest.raises(ZeroDivisionError), replaced([(place_of(source, "a"), ast.Constant(1))]):
        assert ast.unparse(source.tree) == "x = 1"
        raise ZeroDivisionError
    assert ast.unparse(source.tree) == "x = a"


def test_the_mistakes_of_an_exercise_are_made_by_the_same_editor():
    one = find("foundations.softmax", "test")
    source = Source(one.model_answer)
    by_line = {(place.lineno, place.text, place.field): place for place in source.places()}
    tried = 0
    for made in edits_of(one.model_answer, one.task, one.solution, RULES):
        (place, new), *more = made.pairs
        if not more:
            here = by_line[place.lineno, place.text, place.field]
            assert reads_as_the_tree(source, here, as_read(new))
            tried += 1
    assert tried > 20


def test_the_guards_table_says_what_noticed_each_known_mistake():
    one = find("foundations.softmax", "test")
    forms = sum(len(mistake.forms) for mistake in one.mistakes)
    rows = [*itertools.islice(rows_of(one, guard.singles(one)), forms + 9)]
    assert all(row.noticed.startswith("its name") for row in rows[:forms])
    assert any(row.noticed.startswith("the case") for row in rows[forms:])
    assert all(row.before != row.after and ".py:" in row.place for row in rows)
