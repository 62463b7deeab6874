"""What `check`, `hint`, `progress` and the like return: text with a little structure, rich where possible."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from attnlib.exercises.engine.tables import SideBySide


class WrongAnswer(AssertionError):
    """Raised by `check(..., strict=True)` for an answer that does not pass."""


@dataclass(frozen=True)
class Code:
    """Preformatted text in a note."""

    text: str


MARKUP = re.compile(r"`([^`]+)`|\*\*(.+?)\*\*")

Part = str | Code | SideBySide


@dataclass(frozen=True, eq=False)
class Note:
    """Paragraphs, code and figures; `code` and `**bold**` are marked up in HTML, Jupyter reads `$...$`."""

    parts: tuple[Part, ...]
    colour: str = "#0072b2"

    @property
    def message(self) -> str:
        return "\n".join(as_text(part) for part in self.parts)

    def __repr__(self) -> str:
        return self.message

    def _repr_html_(self) -> str:
        body = "".join(as_html(part) for part in self.parts)
        style = f"border-left:4px solid {self.colour};padding:.1em 1em;margin:.5em 0"
        return f'<div role="status" style="{style}">{body}</div>'


@dataclass(frozen=True, eq=False, repr=False)
class Result(Note):
    """What a check found."""

    id: str = ""
    status: str = ""  # "passed", "not attempted", "wrong", "error", "stopped"
    named: tuple[str, ...] = ()  # the known mistakes that explain a wrong answer; empty if none fits for sure
    figure: SideBySide | None = None
    case: tuple[object, ...] = ()  # the arguments that the message is about: try `my_function(*result.case)`

    @property
    def passed(self) -> bool:
        return self.status == "passed"


COLOURS = {
    "passed": "#009e73",
    "not attempted": "#56b4e9",
    "wrong": "#d55e00",
    "error": "#d55e00",
    "stopped": "#d55e00",
}
HEADS = {
    "passed": "✓ **{id}** · right",
    "not attempted": "○ **{id}** · not attempted yet",
    "wrong": "✗ **{id}** · not yet",
    "error": "✗ **{id}** · not yet",
    "stopped": "✗ **{id}** · stopped",
}


def result(
    id: str,
    status: str,
    *parts: Part,
    named: Sequence[str] = (),
    figure: SideBySide | None = None,
    case: Sequence[object] = (),
) -> Result:
    """A result with the headline that belongs to its status."""
    head = HEADS[status].format(id=id)
    return Result((head, *parts), COLOURS[status], id, status, tuple(named), figure, tuple(case))


def as_text(part: Part) -> str:
    if isinstance(part, Code):
        return "\n".join("    " + line for line in part.text.splitlines())
    return str(part) if isinstance(part, SideBySide) else MARKUP.sub(lambda found: found[2] or found[0], part)


def as_html(part: Part) -> str:
    if isinstance(part, Code):
        return f'<pre style="margin:.4em 0">{escape(part.text)}</pre>'
    if isinstance(part, SideBySide):
        return part._repr_html_()
    text = MARKUP.sub(lambda found: tagged(found[1], found[2]), escape(part, quote=False))
    paragraphs = re.split(r"\n\s*\n|\n(?=\d+\. )", text)
    return "".join(f'<p style="margin:.3em 0">{paragraph}</p>' for paragraph in paragraphs)


def tagged(code: str | None, bold: str | None) -> str:
    return f"<code>{code}</code>" if code else f"<strong>{bold}</strong>"
