"""The length and load of each notebook, compared with the limits for a page: `python tools/budget.py [04]`.

A core page has one question, one example and one insight; the rest moves to a side road or is cut. Counted are the
words of its prose (without formulas, tables, code, exercises and the investigation), the lines of code in sight and
those of models in folds, the minutes that reading takes, predictions, exercises, investigations and boxes of claims.
A notebook may be a tenth over if its metadata say why: `"course": {"over": "the reason"}`. The notebooks called
*Checked* have no budget: they are not read from top to bottom.
"""

import ast
import re
import sys
from dataclasses import dataclass, fields
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parent.parent
APART = re.compile(r"^## (?:Exercises|An investigation)\b.*?(?=^## (?!#)|\Z)", re.S | re.M)
EXERCISE = re.compile(r"^> \*\*Exercise\*\*")
FORMULA = re.compile(r"\$\$.*?\$\$|\$[^$]*\$", re.S)
NOT_PROSE = re.compile(r"```.*?```|<[^>]*>|^\|[^\n]*$|\]\([^)\n]*\)", re.S | re.M)
WORD = re.compile(r"[^\W_][\w'’-]*")
FOLDED = {"hide-input", "hide-cell", "remove-input", "remove-cell"}
WORDS, DISPLAYED, IN_LINE, CODE_LINE, FIGURE = (
    200,
    15 / 60,
    2 / 60,
    2 / 60,
    15 / 60,
)  # as at the head of a page


@dataclass(frozen=True)
class Budget:
    """The counts of a page, or their limits."""

    words: float
    code: float
    minutes: float
    predictions: float
    exercises: float
    investigations: float
    claims: float


CORE = Budget(3000, 250, 25, 6, 5, 1, 2)
SIDE_ROAD = Budget(4000, 400, 40, 6, 5, 1, 2)
ELASTIC = ("words", "code", "minutes")  # a tenth over, with a reason


def words(text: str) -> int:
    """The words of a Markdown text that are read as prose.

    >>> words("A *norm* divides by $\\\\sigma$. [See there](2-x.ipynb#y).\\n\\n| a | table |\\n|---|---|\\n| 1 | 2 |")
    6
    """
    return len(WORD.findall(NOT_PROSE.sub(" ", FORMULA.sub(" ", text))))


def filled(source: str) -> int:
    return sum(bool(line.strip()) for line in source.splitlines())


def of_models(source: str) -> int:
    """Lines of the classes in a folded cell: a model counts although its code is hidden."""
    try:
        tree = ast.parse(source)
    except SyntaxError:  # a cell magic is not Python, so it has no model
        return 0
    lines = source.splitlines()
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    return sum(filled("\n".join(lines[node.lineno - 1 : node.end_lineno])) for node in classes)


def tasks(cells: list[nbformat.NotebookNode]) -> set[int]:
    """The cells of exercises: each task, and the code below it."""
    found, inside = set(), False
    for i, cell in enumerate(cells):
        if cell.cell_type == "markdown":
            inside = bool(EXERCISE.match(cell.source))
        if inside:
            found.add(i)
    return found


def lines_of_code(cell: nbformat.NotebookNode) -> int:
    folded = FOLDED & set(cell.metadata.get("tags", []))
    return of_models(cell.source) if folded else filled(cell.source)


def asked(file: Path) -> Budget:
    """The counts of a notebook."""
    cells = nbformat.read(file, 4).cells
    apart = tasks(cells)
    texts = [cell.source for i, cell in enumerate(cells) if cell.cell_type == "markdown" and i not in apart]
    whole = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    first = next(
        (i for i, cell in enumerate(cells) if re.search(r"^## Exercises", cell.source, re.M)), len(cells)
    )
    code = sum(lines_of_code(cell) for i, cell in enumerate(cells) if cell.cell_type == "code" and i < first)
    text = APART.sub("", "\n\n".join(texts))
    prose = words(text)
    displayed, in_line = (
        len(re.findall(r"\$\$.*?\$\$", text, re.S)),
        len(re.findall(r"(?<!\$)\$[^$]+\$", text)),
    )
    figures = len(re.findall(r"^\*\*Figure", text, re.M))
    reading = prose / WORDS + DISPLAYED * displayed + IN_LINE * in_line + CODE_LINE * code + FIGURE * figures
    return Budget(
        words=prose,
        code=code,
        minutes=round(reading),
        predictions=len(re.findall(r"\*\*Predict first", whole)),
        exercises=sum(bool(EXERCISE.match(cell.source)) for cell in cells if cell.cell_type == "markdown"),
        investigations=len(re.findall(r"^## An investigation", whole, re.M)),
        claims=len(re.findall(r"^> \*\*Claim checked\*\*", whole, re.M)),
    )


def may(file: Path) -> Budget:
    """The limits of a notebook."""
    course = nbformat.read(file, 4).metadata.get("course", {})
    most = SIDE_ROAD if course.get("side_road") else CORE
    over = 1.1 if course.get("over") else 1.0
    return Budget(
        **{
            field.name: getattr(most, field.name) * (over if field.name in ELASTIC else 1)
            for field in fields(Budget)
        }
    )


def too_much(file: Path) -> list[str]:
    """The counts of a notebook that exceed their limits, in words."""
    has, most = asked(file), may(file)
    return [
        f"{field.name}: {getattr(has, field.name)} of at most {getattr(most, field.name):.0f}"
        for field in fields(Budget)
        if getattr(has, field.name) > getattr(most, field.name)
    ]


def notebooks(chapter: str = "") -> list[Path]:
    """The notebooks that have a budget."""
    found = sorted(
        (ROOT / "book").glob(f"{chapter}*/[0-9]*.ipynb"),
        key=lambda f: (f.parent.name, int(f.stem.split("-")[0])),
    )
    return [file for file in found if not file.stem.startswith("checked")]


def main() -> None:
    names = [field.name for field in fields(Budget)]
    print(f"{'':44}", *(f"{name:>{len(name)}}" for name in names))
    for file in notebooks(*sys.argv[1:2]):
        has = asked(file)
        row = (f"{getattr(has, name):{len(name)}.0f}" for name in names)
        print(f"{file.parent.name[:2]} {file.stem:41}", *row, "" if not too_much(file) else " too much")


if __name__ == "__main__":
    main()
