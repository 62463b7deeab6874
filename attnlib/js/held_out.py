"""Held-out code at which the page measures: rows of tokens, and 100 positions for each of three questions.

Book: Inside a GPT. The page gets them with the model, so what a reader's browser measures and what the notebook's cells
print are rates over the same positions.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from attnlib.data import stdlib
from attnlib.data.bpe.files import load_tokenizer
from attnlib.js.marks import open_brackets

COURSE = Path(__file__).parents[1] / "data" / "course"
ROWS, LENGTH = 30, 128
ATTRIBUTES = 2  # `self.` is rare: a row has it at least so often
MOST = 100  # positions of a kind


class HeldOut(NamedTuple):
    """Rows of held-out code, and where what comes next is of one kind: positions (row, t)."""

    rows: list[list[int]]
    pieces: list[list[str]]  # the text of each token
    positions: dict[str, list[tuple[int, int]]]


class Row(NamedTuple):
    """One row, with what the three questions need to know of it."""

    tokens: list[int]
    pieces: list[str]
    opened: list[int]  # after each token, the position of the innermost open bracket


def closes_bracket(row: Row, t: int) -> bool:
    """The next token closes a bracket, which stands before this token."""
    return row.pieces[t + 1][0] in ")]}" and 0 <= row.opened[t] < t


def names_attribute(row: Row, t: int) -> bool:
    """The next token begins the name after `self.`"""
    return row.pieces[t] == "." and row.pieces[t - 1].strip() == "self"


def repeats_name(row: Row, t: int) -> bool:
    """The next token is a word of four letters or more, and it has stood in the row before."""
    word = row.pieces[t + 1].strip()
    return t >= 20 and word.isidentifier() and len(word) > 3 and row.tokens[t + 1] in row.tokens[:t]


QUESTIONS: dict[str, Callable[[Row, int], bool]] = {
    "closing bracket": closes_bracket,
    "after self.": names_attribute,
    "known name": repeats_name,
}


@cache
def held_out() -> HeldOut:
    """Thirty rows of 128 tokens, spread over the held-out modules, each of them with `self.` twice or more."""
    tokenizer = load_tokenizer(COURSE)
    every = []
    for _, text in stdlib.texts("held out"):
        tokens = tokenizer.encode(tokenizer.special[0]) + tokenizer.encode_ordinary(text)
        every += [tokens[i : i + LENGTH] for i in range(0, len(tokens) - LENGTH, LENGTH)]
    rows = [described(tokens, [tokenizer.decode([t]) for t in tokens]) for tokens in every]
    rows = [row for row in rows if len(found(row, names_attribute)) >= ATTRIBUTES]
    rows = [rows[i * len(rows) // ROWS] for i in range(ROWS)]
    positions = {name: some(rows, holds) for name, holds in QUESTIONS.items()}
    return HeldOut([row.tokens for row in rows], [row.pieces for row in rows], positions)


def described(tokens: list[int], pieces: list[str]) -> Row:
    return Row(tokens, pieces, open_brackets(pieces))


def found(row: Row, holds: Callable[[Row, int], bool]) -> list[int]:
    """The positions of a row for which something holds of what comes next.

    >>> found(described([0, 1, 2, 3, 4], ["x = ", "f", "(", "a", ")"]), closes_bracket)
    [3]
    """
    return [t for t in range(1, len(row.tokens) - 1) if holds(row, t)]


def some(rows: list[Row], holds: Callable[[Row, int], bool]) -> list[tuple[int, int]]:
    """At most 100 of the positions of all rows, drawn by chance."""
    every = [(r, t) for r, row in enumerate(rows) for t in found(row, holds)]
    order = np.random.default_rng(0).permutation(len(every))[:MOST]
    return [every[i] for i in sorted(order)]
