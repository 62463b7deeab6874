"""One generated mistake, and the table of rules by which the code of a right answer is edited."""

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from attnlib.editing import Change
from attnlib.exercises.engine.generator.words import Words


class Generated(NamedTuple):
    """A name, the sentence that explains it, and a function that makes the mistake."""

    name: str
    sentence: str
    function: Callable[..., Any]
    weak: bool = False  # named only where nothing else gives the same numbers


Rule = Callable[[Any, Words], Iterator[Change]]  # of a node, and how it may be called in a sentence
Rules = Mapping[type[ast.AST], Sequence[Rule]]  # by the type of the node
