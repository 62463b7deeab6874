"""Do the counter-proofs bite? `make proofs`, or `python tools/proofs.py "04 transformer" E121 C073`.

Each row of the ledger may have `breaks`, an edit of what its proof computes. Here each proof is run alone, and must
hold; then once more with the edit, and must fail: by an assertion, not by an accident. A cell runs in a fresh namespace
behind the cells whose names it uses; a test runs under pytest. Nothing in the working tree is touched: an edit is made
on a copy (trying.py). All edits are written to `_build/edits/`.

    --sample    some rows, other ones at each commit, and all that changed since: what `make test` runs
    --try       (with one id, --old, --new and perhaps --file) look whether an edit would bite, without storing it
    --generated 3 --seed 0    for each row so many edits that are made by rule near its own (generated.py); those that
                its proof does not notice are reported
"""

import argparse
import builtins
import contextlib
import functools
import io
import random
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "book"), str(ROOT / "tools")]

import generated  # noqa: E402
from _ext.counterproofs import (  # noqa: E402  # pyright: ignore[reportMissingImports]
    cells_of,
    edit_problem,
    proving_cells,
    proving_code,
)
from _ext.ledger import (  # noqa: E402  # pyright: ignore[reportMissingImports]
    Edit,
    Row,
    chapter_of_file,
    ledger_files,
    load,
    raw_rows,
)
from mutants import equivalent  # noqa: E402
from trying import LIMIT, QUIET, Watcher, copy_of, warm  # noqa: E402

from attnlib.edit_table import Tried, table  # noqa: E402

BOOK = ROOT / "book"
SAMPLE, SAMPLE_TIME = 5, 45  # rows beside those that changed; seconds after which no further one is begun


class Run(NamedTuple):
    """How a proof ended: "holds", "fails" by an assertion, or another sentence; what it printed, and who noticed."""

    ended: str
    said: str = ""
    first: str = ""  # the test that failed
    seconds: float = 0.0

    def verdict(self, name: str) -> str:
        """What the proof says of a row by `ledger_row`; empty if it says nothing."""
        lines = (line.split(": ", 1) for line in self.said.splitlines() if line.startswith(f"{name}: "))
        return next((line[1] for line in lines), "")

    def noticed(self, row: Row) -> str:
        """What noticed the edit with which it ran; empty if nothing did."""
        if self.ended == "holds":
            return f"the verdict {self.verdict(row.id)}" if self.other(row) else ""
        return self.first or ("assertion in the cell" if self.ended == "fails" else self.ended.split(":")[0])

    def other(self, row: Row) -> bool:
        """Whether it says another verdict than the ledger."""
        return self.verdict(row.id) not in ("", "holds", row.verdict)


# One proof, in a process of its own.


def run(proof: str, edit: Edit | None = None, longest: float = LIMIT) -> Run:
    """Run a proof on the copy, perhaps edited, in a process that knows nothing of the package yet."""
    copy, name = copy_of(ROOT), proof.split("::")[0]
    file = edit.file or ("" if name.endswith(".ipynb") else name) if edit else ""
    held = contextlib.nullcontext()
    if edit and file:
        held = copy.edited(file, (ROOT / file).read_text("utf8").replace(edit.old, edit.new))
    with held:
        ended = copy.run(functools.partial(run_here, proof, None if file else edit), longest)
    if ended.how:
        how = f"takes more than {longest:g} seconds" if ended.how == "time limit" else ended.how
        return Run(how, seconds=ended.seconds)
    how, said, first = ended.value
    return Run(how, said, first, ended.seconds)


def run_here(proof: str, edit: Edit | None) -> tuple[str, str, str]:
    """How the proof ends in this process, what it printed, and which test failed."""
    said, first = io.StringIO(), ""
    name = proof.split("::")[0]
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
        if name.endswith(".ipynb"):
            ended = run_cells(proving_code(Path(), proof), edit)
        else:
            ended, first = run_test(proof)
    return ended, said.getvalue(), first


def run_cells(cells: list[str], edit: Edit | None = None) -> str:
    space: dict[str, Any] = {"__name__": "__main__"}
    setattr(builtins, "display", lambda *shown, **more: None)  # noqa: B010
    try:
        for cell in cells:
            text = cell.replace(edit.old, edit.new) if edit else cell
            exec(compile(text, "cell", "exec"), space)  # the project's own notebooks
    except AssertionError:
        return "fails"
    except BaseException as error:
        return f"stops with {type(error).__name__}: {error}"
    return "holds"


