"""Each counter-proof edits what is computed, and its proof fails under it: a sample here, all by `make proofs`."""

import doctest
import json
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "book"))
sys.path.insert(0, str(ROOT / "tools"))

import generated  # noqa: E402
import proofs  # noqa: E402
from _ext.counterproofs import edit_problem, proving_code, text_problem  # noqa: E402
from _ext.ledger import Edit, LedgerError, Row, load, row_of  # noqa: E402

ROWS = load(ROOT / "book")
CHECKED = sorted((ROOT / "book").glob("*/checked*.ipynb"))


def test_every_counter_proof_edits_what_is_computed() -> None:
    found = [
        f"{row.id}: {sentence}"
        for row in ROWS.values()
        for proof in row.proof
        for edit in row.breaks
        if (sentence := edit_problem(ROOT, proof, edit))
    ]
    assert not found, "\n".join(found)


def test_a_sample_of_the_counter_proofs_bites() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "proofs.py", "--sample"], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "bites" in done.stdout


@pytest.mark.parametrize("path", CHECKED, ids=lambda path: path.parent.name + "/" + path.stem)
def test_each_claim_is_reached_and_its_verdict_is_the_ledgers(path: Path) -> None:
    """Read in the stored outputs, which the notebooks' own run compares."""
    name = path.relative_to(ROOT).as_posix()
    due = {row.id for row in ROWS.values() for proof in row.proof if row.verdict and proof.startswith(name)}
    said: dict[str, str] = {}
    for cell in nbformat.read(path, as_version=4).cells:
        outputs = cell.get("outputs", [])
        lines = [line for output in outputs for line in output.get("text", "").splitlines()]
        pairs = [line.split(": ") for line in lines if line[:1] == "C" and line[1:4].isdigit()]
        tags = cell.metadata.get("tags", [])
        said |= {row: verdict for row, verdict in pairs if row in tags}
    assert said == {row: ROWS[row].verdict for row in due}


@pytest.mark.parametrize("path", CHECKED, ids=lambda path: path.parent.name + "/" + path.stem)
def test_a_checked_cell_stands_on_no_other_proof(path: Path) -> None:
    """It runs behind the imports, and perhaps a cell of small helpers."""
    name = path.relative_to(ROOT).as_posix()
    proved = {proof for row in ROWS.values() for proof in row.proof if proof.startswith(name)}
    judging = {proof: sum("ledger_row(" in cell for cell in proving_code(ROOT, proof)) for proof in proved}
    assert {proof for proof, cells in judging.items() if cells != 1} == set()


# Tests of the machinery itself, on proofs made up for it.

CELLS = {
    "setup": "import numpy as np",
    "elsewhere": "y = np.ones(3)\nz = 5",
    "C001": "x = y.sum() + 1\nprinted = [4, 4]\nassert x == printed[0]\nprint('C001: FALSE')",
    "C002": "raise SystemExit(0)",
    "C004": "w = y.sum() * 2\nassert w > 1",
    "C003": "limit = 3\nwrong = 2\nassert wrong < limit\nassert np.allclose(y.sum(), limit, rtol=1e-3)",
}
TESTS = """
import pytest
from attnlib.reference.ops import softmax

def test_sum(): assert abs(softmax([[1.0, 2.0]]).sum() - 1) < 1e-9
@pytest.mark.skip
def test_skipped(): assert 0
@pytest.mark.xfail
def test_expected(): assert 0
@pytest.mark.parametrize("i", range(3))
def test_many(i):
    open(f"case-{i}", "w").close()
    if i == 0: raise ValueError("an accident")
    assert i > 5
"""


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    cells = [
        {"cell_type": "code", "metadata": {"tags": [tag]}, "source": source} for tag, source in CELLS.items()
    ]
    (tmp_path / "nb.ipynb").write_text(json.dumps({"cells": cells}))
    (tmp_path / "test_a.py").write_text(TESTS)
    (tmp_path / "attnlib" / "reference").mkdir(parents=True)
    for name in ("reference/ops.py", "testing.py"):
        (tmp_path / "attnlib" / name).write_text((ROOT / "attnlib" / name).read_text("utf8"))
    monkeypatch.setattr(proofs, "ROOT", tmp_path)
    return tmp_path


