"""A text of the package as nodes of a page: it may contain `code`, $formulas$, **bold** and *emphasis*."""

import re
from collections.abc import Callable

from docutils import nodes

WORDS = r"([^*\s](?:[^*]*[^*\s])?)"
MARKS = re.compile(rf"`([^`]+)`|\$([^$]+)\$|\*\*{WORDS}\*\*|(?<![\w*])\*{WORDS}\*(?![\w*])")
MADE: tuple[Callable[[str], nodes.Node], ...] = (
    lambda text: nodes.literal(text, text),
    lambda text: nodes.math(text, text),
    lambda text: nodes.strong(text, text),
    lambda text: nodes.emphasis(text, text),
)


def marked(text: str) -> list[nodes.Node]:
    """
    >>> [type(node).__name__ for node in marked("join with `|`, *once*, where 2 * 3 * 4 is $x$: **all**")]
    ['Text', 'literal', 'Text', 'emphasis', 'Text', 'math', 'Text', 'strong']
    """
    made: list[nodes.Node] = []
    end = 0
    for found in MARKS.finditer(text):
        made += [nodes.Text(text[end : found.start()])] if found.start() > end else []
        kind = found.lastindex or 1
        made.append(MADE[kind - 1](found[kind]))
        end = found.end()
    return made + ([nodes.Text(text[end:])] if end < len(text) else [])