class UntilFailed(Watcher):
    """A watcher that ends the run after an assertion that fails: then it is decided, and other cases are not run."""

    def __init__(self, failed: tuple[type[BaseException], ...]) -> None:
        super().__init__()
        self.failed = failed

    def pytest_exception_interact(self, node: Any, call: Any) -> None:
        super().pytest_exception_interact(node, call)
        if isinstance(call.excinfo.value, self.failed):
            node.session.shouldfail = "the proof has failed"


def run_test(proof: str) -> tuple[str, str]:
    import pytest

    failed = (AssertionError, pytest.fail.Exception)
    watcher = UntilFailed(failed)
    pytest.main([proof, *QUIET], plugins=[watcher])
    accidents = [error for error in watcher.errors if not isinstance(error, failed)]
    if len(watcher.errors) > len(accidents):
        return "fails", watcher.first
    if accidents:
        return f"stops with {type(accidents[0]).__name__}: {accidents[0]}", watcher.first
    return "holds" if watcher.passed else "runs no test", ""


# Rows.

_WHOLE: dict[tuple[str, ...], Run] = {}


def run_whole(code: tuple[str, ...], proof: str) -> Run:
    """Run a proof as it is; once for all rows that it proves."""
    if code not in _WHOLE:
        _WHOLE[code] = run(proof)
    return _WHOLE[code]


def problems(row: Row, told: dict[str, float] | None = None, rows: list[Tried] | None = None) -> list[str]:
    """What is wrong with a row's proofs and counter-proofs; `told` gets how long each took, `rows` the edits."""
    found = []
    bitten: set[Edit] = set()
    for proof in row.proof:
        start = time.monotonic()
        found += _whole(row, proof)
        runs = [(edit, run(proof, edit)) for edit in row.breaks if not found]
        bites = [edit for edit, broken in runs if broken.ended == "fails" or broken.other(row)]
        bitten.update(bites)
        if runs and not bites:
            how = "; ".join(f"with `{edit.new}` it {broken.ended}" for edit, broken in runs)
            found.append(f"{proof}: no counter-proof bites; {how}.")
        if told is not None:
            told[proof] = time.monotonic() - start
        if rows is not None:
            rows += [_row_of_table(row, proof, edit, broken) for edit, broken in runs]
    found += [f"`{e.old}` -> `{e.new}` breaks no proof." for e in row.breaks if not found and e not in bitten]
    return [f"{row.id}: {sentence}" for sentence in found]


def _row_of_table(row: Row, proof: str, edit: Edit, broken: Run) -> Tried:
    file = edit.file or proof.split("::")[0]
    text = "" if file.endswith(".ipynb") else (ROOT / file).read_text("utf8")
    where = f"{file}:{text.count(chr(10), 0, text.find(edit.old)) + 1}" if text else proof
    old, new = (" ".join(part.split()) for part in (edit.old, edit.new))
    return Tried(where, old, new, broken.noticed(row), round(broken.seconds, 2))


def _whole(row: Row, proof: str) -> Iterator[str]:
    """What is wrong with the proof itself."""
    if not proving_code(ROOT, proof):
        yield f"{proof}: there is no such proof."
        return
    for edit in row.breaks:
        if sentence := edit_problem(ROOT, proof, edit):
            yield sentence
    whole = run_whole(tuple(proving_code(ROOT, proof)), proof)
    if whole.ended != "holds":
        yield f"{proof}: run alone, it {whole.ended}."
    elif whole.other(row):
        yield f"{proof} says {whole.verdict(row.id)}, the ledger {row.verdict}."


def tried_by_rule(row: Row, drawn: generated.Drawn, known: dict[Any, str]) -> Tried:
    """What noticed a generated edit: the row's proofs, one after the other."""
    noticed, seconds = "", 0.0
    for proof in row.proof:
        if not noticed:
            broken = run(proof, drawn.edit)
            noticed, seconds = broken.noticed(row), seconds + broken.seconds
    tried = drawn.row(noticed, seconds)
    return tried if noticed else tried._replace(reason=known.get((drawn.file, tried.before, tried.after), ""))


# Which rows.


def chosen(rows: dict[str, Row], names: Iterable[str]) -> list[Row]:
    """The rows of these ids and chapters (a chapter by its number or its name); all without any."""
    names = list(names)
    fits = [row for row in rows.values() if row.id in names or any(map(row.chapter.startswith, names))]
    return fits if names else list(rows.values())


def sample(rows: dict[str, Row]) -> list[Row]:
    """Rows with a counter-proof: some, others at each commit, and those that differ from the last commit."""
    able = {name: row for name, row in rows.items() if row.breaks}
    commit = _git("rev-parse", "HEAD").strip()
    rng = random.Random(commit)
    changed = [row for row in able.values() if commit and row_changed(row)]
    others = [row for row in able.values() if row not in changed]
    return [*rng.sample(changed, len(changed)), *rng.sample(others, min(SAMPLE, len(others)))]


