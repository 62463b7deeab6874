"""Single edits of the mathematics that a test must notice: `make mutants`, or `python tools/mutants.py --sample 60`.

A mutant is one file with one edit: a sign, a factor, an order, an axis, a comparison, an argument left out
(`mutant_rules.py`). The tests that import the file are run on a copy with the edit; a mutant survives if they all
pass. Those that compute the same (equivalent mutants) are listed with a reason in `equivalent_mutants.yml`. All are
written to `_build/edits/mutants.jsonl`; the survivors and the slowest are printed.

    python tools/mutants.py --sample 60 --seed 1               60 of all
    python tools/mutants.py attnlib/reference/ops.py           all of a file
"""

import argparse
import ast
import functools
import random
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from mutant_rules import edits, is_mathematics  # noqa: E402
from trying import Copy, copy_of, first_failure, warm  # noqa: E402

from attnlib import edit_table  # noqa: E402
from attnlib.edit_table import Tried, counts, table  # noqa: E402
from attnlib.editing import Place, Source  # noqa: E402

ROOMS = (
    "attnlib/reference",
    "attnlib/nn",
    "attnlib/interpret",
    "attnlib/metrics",
    "attnlib/models",
    "attnlib/data/bpe",
)
ALONE = ("attnlib/decode.py", "attnlib/data/tasks.py", "attnlib/data/pairs.py")
EQUIVALENT = ROOT / "tools" / "equivalent_mutants.yml"
SLOW = {
    "test_counter_proofs",
    "test_explorables",
    "test_generated",
    "test_wrong_calls",
    "test_works_under",
    "test_api_pages",
    "test_bad_input",
    "test_exercises_grade",
    "test_fit",
    "test_train_command",
}


class Mutant(NamedTuple):
    """One edit of one file."""

    file: str
    source: Source
    place: Place
    new: ast.AST

    def edited(self) -> str:
        """The text of the file with the edit."""
        return self.source.written(self.place, self.new).applied(self.source.text)

    def row(self, noticed: str = "", seconds: float = 0.0) -> Tried:
        return edit_table.tried(self.file, self.place, self.new, noticed, seconds)


def files() -> list[str]:
    """The files of the mathematics."""
    inside = [path for room in ROOMS for path in sorted((ROOT / room).glob("*.py"))]
    return [str(path.relative_to(ROOT)) for path in inside if path.stem != "__init__"] + list(ALONE)


def mutants_of(file: str) -> Iterator[Mutant]:
    """All edits of a file."""
    source = Source((ROOT / file).read_text(encoding="utf-8"))
    return (Mutant(file, source, *edit) for edit in edits(source.places(is_mathematics)))


def tests_of(file: str) -> list[str]:
    """The test files of the module's name, those that import it, and those of the modules that import it.

    A module without any of these gets the tests of the modules that import it. Slow tests of everything are left out.
    """
    stem, users = Path(file).stem, importers(file, "attnlib")
    named = {f"tests/test_{one}.py" for one in (stem, *(Path(user).stem for user in users))}
    named = {test for test in named | set(importers(file, "tests")) if _is_quick(test)}
    if not named:
        named = {test for user in users for test in tests_of(user)}
    return sorted(named, key=lambda test: (Path(test).stem != f"test_{stem}", test))


def _is_quick(test: str) -> bool:
    return (ROOT / test).is_file() and Path(test).stem not in SLOW


def importers(file: str, room: str) -> list[str]:
    """The files of a folder, at any depth, that import the module."""
    module = file.removesuffix(".py").replace("/", ".")
    package, _, stem = module.rpartition(".")
    wanted = re.compile(rf"{re.escape(module)}\b|from {re.escape(package)} import [^\n]*\b{stem}\b")
    pattern = "test_*.py" if room == "tests" else "*.py"
    return [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / room).rglob(pattern))
        if path.stem != "__init__"
        and str(path.relative_to(ROOT)) != file
        and wanted.search(path.read_text(encoding="utf-8"))
    ]


def noticed(file: str) -> str:
    """In a process on the copy: the first test of the file that fails, empty if all pass."""
    own, *others = tests_of(file)  # the others are not collected if the file's own tests fail
    chosen = ["-m", "not training", "--doctest-modules"]
    return first_failure([*chosen, file, own]) or (first_failure([*chosen[:2], *others]) if others else "")


def run_tests(file: str, copy: Copy) -> tuple[str, float]:
    """The test that fails on the copy as it is, and the seconds of the run."""
    ended = copy.run(functools.partial(noticed, file))
    return ended.how or ended.value, ended.seconds


def tried(mutant: Mutant, copy: Copy, known: Mapping[Any, str]) -> Tried:
    """The test that noticed the edit, and its seconds."""
    with copy.edited(mutant.file, mutant.edited()):
        row = mutant.row(*run_tests(mutant.file, copy))
    return row._replace(reason="" if row.noticed else known.get((mutant.file, row.before, row.after), ""))


def equivalent() -> dict[tuple[str, str, str], str]:
    """The reasons why an edit computes the same, by file and by the line before and after."""
    rows = yaml.safe_load(EQUIVALENT.read_text(encoding="utf-8")) or [] if EQUIVALENT.is_file() else []
    return {(row["file"], row["old"], row["new"]): row["reason"] for row in rows}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", help="files to edit; all of the mathematics if none is named")
    parser.add_argument("--sample", type=int, help="so many of all, drawn with the seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--least", type=float, default=0.98, help="the share that must be noticed")
    asked = parser.parse_args()
    every = [mutant for file in asked.files or files() for mutant in mutants_of(file)]
    drawn = random.Random(asked.seed).sample(every, min(asked.sample or len(every), len(every)))
    warm()
    copy, known, rows = copy_of(ROOT), equivalent(), list[Tried]()
    for file in sorted({mutant.file for mutant in drawn}):
        if test := run_tests(file, copy)[0]:
            sys.exit(f"mutants: the tests of {file} must pass without an edit; got {test}.")
    for mutant in drawn:
        rows.append(tried(mutant, copy, known))
        if len(rows) % 25 == 0:
            print(f"{len(rows)} of {len(drawn)}: {counts(rows)}", flush=True)
    table("mutants", rows, ROOT)
    killed, same = sum(bool(row.noticed) for row in rows), sum(bool(row.reason) for row in rows)
    share = killed / max(len(rows) - same, 1)
    print(f"{share:.1%} noticed of {len(rows)} drawn from {len(every)}")
    return 0 if share >= asked.least else 1


if __name__ == "__main__":
    sys.exit(main())
