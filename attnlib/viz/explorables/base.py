"""What all explorables share: a question, a script in one file, a size, and a figure for where no script runs.

An explorable is a small picture that a reader can move. Its script does the mathematics itself, so it needs no Python
where it is read; where there is Python, the traits of the object follow the reader's hand.
"""

from pathlib import Path
from typing import ClassVar

import anywidget
import traitlets
from matplotlib.figure import Figure

FOLDER = Path(__file__).parent
LARGEST = 12_000  # bytes of one script, what is shared included


def script(name: str) -> str:
    """The ES module of one explorable: what all share, then its own text."""
    return "\n".join((FOLDER / f"{part}.js").read_text(encoding="utf-8") for part in ("shared", name))


def style(name: str) -> str:
    """The style sheet of one explorable: what all share, then its own, if it has one, for inside it alone."""
    shared, own = FOLDER / "shared.css", FOLDER / f"{name}.css"
    text = shared.read_text(encoding="utf-8")
    return f"{text}\n.xp-{name} {{\n{own.read_text(encoding='utf-8')}}}\n" if own.exists() else text


class Explorable(anywidget.AnyWidget):
    """A picture to move. A subclass sets QUESTION, SIZE, `_esm` and `_css`, adds its traits, and draws `figure`.

    QUESTION   one sentence, the title: what a reader finds out by moving it
    SIZE       pixels in height, on a wide page and on a telephone, kept free until the script has run
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
        """The present state, drawn by matplotlib from `attnlib.reference`."""
        raise NotImplementedError(
            f"{type(self).__name__}.figure: every explorable draws its own static figure."
        )