def test_a_proof_ends_with_its_first_assertion_that_fails_and_not_with_an_accident(planted: Path) -> None:
    found = proofs.run("test_a.py::test_many")
    assert (found.ended, found.first) == ("fails", "test_a.py::test_many[0]")
    assert [file.name for file in sorted(proofs.copy_of(planted).place.glob("case-*"))] == [
        "case-0",
        "case-1",
    ]


def row(name: str, proof: str, *edits: Edit, verdict: str = "FALSE") -> Row:
    return Row(name, "claims", "01 x", "t", verdict=verdict, proof=(proof,), breaks=edits)


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        (Edit("y.sum() + 1", "y.sum() - 1"), ""),
        (Edit("np.ones(3)", "np.ones(4)"), ""),
        (Edit("FALSE", "TRUE"), ""),
        (Edit("y.sum() + 1", "1 + y.sum()"), "no counter-proof bites; with `1 + y.sum()` it holds"),
        (Edit("y.sum() + 1", "q.sum() + 1"), "it stops with NameError"),
        (Edit("z = 5", "z = 6"), "no counter-proof bites"),
        (Edit("[4, 4]", "[5, 4]"), "touches what compares"),
        (Edit("x == printed[0]", "x != printed[0]"), "touches what compares"),
        (Edit("y.sum() + 1", "y.sum() +"), "is no Python"),
        (Edit("gone", "here"), "stands in 0 of the cells"),
    ],
    ids=lambda value: value.new if isinstance(value, Edit) else "",
)
def test_a_planted_counter_proof_is_judged_rightly(planted: Path, edit: Edit, sentence: str) -> None:
    found = proofs.problems(row("C001", "nb.ipynb::C001", edit))
    assert bool(found) == bool(sentence) and sentence in " ".join(found)


@pytest.mark.parametrize(
    ("proof", "sentence"),
    [
        ("nb.ipynb::C002", "stops with SystemExit"),
        ("nb.ipynb::C009", "there is no such proof"),
        ("test_a.py::test_skipped", "runs no test"),
        ("test_a.py::test_expected", "runs no test"),
    ],
)
def test_what_does_not_run_is_no_proof(planted: Path, proof: str, sentence: str) -> None:
    assert sentence in " ".join(proofs.problems(row("C002", proof)))


def test_a_verdict_that_is_not_the_ledgers_is_seen(planted: Path) -> None:
    found = proofs.problems(row("C001", "nb.ipynb::C001", verdict="TRUE"))
    assert found == ["C001: nb.ipynb::C001 says FALSE, the ledger TRUE."]


@pytest.mark.parametrize(
    ("old", "new", "refused"),
    [
        ("limit = 3", "limit = 1", "touches what compares"),
        ("rtol=1e-3", "rtol=1e-9", "touches what compares"),
        ("wrong = 2", "wrong = 2\nassert 0", "adds an assert"),
        ("wrong = 2", "wrong = 2  # two", "changes nothing"),
    ],
)
def test_an_edit_of_what_judges_is_refused(old: str, new: str, refused: str) -> None:
    assert refused in text_problem(CELLS["C003"], Edit(old, new), CELLS["C003"])


def test_an_edit_of_the_package_reaches_the_process_that_imports_it_and_no_file() -> None:
    file = ROOT / "attnlib" / "reference" / "norm.py"
    before = file.read_bytes()
    asked = ["S082", "--old", "centred = X - X.mean", "--new", "centred = X + X.mean"]
    done = subprocess.run(
        [sys.executable, "tools/proofs.py", "--try", *asked, "--file", "attnlib/reference/norm.py"],
        capture_output=True, text=True, cwd=ROOT,
    )  # fmt: skip
    assert "with the edit it fails" in done.stdout, done.stdout + done.stderr
    assert file.read_bytes() == before


