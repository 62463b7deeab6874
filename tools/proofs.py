"""Do the counter-proofs bite? `make proofs`, or `python tools/proofs.py "04 transformer" E121 C073`.

Each row of the ledger may have `breaks`, an edit of what its proof computes. Here each proof is run alone, and must
hold; then once more with the edit, and must fail: by an assertion, not by an accident. A cell runs in a fresh namespace
behind the cells whose names it uses; a test runs under pytest. Nothing in the working tree is touched: an edit of the
package is given to the one process that imports it.

    --sample    some rows, other ones at each commit, and all that changed since: what `make test` runs
    --try       (with one id, --old, --new and perhaps --file) look whether an edit would bite, without storing it
"""

import argparse
import contextlib
import importlib.machinery
import io
import multiprocessing
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "book")]

from _ext.counterproofs import (  # noqa: E402  # pyright: ignore[reportMissingImports]
    cells_of,
    edit_problem,
    proving_cells,
    proving_code,
)
from _ext.ledger import Edit, Row, load, row_of  # noqa: E402  # pyright: ignore[reportMissingImports]

LEDGER = ROOT / "book" / "ledger"
LONGEST = 180  # seconds that one proof may take
SAMPLE, SAMPLE_TIME = 5, 45  # rows beside those that changed; seconds after which no further one is begun


class Run(NamedTuple):
    """How a proof ended: "holds", "fails" by an assertion, or another sentence; and what it printed."""

    ended: str
    said: str = ""

    def verdict(self, name: str) -> str:
        """What the proof says of a row by `ledger_row`; empty if it says nothing."""
        lines = (line.split(": ", 1) for line in self.said.splitlines() if line.startswith(f"{name}: "))
        return next((line[1] for line in lines), "")


# One proof, in a process of its own.


def run(proof: str, edit: Edit | None = None, longest: float = LONGEST) -> Run:
    """Run a proof, perhaps edited, in a process that knows nothing of the package yet."""
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(proof, edit, theirs))
    process.start()
    theirs.close()
    try:
        return ours.recv() if ours.poll(longest) else Run(f"takes more than {longest:g} seconds")
    except EOFError:
        return Run("ends its process")
    finally:
        process.kill()
        process.join()


def _child(proof: str, edit: Edit | None, answer: Any) -> None:
    os.environ["MPLBACKEND"] = "agg"
    os.chdir(ROOT)
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
        name, target = proof.split("::", 1)
        if edit and (edit.file or not name.endswith(".ipynb")):
            serve_edited(ROOT / (edit.file or name), edit)
        if name.endswith(".ipynb"):
            ended = run_cells(proving_code(ROOT, proof), edit)
        else:
            ended = run_test(name, target)
    answer.send(Run(ended, said.getvalue()))


def serve_edited(file: Path, edit: Edit) -> None:
    """Whoever imports `file` in this process gets its edited text; the file and what is compiled of it stay."""
    loader: Any = importlib.machinery.SourceFileLoader
    edited = file.read_text("utf8").replace(edit.old, edit.new).encode()
    read, look = loader.get_data, loader.path_stats

    def get_data(self: Any, path: str) -> bytes:
        return edited if Path(path) == file else read(self, path)

    def path_stats(self: Any, path: str) -> Any:
        if Path(path) == file:
            raise OSError("read it anew")
        return look(self, path)

    loader.get_data, loader.path_stats = get_data, path_stats


def run_cells(cells: list[str], edit: Edit | None = None) -> str:
    import builtins

    space: dict[str, Any] = {"__name__": "__main__"}
    setattr(builtins, "display", lambda *shown, **more: None)  # noqa: B010
    try:
        for cell in cells:
            text = cell.replace(edit.old, edit.new) if edit and not edit.file else cell
            exec(compile(text, "cell", "exec"), space)  # the project's own notebooks
    except AssertionError:
        return "fails"
    except BaseException as error:
        return f"stops with {type(error).__name__}: {error}"
    return "holds"


def run_test(name: str, target: str) -> str:
    import pytest

    watcher = _Watcher()
    plain = ("--assert=plain", "-p", "no:cacheprovider", "-p", "no:xdist")
    pytest.main([f"{ROOT / name}::{target}", *plain], plugins=[watcher])
    return watcher.ended()


