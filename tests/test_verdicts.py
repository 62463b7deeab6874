"""Claims that were read again without their verdict: the ledger follows the readers, or says why it does not."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "book"), str(ROOT / "tools")]

import verdicts  # noqa: E402
from _ext.ledger import VERDICTS, load  # noqa: E402

ROWS = load(ROOT / "book")
READINGS = verdicts.readings()


def test_each_row_has_the_verdict_of_its_readers_or_a_reason() -> None:
    found = [verdicts.unexplained(one, ROWS[one["row"]].verdict) for one in READINGS]
    assert not any(found), "\n".join(filter(None, found))


def test_every_claim_of_these_chapters_that_is_not_true_was_read_again() -> None:
    read = {one["row"] for one in READINGS}
    assert not {row.id for row in ROWS.values() if row.verdict not in ("", "TRUE")} - read


def test_no_reason_is_left_where_all_agree() -> None:
    needless = [
        one["row"]
        for one in READINGS
        if "decided" in one and set(verdicts.readers(one)) == {ROWS[one["row"]].verdict}
    ]
    assert not needless


def test_readings_are_whole() -> None:
    assert len({one["row"] for one in READINGS}) == len(READINGS)
    for one in READINGS:
        assert one["ledger"] in VERDICTS
        assert set(verdicts.readers(one)) <= set(VERDICTS)
        assert all(one[reader]["why"] for reader in ("first", "second") if reader in one)


FAULTS = {
    "one reader, another verdict": ({"first": {"verdict": "TRUE"}}, "FALSE", True),
    "two readers who agree, another verdict": (
        {"first": {"verdict": "SLIP"}, "second": {"verdict": "TRUE, incomplete"}}, "IMPRECISE", True
    ),
    "two readers who differ": ({"first": {"verdict": "TRUE"}, "second": {"verdict": "FALSE"}}, "TRUE", True),
    "two readers who differ, decided": (
        {"first": {"verdict": "TRUE"}, "second": {"verdict": "FALSE"}, "decided": "So."}, "TRUE", False
    ),
    "a slip that is called incomplete": ({"first": {"verdict": "SLIP"}}, "INCOMPLETE", False),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_verdict_without_a_reason_is_found(fault: str) -> None:
    reading, verdict, found = FAULTS[fault]
    assert bool(verdicts.unexplained({"row": "C001"} | reading, verdict)) == found


def test_the_list_of_what_changed_names_each_row_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert verdicts.main() == 0
    printed = capsys.readouterr().out
    changed = [one["row"] for one in READINGS if one["ledger"] != ROWS[one["row"]].verdict]
    assert [line[:4] for line in printed.splitlines() if line[:1] == "C"] == changed
    assert f"{len(changed)} of {len(READINGS)} verdicts" in printed