def test_an_edit_reaches_the_programs_that_a_proof_starts(planted: Path) -> None:
    ops = planted / "attnlib" / "reference" / "ops.py"
    ops.write_text("WORD = 'here'\n")
    (planted / "test_b.py").write_text(
        "import subprocess, sys\n\ndef test_b():\n"
        "    asked = [sys.executable, 'attnlib/reference/ops.py']\n"
        "    assert subprocess.run(asked).returncode == 0\n"
    )
    edit = Edit("WORD = 'here'", "raise SystemExit(1)", "attnlib/reference/ops.py")
    assert [proofs.run("test_b.py::test_b", one).ended for one in (None, edit)] == ["holds", "fails"]
    assert ops.read_text() == "WORD = 'here'\n"


# Generated edits of a row.


def test_generated_edits_stand_near_the_rows_own_and_touch_nothing_that_compares(planted: Path) -> None:
    cell = row("C001", "nb.ipynb::C001", Edit("y.sum() + 1", "y.sum() - 1"))
    drawn = generated.draw(planted, cell, 9, seed=0)
    rows = {one.row("", 0.0)[:3] for one in drawn}
    assert rows == {
        ("nb.ipynb::C001:1", "x = y.sum() + 1", f"x = {new}")
        for new in ("y.sum() - 1", "y.sum()", "y.mean() + 1", "y.sum() + 2")
    }
    assert [one.edit for one in drawn] == [one.edit for one in generated.draw(planted, cell, 9, seed=0)]
    assert not any(edit_problem(planted, one.proof, one.edit) for one in drawn)


def test_what_leads_to_an_assertion_is_found() -> None:
    found = doctest.testmod(generated)
    assert found.attempted and not found.failed


def test_generated_edits_of_the_package_stay_in_the_function_of_the_rows_own(planted: Path) -> None:
    file = "attnlib/reference/two.py"
    (planted / file).write_text("def f(x):\n    return x + 1\n\n\ndef g(x):\n    return -x\n")
    own = row("C001", "test_a.py::test_sum", Edit("x + 1", "x - 1", file))
    assert {one.row("", 0.0).place for one in generated.draw(planted, own, 9, seed=0)} == {f"{file}:2"}


def test_a_generated_edit_that_a_proof_lets_pass_is_a_survivor(planted: Path) -> None:
    """But one that is known to compute the same."""
    for name, old, noticed in [
        ("C001", "y.sum() + 1", "assertion in the cell"),
        ("C004", "y.sum() * 2", ""),
    ]:
        own = row(name, f"nb.ipynb::{name}", Edit(old, "0"))
        one = generated.draw(planted, own, 1, seed=0)[0]
        tried = proofs.tried_by_rule(own, one, {})
        assert (tried.noticed, tried.survived) == (noticed, not noticed)
    known = {(one.file, tried.before, tried.after): "a reason"}
    assert not proofs.tried_by_rule(own, one, known).survived


def test_the_schema_of_an_edit() -> None:
    good = {"id": "E001", "chapter": "01 x", "text": "t", "name": "n", "math": "m", "numbers": {"D1": ["1"]}}
    proof = {"proof": "tests/test_a.py::test_b"}
    kept = row_of(
        "equations", good | proof | {"breaks": {"old": "a", "new": "b", "file": "attnlib/nn/norm.py"}}
    )
    assert kept.breaks == (Edit("a", "b", "attnlib/nn/norm.py"),)
    with pytest.raises(LedgerError, match="breaks is"):
        row_of("equations", good | proof | {"breaks": {"old": "a"}})
    with pytest.raises(LedgerError, match="edits a file of attnlib"):
        row_of("equations", good | proof | {"breaks": {"old": "a", "new": "b", "file": "tests/x.py"}})
    with pytest.raises(LedgerError, match="for a row with a proof"):
        row_of("equations", good | {"breaks": {"old": "a", "new": "b"}})
