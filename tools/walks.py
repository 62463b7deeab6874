"""What somebody reads who follows five things through the code: the table of walks in ARCHITECTURE.md.

    python tools/walks.py             the table, as Markdown
    python tools/walks.py --write     put it into ARCHITECTURE.md
    python tools/walks.py --path fit  the functions of one walk, in the order in which they are called

A walk is really taken: the call is made, and each function of `attnlib` or `book/_ext` that runs counts when it is
called for the first time, because a reader reads it once. Consecutive functions of one file are one stop; a stop in a
file where the walk has been before is a return. Rooms are the folders. What happens while a module is imported does not
count, nor do attnlib's checks of arguments, which stand before every public function.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import yaml

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "ARCHITECTURE.md"
START, END = "<!-- walks -->\n", "<!-- end of walks -->\n"
FOLLOWED = (f"{ROOT / 'attnlib'}{os.sep}", f"{ROOT / 'book' / '_ext'}{os.sep}")
LONG = 12  # stops: a longer walk is told by its rooms
MARK = "> "  # before a line of a walk, so that what else is printed is left out
CHECKS = {"attnlib/shapes.py", "attnlib/checking.py", "attnlib/rules.py"}
NOTEBOOK = "book/01-foundations/2-the-attention-function"
BEFORE = ROOT / "docs" / "walks.yml"
HEAD = """\
| the walk of | functions | files | stops | returns | rooms | stops before | returns before |
|---|---|---|---|---|---|---|---|"""


class Step(NamedTuple):
    """A function that is called for the first time."""

    file: str  # from the root
    name: str

    @property
    def room(self) -> str:
        return self.file.rpartition("/")[0]


# ---- The walks ------------------------------------------------------------------------------------------------------


def followed(work: Callable[[], Any]) -> list[Step]:
    """Do the work; the functions of the project that it calls, in the order of their first calls."""
    steps: dict[Step, None] = {}
    known: dict[CodeType, Step | None] = {}
    importing = 0

    def see(frame: FrameType, event: str, _: Any) -> None:
        nonlocal importing
        code = frame.f_code
        if code.co_name == "<module>":
            importing += {"call": 1, "return": -1}.get(event, 0)
        elif event == "call" and not importing:
            if code not in known:
                known[code] = step_of(code)
            if (step := known[code]) is not None:
                steps[step] = None

    sys.setprofile(see)
    try:
        work()
    finally:
        sys.setprofile(None)
    return list(steps)


def step_of(code: CodeType) -> Step | None:
    """The function, if it is one of the project and has a name of its own; a loop inside a list has none."""
    if not code.co_filename.startswith(FOLLOWED) or code.co_name.startswith("<"):
        return None
    file = Path(code.co_filename).relative_to(ROOT).as_posix()
    return None if file in CHECKS else Step(file, code.co_qualname)


def attention() -> list[Step]:
    """`X` through `MultiHeadAttention.forward`."""
    import torch

    from attnlib.nn.multihead import MultiHeadAttention

    layer, X = MultiHeadAttention(d_model=8, n_heads=2), torch.ones(2, 3, 8)
    return followed(lambda: layer(X))


def gpt() -> list[Step]:
    """Tokens through `GPT.forward`."""
    from dataclasses import replace

    import torch

    from attnlib.models.gpt import GPT, gpt2_small

    model = GPT(replace(gpt2_small(), vocab=11, d_model=8, n_heads=2, n_layers=2))
    return followed(lambda: model(torch.tensor([[1, 2, 3]])))


def fit() -> list[Step]:
    """The loss through `fit`."""
    import torch

    from attnlib.train.fit import fit

    model = torch.nn.Linear(2, 2)
    batches = [torch.ones(3, 2)] * 2
    return followed(lambda: fit(model, lambda model, X: model(X).square().mean(), batches, steps=2))


def check() -> list[Step]:
    """A wrong answer through `check`, which names the mistake."""
    import numpy as np

    from attnlib.exercises import check

    def softmax(S: Any) -> Any:
        E = np.exp(S - S.max())
        return E / E.sum()

    return followed(lambda: check("foundations.softmax", softmax))


def book() -> list[Step]:
    """A notebook through `make book`, alone in a book of one page."""
    from jupyter_book.config import get_final_config
    from sphinx.application import Sphinx
    from sphinx.util.docutils import docutils_namespace

    with tempfile.TemporaryDirectory() as folder, docutils_namespace():
        source = Path(folder) / "book-of-one-page"
        source.mkdir()
        for name in ("attnlib", "book", "_config.yml", "CITATION.cff", "publish.toml", "CHANGELOG.md"):
            (source / name).symlink_to(ROOT / name)
        (source / "_toc.yml").write_text(f"format: jb-book\nroot: {NOTEBOOK}\n")
        options = {"latex_individualpages": False}  # Jupyter Book asks for it
        settings, _ = get_final_config(user_yaml=source / "_config.yml", sourcedir=source, cli_config=options)
        sys.path.insert(0, str(ROOT / "book"))
        out, trees = Path(folder) / "html", Path(folder) / "trees"
        app = Sphinx(source, None, out, trees, "html", settings, status=None, warning=None)
        return followed(app.build)


WALKS: dict[str, tuple[str, Callable[[], list[Step]]]] = {
    "attention": ("`X` through `MultiHeadAttention.forward`", attention),
    "gpt": ("tokens through `GPT.forward`", gpt),
    "fit": ("the loss through `fit`", fit),
    "check": ("a wrong answer through `check`", check),
    "book": ("a notebook through `make book`", book),
}


# ---- What was seen on them ------------------------------------------------------------------------------------------


class Walk(NamedTuple):
    """How much a walk asks of who takes it."""

    functions: int
    files: int
    stops: int
    returns: int
    rooms: int


def counted(steps: Sequence[Step]) -> Walk:
    """
    >>> counted([Step("a/x.py", "f"), Step("a/x.py", "g"), Step("b/y.py", "h"), Step("a/x.py", "k")])
    Walk(functions=4, files=2, stops=3, returns=1, rooms=2)
    """
    stops, files = len(stops_of([step.file for step in steps])), len({step.file for step in steps})
    return Walk(len(steps), files, stops, stops - files, len({step.room for step in steps}))


def stops_of(names: Sequence[str]) -> list[str]:
    """
    >>> stops_of(["a", "a", "b", "a"])
    ['a', 'b', 'a']
    """
    return [name for name, _ in groupby(names)]


def row(name: str, steps: Sequence[Step], before: dict[str, int]) -> str:
    cells = [WALKS[name][0], *counted(steps), before["stops"], before["returns"]]
    return f"| {' | '.join(map(str, cells))} |"


def way(name: str, steps: Sequence[Step]) -> str:
    """The stops in their order; of a long walk the rooms."""
    files = stops_of([step.file.removesuffix(".py") for step in steps])
    rooms = [f"{room}/" for room in dict.fromkeys(step.room for step in steps)]
    return f"- {WALKS[name][0]}: {', '.join(f'`{stop}`' for stop in (rooms if len(files) > LONG else files))}"


def taken(name: str) -> list[Step]:
    """A walk in a process of its own, where nothing has been read or remembered before it."""
    environment = os.environ | {"PYTHONHASHSEED": "0", "ATTNLIB_PROGRESS": "off", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--path", name]
    said = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    lines = [line.removeprefix(MARK).split(" ", 1) for line in said.splitlines() if line.startswith(MARK)]
    return [Step(*line) for line in lines]


def table() -> str:
    before = yaml.safe_load(BEFORE.read_text())
    walks = {name: taken(name) for name in WALKS}
    rows = [row(name, steps, before[name]) for name, steps in walks.items()]
    return "\n".join([HEAD, *rows, "", *(way(name, steps) for name, steps in walks.items())]) + "\n"


def stored(text: str) -> str:
    """The table that stands in the page."""
    return text.partition(START)[2].partition(END)[0]


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["--path"]:
        for step in WALKS[arguments[1]][1]():
            print(f"{MARK}{step.file} {step.name}")
        return
    now = table()
    print(now, end="")
    if arguments == ["--write"]:
        text = PAGE.read_text()
        PAGE.write_text(text.replace(START + stored(text) + END, START + now + END))


if __name__ == "__main__":
    main(sys.argv[1:])
