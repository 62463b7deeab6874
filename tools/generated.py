"""Edits of a row's proof that nobody wrote: made by the rules of the mathematics near the row's own counter-proof.

They are drawn from the function in which the counter-proof stands or, in a notebook, from the cell; there only from the
statements that lead to an assertion, for a proof owes nothing to what is drawn or printed.
"""

import ast
import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from _ext.counterproofs import edit_problem, names_of, proving_code  # pyright: ignore[reportMissingImports]
from _ext.ledger import Edit, Row  # pyright: ignore[reportMissingImports]
from _ext.proofs import asserts_something  # pyright: ignore[reportMissingImports]
from mutant_rules import edits, is_mathematics

from attnlib.edit_table import Tried, tried
from attnlib.editing import Place, Source, called

SHOWS = ("print", "show", "display", "explore")
SEEDS = ("default_rng", "manual_seed", "seed")  # which numbers are drawn, no row says


class Drawn(NamedTuple):
    """One edit: its place, what stands there then, and the same as an edit of the whole text for a proof."""

    proof: str
    file: str
    source: Source
    place: Place
    new: ast.AST

    @property
    def edit(self) -> Edit:
        text, edited = self.source.text, self.source.written(self.place, self.new)
        return Edit(text, edited.applied(text), "" if self.file == self.proof else self.file)

    def row(self, noticed: str, seconds: float) -> Tried:
        return tried(self.file, self.place, self.new, noticed, seconds)


def draw(root: Path, row: Row, count: int, seed: int) -> list[Drawn]:
    """So many edits of a row, or all where there are fewer; the same for the same seed, whatever else is drawn."""
    every = [one for proof in row.proof for own in row.breaks for one in near(root, proof, own)]
    random.Random(f"{seed} {row.id}").shuffle(every)
    found: dict[Edit, Drawn] = {}
    for one in every:
        if len(found) == count:
            break
        if not edit_problem(root, one.proof, edit := one.edit):
            found.setdefault(edit, one)
    return [*found.values()]


def near(root: Path, proof: str, own: Edit) -> Iterator[Drawn]:
    """All edits that the rules make near a row's own."""
    name = proof.split("::")[0]
    if own.file or not name.endswith(".ipynb"):
        source = Source((root / (own.file or name)).read_text("utf8"))
        places = inside_function(source, source.text.find(own.old.strip()))
        file = own.file or proof
    else:
        cells = proving_code(root, proof)
        holder = next((cell for cell in cells if own.old in cell), "")
        source, file = Source(holder), proof
        leading = leads_to_an_assertion(cells)
        places = [one for one in source.places(is_computed) if ast.unparse(outermost(one)) in leading]
    return (Drawn(proof, file, source, *edit) for edit in edits(places))


def inside_function(source: Source, at: int) -> list[Place]:
    """The places inside the innermost function around a letter of the text; of the statement, if there is none."""
    every = list(source.places(is_computed))
    around = [one for one in every if isinstance(one.node, ast.stmt) and in_span(source, one.node, at)]
    functions = [one.node for one in around if isinstance(one.node, ast.FunctionDef)]
    root = (functions or [one.node for one in around[:1]] or [None])[-1]
    return [one for one in every if any(outer.parent is root for outer in one.outwards())]


def in_span(source: Source, node: ast.stmt, at: int) -> bool:
    start, end = source.span(node)
    return start <= at < end


def is_computed(place: Place) -> bool:
    return is_mathematics(place) and not is_shown(place.node) and called(place.node) not in SEEDS


def is_shown(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and called(node.value) in SHOWS


def outermost(place: Place) -> ast.AST:
    """The statement of the module in which a place stands."""
    *_, top = place.outwards()
    return top.node


def leads_to_an_assertion(cells: list[str]) -> set[str]:
    """The statements of cells, as plain code, that assert or compute what is asserted.

    >>> sorted(leads_to_an_assertion(["x = 1 + 1\\ny = 3", "z = [x]\\nprint(z)\\nassert z"]))
    ['assert z', 'x = 1 + 1', 'z = [x]']
    """
    wanted, found = set[str](), set[str]()
    for statement in reversed([one for cell in cells for one in ast.parse(cell).body]):
        code = ast.unparse(statement)
        names = names_of(code)
        computes = not is_shown(statement)
        uses = bool(wanted & names.bound) or (computes and not names.bound and bool(wanted & names.needed))
        if uses or asserts_something(code):
            found.add(code)
            wanted |= names.needed
    return found
