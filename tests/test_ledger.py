"""The ledger: its rows keep the schema, and each place and each proof of a finished chapter leads somewhere."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "book"))

from _ext.ledger import LedgerError, Row, counts, load, load_syllabus, row_of  # noqa: E402
from _ext.proofs import asserts_something, problems, proof_problem, where_problem  # noqa: E402

LEDGER = ROOT / "book" / "ledger"
SITE = ROOT / "_build" / "html"
ROWS = load(LEDGER)
SYLLABUS = load_syllabus(LEDGER)
GOOD = {
    "id": "C001", "chapter": "01 foundations", "text": "t", "sources": ["D2 §7"], "verdict": "FALSE", "correct": "c",
    "at": "D2 §7 > Step 1 p1 #91e2", "evidence": "computed",
    "where": "01-foundations/1-x#c001", "proof": "book/01-foundations/1-x.ipynb::C001",
}  # fmt: skip


def test_chapter_1_has_the_rows_that_belong_to_it() -> None:
    due = counts({"01 foundations": SYLLABUS["01 foundations"]}, done=ROWS.__contains__)
    assert due == {"01 foundations": {"systems": (28, 28), "equations": (52, 52), "claims": (78, 78)}}
    assert len(set(SYLLABUS["01 foundations"])) == len(SYLLABUS["01 foundations"])


def test_each_chapter_has_the_rows_that_it_owes() -> None:
    has = {chapter: sorted(row.id for row in ROWS.values() if row.chapter == chapter) for chapter in SYLLABUS}
    assert has == {chapter: sorted(ids) for chapter, ids in SYLLABUS.items()}


def test_rows_say_what_they_say_in_few_words() -> None:
    long = [row.id for row in ROWS.values() if len(row.text.split()) > 60 or len(row.correct.split()) > 60]
    assert not long
    assert all(row.text and row.sources or row.numbers for row in ROWS.values())


def test_the_introduction_counts_what_the_ledger_holds() -> None:
    cells = json.loads((ROOT / "book" / "intro.ipynb").read_text(encoding="utf-8"))["cells"]
    prose = " ".join(" ".join("".join(cell["source"]) for cell in cells).split())
    verdicts = [row.verdict for row in ROWS.values() if row.verdict]
    false, imprecise = (verdicts.count(verdict) for verdict in ("FALSE", "IMPRECISE"))
    told = f"the {len(verdicts)} statements that these chapters check, {false} turned out false"
    told += f" and {imprecise} imprecise"
    assert told in prose, told


@pytest.mark.built
def test_every_place_and_every_proof_of_the_finished_chapters_leads_somewhere() -> None:
    if not SITE.exists():
        pytest.skip("the book is not built: run `make book`, then this test again.")
    due = [row for ids in SYLLABUS.values() for row in ids]
    found = [sentence for row in due for sentence in problems(ROWS[row], ROOT, SITE)]
    extra = [s for row in ROWS.values() if row.id not in due and row.where for s in problems(row, ROOT, SITE)]
    assert not found + extra, "\n".join(found + extra)


# Tests of the checks themselves: each plants a fault and sees it caught.

BROKEN = {
    "verdict": ({"verdict": "WRONG"}, "verdict is one of"),
    "id": ({"id": "C1"}, "an id is C and three digits"),
    "source": ({"sources": ["§7"]}, "a source is like"),
    "no source": ({"sources": []}, "at least one source"),
    "where": ({"where": "01-foundations/1-x.html"}, "where is page#anchor"),
    "proof": ({"proof": "trust me"}, "proof is file::tag"),
    "chapter": ({"chapter": "foundations"}, "chapter is like"),
    "place": ({"at": "D2 §7"}, "at is a place"),
    "place elsewhere": ({"at": "D1 §7 p1 #91e2"}, "in each document of sources"),
    "evidence": ({"evidence": "obvious"}, "evidence is one or more of"),
    "no evidence": ({"evidence": []}, "evidence is one or more of"),
    "misspelt": ({"prove": "x"}, "unknown field prove"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_row_that_breaks_the_schema_is_refused_with_a_sentence(fault: str) -> None:
    change, sentence = BROKEN[fault]
    with pytest.raises(LedgerError, match=sentence):
        row_of("claims", GOOD | change)


def test_a_missing_field_and_an_id_used_twice_are_refused(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="missing: correct"):
        row_of("claims", {key: value for key, value in GOOD.items() if key != "correct"})
    (tmp_path / "claims.yml").write_text(json.dumps([GOOD, GOOD]))
    with pytest.raises(LedgerError, match="occurs twice"):
        load(tmp_path)


@pytest.mark.parametrize(
    "code",
    [
        "assert abs(x) < 1",
        "np.testing.assert_allclose(P.sum(-1), 1)",
        "assert_close(ours, theirs, 'float64')",
        "with pytest.raises(ValueError):\n    f(1)",
        "%pip list\nassert x == 1",
        "ledger_row('C001', holds=x > 1)",
    ],
)
def test_code_that_could_fail_counts_as_a_proof(code: str) -> None:
    assert asserts_something(code)


@pytest.mark.parametrize(
    "code",
    [
        "",
        "print(1)",
        "assert True",
        "assert 1 == 1",
        "assert x == x",
        "assert 'said'",
        "assert_close(1, 1)",
        "ledger_row('C001', holds=True)",
        "# assert x",
    ],
)
def test_code_that_cannot_fail_does_not(code: str) -> None:
    assert not asserts_something(code)


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """A site with one page, a notebook with one proof and one that asserts nothing, and a test file."""
    cells = [
        {"cell_type": "code", "metadata": {"tags": ["C001"]}, "source": ["x = 1\n", "assert x == 1"]},
        {"cell_type": "code", "metadata": {"tags": ["C002"]}, "source": "print(1)"},
    ]
    (tmp_path / "nb.ipynb").write_text(json.dumps({"cells": cells}))
    (tmp_path / "test_a.py").write_text(
        "def test_b(x):\n    assert x\n\ndef test_c():\n    pass\n\ndef helper(x):\n    assert x\n"
    )
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "p.html").write_text('<p id="c001">')
    return tmp_path


PROOFS = {
    "nb.ipynb::C001": "",
    "nb.ipynb::C002": "asserts nothing",
    "nb.ipynb::C003": "no code cell with the tag",
    "gone.ipynb::C001": "does not exist",
    "test_a.py::test_b": "",
    "test_a.py::test_b[case-1]": "",
    "test_a.py::test_c": "asserts nothing",
    "test_a.py::test_gone": "has no test",
    "test_a.py::helper": "does not collect it",
}


@pytest.mark.parametrize("proof", PROOFS)
def test_a_planted_proof_is_judged_rightly(proof: str, planted: Path) -> None:
    problem = proof_problem(planted, proof)
    assert PROOFS[proof] in problem and bool(PROOFS[proof]) == bool(problem)


def test_a_planted_dead_place_is_caught(planted: Path) -> None:
    assert where_problem(planted, "p#c001") == ""
    assert "no anchor c002" in where_problem(planted, "p#c002")
    assert "not in the built book" in where_problem(planted, "q#c001")


def test_a_row_without_place_or_proof_is_not_done(planted: Path) -> None:
    row = Row("C001", "claims", "01 foundations", "t", where=("p#c001",), proof=("nb.ipynb::C001",))
    assert problems(row, planted, planted) == []
    bare = problems(Row("C002", "claims", "01 foundations", "t"), planted, planted)
    assert bare == ["C002: it is taught nowhere (no where).", "C002: nothing proves it (no proof)."]
