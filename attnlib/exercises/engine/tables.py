"""Two arrays side by side, with the first difference marked: as text and as HTML."""

from dataclasses import dataclass
from html import escape

import numpy as np

MOST_ROWS, MOST_COLUMNS = 6, 6
MARK = "▸"
ALL_DIGITS = 1e15  # whole numbers below this are shown in all their digits


@dataclass(frozen=True, eq=False)
class SideBySide:
    """The learner's array beside the expected one: the matrix that holds the first difference."""

    yours: np.ndarray
    expected: np.ndarray
    differs: np.ndarray  # where they differ

    @property
    def first(self) -> tuple[int, ...]:
        """The index of the first difference, in reading order."""
        return tuple(int(i) for i in np.argwhere(self.differs)[0])

    @property
    def difference(self) -> str:
        """One line with the first difference."""
        yours, expected = self.yours[self.first], self.expected[self.first]
        digits = next((n for n in range(4, 17) if f"{yours:.{n}g}" != f"{expected:.{n}g}"), 17)
        marked = f"At [{', '.join(map(str, self.first))}]" if self.first else "Your result"
        is_or_are = "yours is" if self.first else "is"
        return f"{marked} {is_or_are} {number(yours, digits)}, expected {number(expected, digits)}."

    def window(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[int, int], str]:
        """The part to show: yours, expected, differences (all matrices), the marked entry in it, and its name."""
        *leading, row, column = (0, 0, *self.first)[-max(2, len(self.first)) :]
        shape = (1,) * max(0, 2 - self.yours.ndim) + self.yours.shape
        top, left = start(row, shape[-2], MOST_ROWS), start(column, shape[-1], MOST_COLUMNS)
        cut = (*leading, slice(top, top + MOST_ROWS), slice(left, left + MOST_COLUMNS))
        parts = [array.reshape(shape)[cut] for array in (self.yours, self.expected, self.differs)]
        whole = parts[0].size == self.yours.size
        rows = (f"{top}:{top + parts[0].shape[0]}",) if self.yours.ndim > 1 else ()
        columns = (f"{left}:{left + parts[0].shape[1]}",) if self.yours.ndim > 0 else ()
        name = "" if whole else f"[{', '.join((*map(str, leading), *rows, *columns))}]"
        return parts[0], parts[1], parts[2], (row - top, column - left), name

    def __str__(self) -> str:
        yours, expected, _, marked, name = self.window()
        left = block(yours, marked)
        right = block(expected, None)
        titles = [f"yours{name}", f"expected{name}"]
        width = max(len(titles[0]), *map(len, left)) + 4
        lines = [f"{a:<{width}}{b}" for a, b in zip([titles[0], *left], [titles[1], *right], strict=True)]
        return "\n".join("  " + line.rstrip() for line in lines)

    def _repr_html_(self) -> str:
        yours, expected, differs, marked, name = self.window()
        tables = [
            html_table(f"yours{name}", yours, differs, marked),
            html_table(f"expected{name}", expected, np.zeros_like(differs), None),
        ]
        return f'<div style="display:flex;flex-wrap:wrap;gap:2em">{"".join(tables)}</div>'


def start(index: int, length: int, most: int) -> int:
    """Where a window of `most` entries begins, so that it holds the index."""
    return 0 if length <= most else min(max(0, index - most // 2), length - most)


def number(x: object, digits: int = 4) -> str:
    """A number in at most so many digits; a whole one in all of them, without trailing zeros, and zero has no sign.

    >>> number(np.float64(0.123456)), number(np.int64(3)), number(np.float64("nan")), number(True), number(-0.0)
    ('0.1235', '3', 'nan', 'True', '0')
    >>> number(16384), number(16384.0), number(16384.5), number(1e30)
    ('16384', '16384', '1.638e+04', '1e+30')
    """
    if isinstance(x, bool | np.bool_):
        return str(x)
    if isinstance(x, int | float | np.integer | np.floating) and abs(x) < ALL_DIGITS and x == int(x):
        return str(int(x))
    return f"{x:.{digits}g}"


def block(matrix: np.ndarray, marked: tuple[int, int] | None) -> list[str]:
    """The rows of a matrix as text, columns aligned, one entry marked."""
    cells = [
        [(MARK if (i, j) == marked else "") + number(x) for j, x in enumerate(row)]
        for i, row in enumerate(matrix)
    ]
    width = max((len(cell) for row in cells for cell in row), default=0)
    return ["  ".join(cell.rjust(width) for cell in row) for row in cells]


def html_table(title: str, matrix: np.ndarray, differs: np.ndarray, marked: tuple[int, int] | None) -> str:
    """A small table; entries that differ are tinted, the first one is outlined and has the mark."""
    rows = []
    for i, row in enumerate(matrix):
        cells = []
        for j, x in enumerate(row):
            style = "padding:.1em .6em;text-align:right;font-variant-numeric:tabular-nums;background:none"
            if differs[i, j]:
                style = style.replace("none", "rgba(213,94,0,.18)")
            if (i, j) == marked:
                style += ";outline:2px solid #d55e00;font-weight:bold"
            mark = MARK if (i, j) == marked else ""
            cells.append(f'<td style="{style}">{mark}{number(x)}</td>')
        rows.append(f"<tr>{''.join(cells)}</tr>")
    caption = f'<caption style="text-align:left;font-style:italic">{escape(title)}</caption>'
    return f'<table style="border-collapse:collapse;margin:.3em 0;color:inherit">{caption}{"".join(rows)}</table>'
