"""A learner's file as cells of Python: a script is one cell, a notebook has several."""

import ast
import io
import json
import os
import re
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SUFFIXES = (".py", ".ipynb")
LARGEST = 64_000_000  # bytes; a notebook with figures has a few millions
MAGIC = re.compile(r"^(\s*)([%!?].*)$", re.MULTILINE)
PLAIN_CELL_MAGICS = ("%%time", "%%capture")  # the rest of such a cell is Python all the same


@dataclass(frozen=True)
class Cell:
    """Some lines of Python, and what errors call them."""

    label: str
    source: str


@dataclass(frozen=True)
class Submission:
    """What one learner handed in; `unreadable` says why there are no cells."""

    learner: str
    path: Path
    cells: tuple[Cell, ...] = ()
    unreadable: str = ""

    @property
    def is_notebook(self) -> bool:
        return self.path.suffix == ".ipynb"


def files_in(paths: Sequence[Path]) -> list[Path]:
    """The files, and of each folder the scripts and notebooks in it, but for hidden ones."""
    found: list[Path] = []
    for path in paths:
        if not path.is_dir():
            found.append(path)
            continue
        inside = [one for one in sorted(path.rglob("*")) if one.suffix in SUFFIXES and one.is_file()]
        shown = [one for one in inside if not any(part[0] == "." for part in one.relative_to(path).parts)]
        if not shown:
            raise ValueError(
                f"grade: a folder must have .py or .ipynb files; got {path}, where there is none."
            )
        found += shown
    return found


def submissions(paths: Sequence[Path]) -> list[Submission]:
    """All files, read before any of them is run: one cannot change another."""
    return [read(learner, path) for learner, path in zip(learners(paths), paths, strict=True)]


def learners(paths: Sequence[Path]) -> list[str]:
    """The name of each file, with the folders in which they differ where two files have one name.

    >>> learners([Path("ann.py"), Path("bob.ipynb")])
    ['ann', 'bob']
    >>> learners([Path("in/ann/week1.py"), Path("in/bob/week1.py")])
    ['ann/week1', 'bob/week1']
    """
    names = [path.stem for path in paths]
    if len(set(names)) == len(names):
        return names
    whole = [os.path.abspath(path) for path in paths]
    top = os.path.commonpath([os.path.dirname(one) for one in whole])
    longer = [Path(os.path.relpath(one, top)) for one in whole]
    without = [one.with_suffix("").as_posix() for one in longer]
    return without if len(set(without)) == len(without) else [one.as_posix() for one in longer]


def read(learner: str, path: Path) -> Submission:
    """The cells of a file, or why there are none."""
    try:
        if not path.exists():
            raise ValueError("it is not there")
        if path.suffix not in SUFFIXES:
            raise ValueError("it is neither a .py nor an .ipynb file")
        if path.stat().st_size > LARGEST:
            raise ValueError(f"it is larger than {LARGEST // 1_000_000} MB")
        data = path.read_bytes()
        cells = notebook(path.name, data) if path.suffix == ".ipynb" else [Cell(path.name, decoded(data))]
    except (OSError, ValueError, SyntaxError, LookupError, TypeError, RecursionError) as error:
        return Submission(learner, path, unreadable=reason(error))
    return Submission(learner, path, tuple(cells))


def reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"it cannot be opened ({error.strerror})"
    if isinstance(error, UnicodeDecodeError | SyntaxError):
        return "it is no text in the encoding that it states, or in UTF-8"
    return str(error) if type(error) is ValueError else "it is no notebook (no JSON with `cells` in it)"


def decoded(data: bytes) -> str:
    """Python text in the encoding that its first lines state, UTF-8 if none."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    return data.decode(encoding).replace("\r\n", "\n")


def notebook(name: str, data: bytes) -> Iterator[Cell]:
    """The code cells of a notebook, as Python."""
    content: Any = json.loads(data.decode("utf-8-sig"))
    code = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
    texts = ["".join(cell["source"]) for cell in code]
    return iter([Cell(f"{name}, cell {i}", as_python(text)) for i, text in enumerate(texts, 1)])


def as_python(text: str) -> str:
    """A cell without what only IPython understands; a cell in another language is left out.

    >>> as_python("%matplotlib inline\\nx = 1"), as_python("%%bash\\nls")
    ('pass\\nx = 1', '')
    """
    first, _, rest = text.lstrip().partition("\n")
    if first.startswith("%%"):
        return "\n" + as_python(rest) if first.startswith(PLAIN_CELL_MAGICS) else ""
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return MAGIC.sub(r"\1pass", text)
    return text
