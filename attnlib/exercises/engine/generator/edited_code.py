"""The code of a right answer with one edit: every edit that a rule of the table knows.

A rule takes one node of the syntax tree and yields replacements, which attnlib/editing.py puts in.
"""

import ast
import inspect
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, NamedTuple

from attnlib.editing import Change, Place, called, places, replaced
from attnlib.exercises.engine.generator.generated import Generated, Rules
from attnlib.exercises.engine.generator.rules.numbers_and_names import BOUNDS, OFF_BY_ONE
from attnlib.exercises.engine.generator.words import Words, size
from attnlib.exercises.engine.loop_limit import NAMES, with_limit
from attnlib.exercises.engine.model import CodeExercise
from attnlib.exercises.engine.source_edits import COMMON, source_of, with_mistakes


class Mutant(NamedTuple):
    """One edit: the change that a rule made, what is replaced by what in which tree, and the function after it."""

    change: Change
    pairs: list[tuple[Place, ast.AST]]
    function: Callable[..., Any]


def generated(exercise: CodeExercise, rules: Rules) -> Iterator[Generated]:
    """All single edits of the right answers that these rules know; no two of one answer are the same code."""
    for source in dict.fromkeys(right_sources(exercise)):
        for made in edits_of(source, exercise.task, exercise.solution, rules):
            yield Generated(made.change.name, made.change.sentence, made.function, made.change.weak)


def right_sources(exercise: CodeExercise) -> Iterator[str]:
    """The source of the solution, and of each other right answer that has one."""
    yield exercise.model_answer
    for variant in exercise.variants:
        if not callable(variant):
            yield with_mistakes(exercise.solution, [variant]) or ""
        elif variant.__name__ != "<lambda>":
            yield source_of(variant)


def edits_of(source: str, task: str, like: Callable[..., Any], rules: Rules) -> Iterator[Mutant]:
    """All single edits of the one function in the source, with what they replace."""
    tree = ast.parse(source)
    definition = tree.body[0]
    if not isinstance(definition, ast.FunctionDef):
        return
    words = Words(task, definition)
    if "while" in source:
        with_limit(tree)
    names = COMMON | inspect.unwrap(like).__globals__ | NAMES  # pyright: ignore[reportFunctionMemberAccess]
    of_body = [place for statement in definition.body for place in places(statement)]
    of_body += [Place(definition, "body", i, node) for i, node in enumerate(definition.body)]
    found = [
        (place, change)
        for place in of_body
        for rule in rules.get(type(place.node), ())
        for change in rule(place.node, words)
    ]
    seen = {code_of(tree, definition.name)}
    for place, change in found:
        if not is_count(place) and change.name == OFF_BY_ONE:
            continue
        if isinstance(place.node, ast.Name) and size(place.parent):
            continue  # the rule for lengths says which length it is
        for pairs in targets(place, change, of_body):
            with replaced(pairs):
                code = code_of(tree, definition.name)
            if code is not None and code not in seen:
                seen.add(code)
                yield Mutant(change, pairs, FunctionType(code, names, definition.name))


def is_count(position: Place) -> bool:
    """Whether a whole number may be a count or an index: no bound, and no factor, divisor or power."""
    parent = position.parent
    of_product = isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Mult | ast.Div | ast.Pow)
    return called(parent) not in BOUNDS and not of_product


def targets(edited: Place, change: Change, everywhere: list[Place]) -> Iterator[list[tuple[Place, ast.AST]]]:
    """What is replaced by what: the node alone, all nodes that read the same, or a family of nodes."""
    yield [(edited, change.new)]
    if change.everywhere:
        kind = type(edited.node)
        same = [one for one in everywhere if type(one.node) is kind and one.text == edited.text]
        if len(same) > 1:
            yield [(one, change.new) for one in same]
    if change.family is not None:
        pairs = [(one, new) for one in everywhere if (new := change.family(one.node)) is not None]
        if len(pairs) > 1:
            yield pairs


def code_of(tree: ast.Module, name: str) -> Any:
    """The compiled body of the function, None where the edit makes no sense."""
    try:
        module = compile(tree, "<generated>", "exec")
    except (SyntaxError, ValueError, TypeError, RecursionError):
        return None
    return next(one for one in module.co_consts if getattr(one, "co_name", "") == name)