def row_changed(row: Row) -> bool:
    """Does its counter-proof, its proving code, or the file that this edits differ from the last commit?"""
    differ = set(_git("diff", "HEAD", "--name-only").split())
    if rows_now().get(row.id) != rows_then().get(row.id):
        return True
    files = {proof.split("::")[0] for proof in row.proof if not proof.endswith(".ipynb::" + row.id)}
    cells = [
        proof for proof in row.proof if proof.split("::")[0] in differ and proof.endswith(".ipynb::" + row.id)
    ]
    return bool((files | {edit.file for edit in row.breaks}) & differ) or any(map(_cells_changed, cells))


def _cells_changed(proof: str) -> bool:
    file, tag = proof.split("::")
    before = _git("show", f"HEAD:{file}")
    return not before or proving_cells(cells_of(before), tag) != proving_code(ROOT, proof)


@cache
def rows_now() -> dict[str, Any]:
    """The rows of the ledger as they are written in its files."""
    texts = {file.relative_to(ROOT).as_posix(): file.read_text("utf8") for file in ledger_files(BOOK)}
    return written(texts)


@cache
def rows_then() -> dict[str, Any]:
    """The same at the last commit."""
    names = re.findall(
        r"^book/(?:\d\S*/ledger|ledger/\S+)\.yml$", _git("ls-tree", "-r", "--name-only", "HEAD", "book"), re.M
    )
    return written({name: _git("show", f"HEAD:{name}") for name in names})


def written(texts: dict[str, str]) -> dict[str, Any]:
    return {raw["id"]: raw for name, text in texts.items() for raw in raw_rows(text, chapter_of_file(name))}


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else ""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--try", dest="attempt", action="store_true")
    parser.add_argument("--generated", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    for part in ("old", "new", "file"):
        parser.add_argument(f"--{part}", default="")
    asked = parser.parse_args(arguments)
    rows = load(BOOK)
    if asked.attempt:
        return attempt(rows[asked.names[0]], Edit(asked.old, asked.new, asked.file))
    due = sample(rows) if asked.sample else chosen(rows, asked.names)
    warm()
    if asked.generated:
        return by_rule([row for row in due if row.breaks], asked.generated, asked.seed)
    told: dict[str, float] = {}
    found, done, edits = [], [], list[Tried]()
    for row in due:
        if not row.breaks:
            done.append(row)
            continue
        if asked.sample and sum(told.values()) > SAMPLE_TIME:
            print(f"{len(due) - len(done)} more are left to `make proofs`.")
            break
        found += (fresh := problems(row, told, edits))
        print("\n".join(fresh) or f"{row.id} bites", flush=True)
        done.append(row)
    show_counts(done, {sentence.split(":")[0] for sentence in found}, told)
    table("proofs-sample" if asked.sample else "proofs", edits, ROOT)
    return 1 if found else 0


def by_rule(due: list[Row], count: int, seed: int) -> int:
    """Try generated edits of these rows; a survivor is reported, and is no failure."""
    known, edits, found = equivalent(), list[Tried](), list[str]()
    for row in due:
        sentences = [f"{row.id}: {one}" for proof in row.proof for one in _whole(row, proof)]
        drawn = [] if sentences else generated.draw(ROOT, row, count, seed)
        fresh = [tried_by_rule(row, one, known) for one in drawn]
        survivors = sum(one.survived for one in fresh)
        print("\n".join(sentences) or f"{row.id}: {len(fresh)} edits, {survivors} survived", flush=True)
        found, edits = found + sentences, edits + fresh
    table("proofs-generated", edits, ROOT)
    return 1 if found else 0


def attempt(row: Row, edit: Edit) -> int:
    for proof in row.proof:
        sentence = edit_problem(ROOT, proof, edit)
        broken = Run("") if sentence else run(proof, edit)
        print(f"{row.id}: {sentence or f'with the edit it {broken.ended}'} {broken.verdict(row.id)}")
    return 0


def show_counts(due: list[Row], bad: set[str], told: dict[str, float]) -> None:
    table: dict[str, Counter[str]] = {}
    for row in due:
        count = table.setdefault(row.chapter, Counter())
        count["rows"] += 1
        count["bites" if row.breaks and row.id not in bad else "fault" if row.breaks else "none"] += 1
    for chapter in sorted(table):
        count = table[chapter]
        print(
            f"{chapter}: {count['bites']} of {count['rows']} rows have a counter-proof that bites,"
            f" {count['fault']} one that does not, {count['none']} have none."
        )
    slow = sorted(told, key=told.__getitem__, reverse=True)[:3]
    print(f"{sum(told.values()):.0f} s; the slowest: " + ", ".join(f"{p} {told[p]:.0f} s" for p in slow))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