class _Watcher:
    """Hears how tests end. A test that is skipped or expected to fail says nothing."""

    def __init__(self) -> None:
        self.passed = 0
        self.errors: list[BaseException] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.passed += report.when == "call" and report.passed and not hasattr(report, "wasxfail")

    def pytest_exception_interact(self, call: Any) -> None:
        self.errors.append(call.excinfo.value)

    def ended(self) -> str:
        import pytest

        failed = (AssertionError, pytest.fail.Exception)
        accidents = [error for error in self.errors if not isinstance(error, failed)]
        if len(self.errors) > len(accidents):
            return "fails"
        if accidents:
            return f"stops with {type(accidents[0]).__name__}: {accidents[0]}"
        return "holds" if self.passed else "runs no test"


# Rows.

_WHOLE: dict[tuple[str, ...], Run] = {}


def run_whole(code: tuple[str, ...], proof: str) -> Run:
    """Run a proof as it is; once for all rows that it proves."""
    if code not in _WHOLE:
        _WHOLE[code] = run(proof)
    return _WHOLE[code]


def problems(row: Row, told: dict[str, float] | None = None) -> list[str]:
    """What is wrong with a row's proofs and counter-proofs; `told` gets how long each took."""
    found = []
    bitten: set[Edit] = set()
    for proof in row.proof:
        start = time.monotonic()
        found += _whole(row, proof)
        bites = [edit for edit in row.breaks if not found and _bites(row, proof, edit)]
        bitten.update(bites)
        if row.breaks and not found and not bites:
            found.append(f"{proof}: no counter-proof bites; {_how(row, proof)}.")
        if told is not None:
            told[proof] = time.monotonic() - start
    found += [f"`{e.old}` -> `{e.new}` breaks no proof." for e in row.breaks if not found and e not in bitten]
    return [f"{row.id}: {sentence}" for sentence in found]


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
    elif whole.verdict(row.id) not in ("", "holds", row.verdict):
        yield f"{proof} says {whole.verdict(row.id)}, the ledger {row.verdict}."


def _bites(row: Row, proof: str, edit: Edit) -> bool:
    broken = run(proof, edit)
    other = broken.ended == "holds" and broken.verdict(row.id) not in ("", "holds", row.verdict)
    return broken.ended == "fails" or other


def _how(row: Row, proof: str) -> str:
    return "; ".join(f"with `{edit.new}` it {run(proof, edit).ended}" for edit in row.breaks)


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
    ledger = f"book/ledger/{row.kind}.yml"
    if ledger in differ and row != _then(ledger).get(row.id):
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
def _then(ledger: str) -> dict[str, Row]:
    """The rows of one file of the ledger as they were at the last commit."""
    kind = Path(ledger).stem
    return {raw["id"]: row_of(kind, raw) for raw in yaml.safe_load(_git("show", f"HEAD:{ledger}")) or []}


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else ""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--try", dest="attempt", action="store_true")
    for part in ("old", "new", "file"):
        parser.add_argument(f"--{part}", default="")
    asked = parser.parse_args(arguments)
    rows = load(LEDGER)
    if asked.attempt:
        return attempt(rows[asked.names[0]], Edit(asked.old, asked.new, asked.file))
    due = sample(rows) if asked.sample else chosen(rows, asked.names)
    warm()
    told: dict[str, float] = {}
    found, done = [], []
    for row in due:
        if not row.breaks:
            done.append(row)
            continue
        if asked.sample and sum(told.values()) > SAMPLE_TIME:
            print(f"{len(due) - len(done)} more are left to `make proofs`.")
            break
        found += (fresh := problems(row, told))
        print("\n".join(fresh) or f"{row.id} bites", flush=True)
        done.append(row)
    show_counts(done, {sentence.split(":")[0] for sentence in found}, told)
    return 1 if found else 0


def attempt(row: Row, edit: Edit) -> int:
    for proof in row.proof:
        sentence = edit_problem(ROOT, proof, edit)
        broken = Run("") if sentence else run(proof, edit)
        print(f"{row.id}: {sentence or f'with the edit it {broken.ended}'} {broken.verdict(row.id)}")
    return 0


def warm() -> None:
    """Import what is slow and not edited once; the processes of the proofs inherit it."""
    for name in ("numpy", "torch", "pytest"):
        __import__(name)


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
