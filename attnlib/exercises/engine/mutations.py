"""Generated mistakes: all functions that differ from a right one by a single edit, each with a sentence of its rule.

A rule looks at one node of the syntax tree and yields replacements, which attnlib/editing.py puts in; `rules.py` has
the table. A name uses the letters of the task only (parameters, and names that the task mentions), so it gives no line
of the solution away.
"""

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, NamedTuple

from attnlib.editing import Change, Place, called, places, replaced
from attnlib.exercises.engine.edits import COMMON
from attnlib.exercises.engine.rules import BOUNDS, OFF_BY_ONE, RULES
from attnlib.exercises.engine.turns import NAMES, counted

MODULES = ("np", "math", "torch")  # a task may say which function to use, and that is no letter of it


class Letters:
    """How a piece of code may be called in a sentence: by the letters of the task that are in it."""

    def __init__(self, task: str, tree: ast.FunctionDef) -> None:
        self.parameters = [argument.arg for argument in tree.args.args]
        local = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        self.known = set(self.parameters) | {
            name for name in local & letters(task) if len(name) <= 5 and name not in MODULES
        }

    def of(self, node: ast.AST) -> str:
        """The name itself, or the part with some names, or a part."""
        if isinstance(node, ast.Name) and node.id in self.known:
            return f"`{node.id}`"
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            return f"the {node.value}"
        names = list(dict.fromkeys(n.id for n in ast.walk(node) if isinstance(n, ast.Name)))
        names = [name for name in names if name in self.known][:3]
        if not names:
            return "a part"
        *most, last = [f"`{name}`" for name in names]
        return f"the part with {', '.join(most)} and {last}" if most else f"the part with {last}"

    def pair(self, left: ast.AST, right: ast.AST) -> tuple[str, str]:
        """What two sides are called, so that they can be told apart."""
        names = self.of(left), self.of(right)
        return names if names[0] != names[1] else ("the first part", "the second part")


def letters(task: str) -> set[str]:
    """The names that a task uses as names: a plain word, such as rows, is one only in code or in a formula.

    >>> found = letters("Write W_O and `mask` for the rows of X, with $alpha$ = 2.")
    >>> sorted(found & {"W_O", "X", "alpha", "mask", "rows", "for"})
    ['W_O', 'X', 'alpha', 'mask']
    """
    words = set(re.findall(r"\b[A-Za-z]\w*\b", task))
    marked = set(re.findall(r"[A-Za-z]\w*", " ".join(re.findall(r"`[^`]*`|\$[^$]*\$", task))))
    return {word for word in words if len(word) <= 2 or not (word.isalpha() and word.islower())} | marked


class Mutant(NamedTuple):
    """One edit: the change that a rule made, what is replaced by what in which tree, and the function after it."""

    change: Change
    pairs: list[tuple[Place, ast.AST]]
    function: Callable[..., Any]


def mutants(source: str, task: str, like: Callable[..., Any]) -> Iterator[tuple[Change, Callable[..., Any]]]:
    """All single edits of the one function in the source that a rule knows; no two are the same code."""
    for made in edits_of(source, task, like):
        yield made.change, made.function


def edits_of(source: str, task: str, like: Callable[..., Any]) -> Iterator[Mutant]:
    """The same with the places of the edits."""
    tree = ast.parse(source)
    definition = tree.body[0]
    if not isinstance(definition, ast.FunctionDef):
        return
    letters = Letters(task, definition)
    counted(tree)
    names = COMMON | inspect.unwrap(like).__globals__  # pyright: ignore[reportFunctionMemberAccess]
    of_body = [place for statement in definition.body for place in places(statement)]
    of_body += [Place(definition, "body", i, node) for i, node in enumerate(definition.body)]
    seen = {code_of(tree, definition.name, names)}
    found = [(place, change) for place in of_body for rule in RULES for change in rule(place.node, letters)]
    for place, change in found:
        if change.name == OFF_BY_ONE and called(place.parent) in BOUNDS:
            continue
        for pairs in targets(place, change, of_body):
            with replaced(pairs):
                code = code_of(tree, definition.name, names)
            if code is not None and code not in seen:
                seen.add(code)
                yield Mutant(change, pairs, function_of(code, definition, names))


def targets(place: Place, change: Change, everywhere: list[Place]) -> Iterator[list[tuple[Place, ast.AST]]]:
    """What is replaced by what: the node alone, all nodes that read the same, or a family of nodes."""
    yield [(place, change.new)]
    if change.everywhere:
        kind = type(place.node)
        same = [one for one in everywhere if type(one.node) is kind and one.text == place.text]
        if len(same) > 1:
            yield [(one, change.new) for one in same]
    if change.family is not None:
        pairs = [(one, new) for one in everywhere if (new := change.family(one.node)) is not None]
        if len(pairs) > 1:
            yield pairs


def code_of(tree: ast.Module, name: str, names: dict[str, Any]) -> Any:
    """The compiled body of the function, None where the edit makes no sense."""
    try:
        module = compile(tree, "<generated>", "exec")
    except (SyntaxError, ValueError, TypeError, RecursionError):
        return None
    return next(one for one in module.co_consts if getattr(one, "co_name", "") == name)


def function_of(code: Any, definition: ast.FunctionDef, names: dict[str, Any]) -> Callable[..., Any]:
    """The function, whose loops are counted."""
    return FunctionType(code, names | NAMES, definition.name)
