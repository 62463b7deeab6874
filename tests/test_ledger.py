"""The ledger: its rows keep the schema, and each place and each proof of a finished chapter leads somewhere."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "book"))

from _ext.ledger import (  # noqa: E402
    Derived,
    LedgerError,
    Row,
    chapter_of_file,
    counts,
    ledger_files,
    load,
    raw_rows,
    row_of,
)
from _ext.notebooks import notebooks  # noqa: E402
from _ext.proofs import asserts_something, problems, proof_problem, where_problem  # noqa: E402

BOOK = ROOT / "book"
SITE = ROOT / "_build" / "html"
ROWS = load(BOOK)
GOOD = {
    "id": "C001", "chapter": "01 foundations", "text": "t", "sources": ["D2 §7"], "verdict": "FALSE", "correct": "c",
    "at": "D2 §7 > Step 1 p1 #91e2", "evidence": "computed",
    "where": "01-foundations/1-x#c001", "proof": "book/01-foundations/1-x.ipynb::C001",
}  # fmt: skip


def test_chapter_1_has_the_rows_that_belong_to_it() -> None:
    found = counts(ROWS.values(), done=ROWS.__contains__)["01 foundations"]
    assert found == {"systems": (28, 28), "equations": (52, 52), "claims": (78, 78)}


def test_the_five_chapters_have_the_528_rows_that_they_owe() -> None:
    """None is lost when rows move from file to file."""
    written = [row for row in ROWS.values() if row.chapter < "06"]
    tally = {kind: sum(row.kind == kind for row in written) for kind in ("systems", "equations", "claims")}
    assert tally == {"systems": 114, "equations": 145, "claims": 269}, tally
    folders = {chapter_of_file(str(file)) for file in ledger_files(BOOK)} - {""}
    assert {row.chapter for row in written} <= folders


def test_a_row_writes_only_what_the_notebooks_do_not_say() -> None:
    derived = Derived(tuple(notebooks(BOOK)))
    rows = [raw for file in ledger_files(BOOK) for raw in raw_rows(file.read_text("utf8"))]
    said = {raw["id"]: keys for raw in rows if (keys := derived.superfluous(raw))}
    assert not said, f"the notebooks say this of these rows already, so take it out of the ledger: {said}"


def test_rows_say_what_they_say_in_few_words() -> None:
    long = [row.id for row in ROWS.values() if len(row.text.split()) > 60 or len(row.correct.split()) > 60]
    assert not long
    assert all(row.text and row.sources or row.numbers for row in ROWS.values())


def test_the_introduction_counts_what_the_ledger_holds() -> None:
    cells = json.loads((ROOT / "book" / "intro.ipynb").read_text(encoding="utf-8"))["cells"]
    prose = " ".join(" ".join("".join(cell["source"]) for cell in cells).split())
    verdicts = [row.verdict for row in ROWS.values() if row.verdict]
    false, imprecise, incomplete = map(verdicts.count, ("FALSE", "IMPRECISE", "INCOMPLETE"))
    told = f"the {len(verdicts)} statements that these chapters check, {false} turned out false"
    told += f", {imprecise} imprecise and {incomplete} true but incomplete"
    assert told in prose, told


@pytest.mark.built
def test_every_place_and_every_proof_of_the_finished_chapters_leads_somewhere() -> None:
    if not SITE.exists():
        pytest.skip("the book is not built: run `make book`, then this test again.")
    found = [sentence for row in ROWS.values() for sentence in problems(row, ROOT, SITE)]
    assert not found, "\n".join(found)


# What a row does not write, because the notebooks say it.


def markdown_and_proof(*anchors: str, proves: str = "") -> str:
    text = "# A page\n\n" + "\n".join(f'<a id="{anchor}"></a>' for anchor in anchors)
    cells = [{"cell_type": "markdown", "metadata": {}, "source": text}]
    cells += [{"cell_type": "code", "metadata": {"tags": [proves]}, "source": "assert x"}] if proves else []
    return json.dumps({"cells": cells, "metadata": {}})


@pytest.fixture
def small_book(tmp_path: Path) -> Path:
    """Two chapters: the row S001 is treated on two pages and checked, S002 only treated, twice."""
    pages = {
        "01-x/1-a": markdown_and_proof("s001", "s002", proves="S002"),
        "01-x/10-b": markdown_and_proof("s002", proves="S002"),
        "01-x/checked": markdown_and_proof("s001", proves="S001"),
        "02-y/1-c": markdown_and_proof("s001", proves="S001"),
    }
    for name, text in pages.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.ipynb").write_text(text)
    rows = [{"id": f"S00{i}", "name": "n", "text": "t", "sources": ["D2 §7"]} for i in (1, 2, 3)]
    rows[2]["where"] = "01-x/1-a#s001"
    (tmp_path / "01-x" / "ledger.yml").write_text(json.dumps(rows))
    return tmp_path


def test_where_and_proof_follow_from_the_notebooks_and_the_checked_one_wins(small_book: Path) -> None:
    rows = load(small_book)
    assert [row.where for row in rows.values()] == [
        ("01-x/checked#s001",), ("01-x/1-a#s002",), ("01-x/1-a#s001",)
    ]  # fmt: skip
    assert [row.proof for row in rows.values()] == [
        ("book/01-x/checked.ipynb::S001",), ("book/01-x/1-a.ipynb::S002",), ()
    ]  # fmt: skip
    assert {row.chapter for row in rows.values()} == {"01 x"}


def test_a_row_that_repeats_what_the_notebooks_say_is_found(small_book: Path) -> None:
    derived = Derived(tuple(notebooks(small_book)))
    said = {"id": "S001", "where": "01-x/checked#s001", "proof": ["book/01-x/checked.ipynb::S001"]}
    assert derived.superfluous(said) == ["where", "proof"]
    assert (
        derived.superfluous({"id": "S001", "where": "01-x/1-a#s001", "proof": "tests/test_a.py::test_b"})
        == []
    )


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
    (tmp_path / "ledger").mkdir()
    (tmp_path / "ledger" / "later.yml").write_text(json.dumps([GOOD, GOOD]))
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
