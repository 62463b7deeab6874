"""The base of all explorables: a question, a script in one file, a size, and a static figure.

An explorable is a small interactive picture. Its script does the mathematics itself, so a web page needs no Python.
With a running kernel the traits of the Python object follow what the reader changes. The figure is shown where no
script runs.
"""

from pathlib import Path
from typing import ClassVar

import anywidget
import traitlets
from matplotlib.figure import Figure

FOLDER = Path(__file__).parent
LARGEST = 12_000  # bytes of one script, including shared.js


def script(name: str) -> str:
    """The ES module of one explorable: the shared code, then its own."""
    return "\n".join((FOLDER / f"{part}.js").read_text(encoding="utf-8") for part in ("shared", name))


def style(name: str) -> str:
    """The style sheet of one explorable: the shared one, then its own, if any, restricted to this explorable."""
    shared, own = FOLDER / "shared.css", FOLDER / f"{name}.css"
    text = shared.read_text(encoding="utf-8")
    return f"{text}\n.xp-{name} {{\n{own.read_text(encoding='utf-8')}}}\n" if own.exists() else text


class Explorable(anywidget.AnyWidget):
    """An interactive picture. A subclass sets QUESTION, SIZE, `_esm` and `_css`, adds its traits, and draws `figure`.

    QUESTION   one sentence, the title: the question that a reader answers with it
    SIZE       height in pixels, on a wide page and on a phone, reserved until the script has run
    """

    QUESTION: ClassVar[str]
    SIZE: ClassVar[tuple[int, int]]

    question = traitlets.Unicode().tag(sync=True)
    size = traitlets.List(traitlets.Int()).tag(sync=True)

    @traitlets.default("question")
    def _its_question(self) -> str:
        return self.QUESTION

    @traitlets.default("size")
    def _its_size(self) -> list[int]:
        return list(self.SIZE)

    def __repr__(self) -> str:
        return f"{type(self).__name__}: {self.question}"

    def figure(self) -> Figure:
        """The current state as a static figure, computed with `attnlib.reference`."""
        raise NotImplementedError(
            f"{type(self).__name__}.figure: every explorable draws its own static figure."
        )
