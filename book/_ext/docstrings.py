"""Docstrings of `attnlib` as parts of a page: paragraphs, a table of arguments, examples with their outputs."""

import re
import textwrap

from docutils import nodes

from .inline_markup import marked
from .package import LABEL

TERM = re.compile(r"(\S.{0,40}?)\s{2,}(\S.*)")
INLINE = re.compile(rf"`{{1,2}}(?P<code>[^`]+)`{{1,2}}|(?P<label>{LABEL.pattern})")


class EquationLabel(nodes.General, nodes.Inline, nodes.Element):
    """An equation's label in a docstring; a link to the numbered equation, once all pages are read.

    `bare` says that it stands in parentheses already.
    """


def blocks(doc: str) -> list[str]:
    """The parts between blank lines."""
    return [part.strip("\n") for part in re.split(r"\n\s*\n", doc.strip()) if part.strip()]


def parse(doc: str) -> list[nodes.Node]:
    return [node for block in blocks(doc) for node in parse_block(block)]


def parse_block(block: str) -> list[nodes.Node]:
    if block.lstrip().startswith(">>>"):
        code = textwrap.dedent(block)
        return [nodes.literal_block(code, code, language="pycon")]
    rows = arguments(block)
    if rows:
        return [table(rows)]
    if block.startswith("    "):
        code = textwrap.dedent(block)
        return [nodes.literal_block(code, code, language="text")]
    before, example, after = block.partition("\n>>>")
    made: list[nodes.Node] = [nodes.paragraph("", "", *inline(before))]
    return made + (parse_block(">>>" + after) if example else [])


def arguments(block: str) -> list[tuple[str, str]]:
    """`name    what it means` line by line; a line that is indented goes on. Empty if the block is not such a table.

    >>> arguments("mask    True where a query may look\\nT       temperature,\\n        above 0")
    [('mask', 'True where a query may look'), ('T', 'temperature, above 0')]
    """
    rows: list[tuple[str, str]] = []
    for line in block.splitlines():
        found = TERM.fullmatch(line)
        if found:
            rows.append((found[1], found[2]))
        elif rows and line.startswith("    "):
            rows[-1] = (rows[-1][0], f"{rows[-1][1]} {line.strip()}")
        else:
            return []
    return rows


def table(rows: list[tuple[str, str]]) -> nodes.definition_list:
    made = nodes.definition_list(classes=["arguments"])
    for name, text in rows:
        term = nodes.term("", "", nodes.literal(name, name))
        made.append(
            nodes.definition_list_item("", term, nodes.definition("", nodes.paragraph("", "", *inline(text))))
        )
    return made


def inline(text: str) -> list[nodes.Node]:
    """Marked text, in which the label of an equation becomes a link."""
    made: list[nodes.Node] = []
    text = " ".join(text.split())
    end = 0
    for found in INLINE.finditer(text):
        made += marked(text[end : found.start()])
        code, before = found["code"], text[: found.start()]
        bare = before.count("(") > before.count(")")
        made.append(nodes.literal(code, code) if code else EquationLabel(label=found["label"], bare=bare))
        end = found.end()
    return made + marked(text[end:])
