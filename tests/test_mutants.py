"""The tool that edits the mathematics: what it edits, what it leaves alone, and that a test's failing is noticed."""

import compileall
import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from attnlib.edit_table import Tried, table
from attnlib.editing import Source, shown

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import mutants  # noqa: E402
import trying  # noqa: E402
from mutant_rules import edits, is_mathematics  # noqa: E402

TEXT = '''
def f(X: Array, n: int = 2):
    """Adds 1 + 1."""
    if n < 1:
        raise ValueError(f"f: n must be {1 + 0}.")
    rules.must(n > 1 and len(list(zip(X, X, strict=True))) < 3, "f", "X must be short.")
    return X.sum(axis=-1) / (n * 3), n
'''


def after(text: str) -> set[str]:
    return {shown(*one)[1] for one in edits(Source(text).places(is_mathematics))}


def test_signs_orders_axes_and_arguments_are_edited():
    assert after(TEXT) >= {
        "return (X.mean(axis=-1) / (n * 3), n)",
        "return (X.sum(axis=-2) / (n * 3), n)",
        "return (X.sum(axis=-1) * (n * 3), n)",
        "return (X.sum(axis=-1) / (n / 3), n)",
        "return (n, X.sum(axis=-1) / (n * 3))",
    }


def test_rules_messages_and_docstrings_stay():
    assert all(line.startswith("return") for line in after(TEXT))


def test_a_rule_stays_the_rule_of_its_place():
    text = (
        "def g(a, b):\n    if a.reshape(-1, 2) ** 2 < -b:\n        return f(mask=a, x=1), f(x=-1, mask=a)\n"
    )
    assert [shown(*one)[1] for one in edits(Source(text).places(is_mathematics))] == [
        "if not a.reshape(-1, 2) ** 2 < -b:",
        "if a.reshape(-1, 2) ** 2 <= -b:",
        "if a.reshape(-1, 2) * 2 < -b:",
        "if a.reshape(-1, 3) ** 2 < -b:",
        "if a.reshape(-1, 2) ** 3 < -b:",
        "if a.reshape(-1, 2) ** 2 < b:",
        "return (f(x=-1, mask=a), f(mask=a, x=1))",
        "return (f(mask=a, x=2), f(x=-1, mask=a))",
        "return (f(mask=a, x=1), f(x=-1))",
        "return (f(mask=a, x=1), f(x=-2, mask=a))",
    ]


def test_every_file_of_the_mathematics_has_edits_and_tests():
    for file in ("attnlib/reference/ops.py", "attnlib/nn/masks.py", "attnlib/decode.py"):
        assert len(list(mutants.mutants_of(file))) > 10
    assert all(mutants.tests_of(file) for file in mutants.files())


def test_each_equivalent_edit_has_a_reason_and_is_still_made():
    made = {}
    for file in {file for file, _, _ in mutants.equivalent()}:
        rows = [one.row() for one in mutants.mutants_of(file)]
        made[file] = {(row.before, row.after) for row in rows}
    for (file, old, new), reason in mutants.equivalent().items():
        assert reason and (old, new) in made[file]


# The process and the copy in which an edit is tried


@pytest.fixture
def copy(tmp_path):
    """A copy of a small tree, whose module was compiled this very second."""
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "numbers_of_mine.py").write_text("X = 1\n")
    compileall.compile_dir(tmp_path / "tree", quiet=1)
    return trying.Copy(tmp_path / "tree")


STARTED = [sys.executable, "-c", "import numbers_of_mine; print(numbers_of_mine.X)"]


def seen() -> tuple[int, str]:
    """What this process imports, and what a program that it starts does."""
    module = __import__("numbers_of_mine")
    return module.X, subprocess.run(STARTED, capture_output=True, text=True).stdout.strip()


def test_no_compiled_form_hides_an_edit_of_the_same_length(copy):
    assert [*copy.place.rglob("*.pyc")], "what is compiled is copied, for the files that are not edited"
    file = copy.place / "numbers_of_mine.py"
    second = file.stat()
    for text, wanted in [("X = 2\n", (2, "2")), ("X = 3\n", (3, "3"))]:
        with copy.edited(file.name, text):
            os.utime(file, (second.st_atime, second.st_mtime))
            assert copy.run(seen).value == wanted
    os.utime(file, (second.st_atime, second.st_mtime))
    assert copy.run(seen).value == (1, "1")
    assert not [*copy.place.rglob("*.pyc")], "no process wrote one"


def endless() -> None:
    subprocess.run([sys.executable, "-c", "import time; time.sleep(60)", "numbers of mine"])


def test_what_does_not_end_is_ended_with_the_programs_that_it_started(copy):
    ended = copy.run(endless, limit=0.3)
    assert (ended.value, ended.how) == (None, "time limit") and 0.3 <= ended.seconds < 30
    assert copy.run(functools.partial(os._exit, 1)).how == "ends its process"
    if (processes := Path("/proc")).is_dir():
        lines = [one / "cmdline" for one in processes.glob("[0-9]*")]
        assert not any(b"numbers of mine" in one.read_bytes() for one in lines if one.is_file())


def test_the_first_test_that_fails_is_what_noticed(copy):
    test = copy.place / "test_x.py"
    test.write_text("from numbers_of_mine import X\n\ndef test_a(): pass\n\ndef test_b(): assert X == 1\n")
    look = functools.partial(trying.first_failure, [test.name])
    assert copy.run(look).value == ""
    with copy.edited("numbers_of_mine.py", "X = 2\n"):
        assert copy.run(look).value == "test_x.py::test_b"
    with copy.edited("numbers_of_mine.py", "Y = 2\n"):
        assert copy.run(look).value == "test_x.py"


def test_the_table_keeps_all_rows_and_prints_what_matters(tmp_path, capsys):
    lived, same = Tried("a.py:1", "x", "y", "", 1.0), Tried("a.py:2", "x", "z", "", 1.0, "a reason")
    killed = [Tried(f"b.py:{i}", "x", "y", "test_b", float(i)) for i in range(30)]
    table("few", [lived, same, *killed], tmp_path)
    printed = capsys.readouterr().out.splitlines()
    stored = (tmp_path / "_build" / "edits" / "few.jsonl").read_text().splitlines()
    assert [Tried(**json.loads(line)) for line in stored] == [lived, same, *killed]
    assert printed[0].startswith("32 edits: 30 noticed, 1 compute the same, 1 survived")
    assert len(printed) < 18 and "  a.py:1: x -> y |  | 1.00" in printed
    assert "  b.py:29: x -> y | test_b | 29.00" in printed


ASKED = """
import sys; sys.path.insert(0, "tools")
import mutants, trying
trying.warm()
copy = trying.copy_of(mutants.ROOT)
mutant = next(mutants.mutants_of("attnlib/reference/positional.py"))
print(mutants.tried(mutant, copy, {}).noticed)
print(mutants.run_tests(mutant.file, copy)[0] or "nothing")
"""


@pytest.mark.training
def test_an_edit_is_noticed_and_no_edit_is_not():
    asked = [sys.executable, "-c", ASKED]
    said = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, timeout=300)
    noticed, nothing = said.stdout.split() or ["", said.stderr]
    assert "positional.py::" in noticed and nothing == "nothing"
