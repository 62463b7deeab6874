"""What a cell prints, on a phone: wide gaps of a table close to two blanks, and a long line of words goes on below.

The text of the page stays as it was printed. Blanks that a narrow page can do without stand in `<span class="gap">`,
a line that may wrap in `<span class="flows">`; `--letters` is how many the longest row has then. The style sheet
decides where that is used, and how large the letters can be.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from html import escape, unescape
from itertools import groupby

PRINTED = re.compile(
    r'(<div class="output (?:stream|text_plain)[^>]*><div class="highlight"><pre)>'
    r"(?:<span></span>)?([^<]*)(?=</pre>)"
)
HIDDEN = re.compile(r'<span class="(?:gap|flows)">[^<]*</span>')
GAP = re.compile(r"\S {2,}(?=\S)")
SENTENCE = re.compile(r"[,;] ")
LONG = 48  # characters: shorter lines fit into a phone's screen
FITS = 65  # characters of the narrow font in the width of a phone


def narrowed(html: str) -> str:
    """A page whose printed outputs can be shown narrow.

    >>> page = '<div class="output stream"><div class="highlight"><pre>a     1\\nb     2\\n</pre>'
    >>> narrowed(page).partition("<pre")[2]
    ' style="--letters:4">a  <span class="gap">   </span>1\\nb  <span class="gap">   </span>2\\n</pre>'
    """
    return PRINTED.sub(lambda found: found[1] + shown(unescape(found[2])), html)


def shown(text: str) -> str:
    """The rest of the opening tag, and the text."""
    marks = marked(text)
    rows = HIDDEN.sub("", marks).split("\n")
    return f' style="--letters:{max(map(len, map(unescape, rows)))}">{marks}'


def marked(text: str) -> str:
    """A printed text as HTML, its surplus blanks and its lines of words marked."""
    lines: list[str] = []
    for kind, alike in groupby(text.split("\n"), key=kind_of):
        lines += MARKED[kind](alike)
    return "\n".join(lines)


def kind_of(line: str) -> str:
    """A long line is words if it has no gap, or is a name and, after one gap, a sentence with a comma.

    >>> [kind_of(line) for line in ("", "width   512", "a sentence " * 9, "SGD   0.28 after 200, " * 2 + "0.12" * 9)]
    ['blank', 'rows', 'words', 'rows']
    """
    if not line.strip():
        return "blank"
    gaps = len(GAP.findall(line.strip()))
    return "words" if len(line) > LONG and gaps <= (1 if SENTENCE.search(line) else 0) else "rows"


def closed(lines: Iterable[str]) -> Iterator[str]:
    """Rows of a table; of each gap between two columns that goes through all rows, the surplus is marked."""
    rows = list(lines)
    wide = max(map(len, rows))
    surplus = surplus_columns(rows, kept=2)
    if wide - len(surplus) > FITS:
        surplus = surplus_columns(rows, kept=1)
    for row in rows:
        yield "".join(gap(part) if hidden else escaped(part) for hidden, part in parts(row, surplus))


def parts(row: str, surplus: set[int]) -> Iterator[tuple[bool, str]]:
    """
    >>> list(parts("a   1", {2, 3}))
    [(False, 'a '), (True, '  '), (False, '1')]
    """
    for hidden, columns in groupby(range(len(row)), key=surplus.__contains__):
        yield hidden, "".join(row[column] for column in columns)


def surplus_columns(rows: list[str], kept: int) -> set[int]:
    """The columns that are blank in all rows, but for the first ones of each gap.

    >>> sorted(surplus_columns(["width     512", "heads       8"], kept=2))
    [7, 8, 9]
    """
    surplus, run = set(), 0
    for column in range(max(map(len, rows))):
        run = run + 1 if all(row[column : column + 1].isspace() or column >= len(row) for row in rows) else 0
        if run > kept:
            surplus.add(column)
    return surplus


def gap(blanks: str) -> str:
    return f'<span class="gap">{blanks}</span>'


def flowing(line: str) -> str:
    return f'<span class="flows">{escaped(line)}</span>'


def escaped(text: str) -> str:
    return escape(text, quote=False)


def flowing_each(lines: Iterable[str]) -> Iterator[str]:
    return map(flowing, lines)


MARKED: dict[str, Callable[[Iterable[str]], Iterator[str]]] = {
    "blank": iter,
    "rows": closed,
    "words": flowing_each,
}
