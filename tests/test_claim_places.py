"""Each claim says where the sentence stands that it judges, and there it stands."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import claim_places  # noqa: E402
import claim_texts  # noqa: E402
from claim_places import PlaceError, mark, problem, resolve, sentences  # noqa: E402

ROWS = claim_places.load(claim_places.BOOK).values()
CLAIMS = [row for row in ROWS if row.kind == "claims"]


def test_every_claim_leads_to_the_sentence_that_was_read() -> None:
    if not claim_places.DOCUMENTS.exists():
        pytest.skip(f"the documents are not at hand: {claim_places.DOCUMENTS} does not exist.")
    found = [f"{row.id}: {sentence}" for row in CLAIMS for sentence in map(problem, row.at) if sentence]
    assert not found, "\n".join(found)
    assert len(CLAIMS) > 150


def test_no_sentence_of_a_document_is_copied() -> None:
    if not claim_places.DOCUMENTS.exists():
        pytest.skip(f"the documents are not at hand: {claim_places.DOCUMENTS} does not exist.")
    said = {run for file in claim_places.DOCUMENTS.glob("*.md") for run in runs(file.read_text("utf8"))}
    found = {
        f"{row.id}: {' '.join(run)}" for row in ROWS for run in runs(f"{row.text} | {row.correct}") & said
    }
    assert not found, "\n".join(sorted(found))


def runs(text: str) -> set[tuple[str, ...]]:
    """All runs of eight words; a formula ends a run."""
    words = re.findall(r"[a-z]+|[|]", re.sub(r"\$[^$]*\$", "|", text.lower()))
    return {run for i in range(len(words) - 7) if "|" not in (run := tuple(words[i : i + 8]))}


# Tests of the reader itself, on a document made up for it.

DOCUMENT = """# A. Title

# 1. First part

An opening, e.g. this one. A second sentence.
- an item. Its end.
- another item

---

| head | x |
|------|---|
| row  | y |

## Deeper, 1.1

**Theorem 3** (Name). It holds.

```
one line

another line
```

$$ a
b $$

## 1.2 Deeper still
**2. Named**: words.
"""


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "monograph.md").write_text(DOCUMENT, "utf8")
    monkeypatch.setattr(claim_places, "DOCUMENTS", tmp_path)
    claim_places.blocks_of.cache_clear()
    yield
    claim_places.blocks_of.cache_clear()


PLACES = {
    "D1 §1 p1 s1": "An opening, e.g. this one.",
    "D1 §1 p1 s3-4": "- an item.\nIts end.",
    "D1 First part p2 s2": "| row  | y |",
    "D1 §1.1 p1 s2": "It holds.",
    "D1 §1 > Theorem 3 p2 s2": "another line",
    "D1 §1.1 p3": "$$ a\nb $$",
    "D1 §1.2 > Named p1 s1": "**2. Named**: words.",
}
NOWHERE = {
    "D1 §1 p3": "fewer paragraphs",
    "D1 §1 p2 s3": "fewer paragraphs or sentences",
    "D1 §2 p1": "nothing is called '§2'",
    "D1 Theorem 3 p1": "nothing is called 'Theorem 3'",
    "D1 §1": "a place is like",
}


@pytest.mark.usefixtures("planted")
@pytest.mark.parametrize("place", PLACES)
def test_a_place_is_counted_as_a_reader_counts(place: str) -> None:
    assert resolve(f"{place} #0000") == PLACES[place]


@pytest.mark.usefixtures("planted")
@pytest.mark.parametrize("place", NOWHERE)
def test_a_place_that_leads_nowhere_is_refused_with_a_sentence(place: str) -> None:
    with pytest.raises(PlaceError, match=NOWHERE[place]):
        resolve(f"{place} #0000")
    assert NOWHERE[place] in problem(f"{place} #0000")


@pytest.mark.usefixtures("planted")
@pytest.mark.parametrize("place", ["D1 §1.1 p1 s2"])
def test_the_mark_tells_another_sentence_and_not_another_format(place: str) -> None:
    assert problem(f"{place} #{mark('It holds')}") == ""
    assert mark("**It**  holds.") == mark("It holds")
    assert "another text stands there" in problem(f"{place} #{mark('It fails.')}")


def test_a_sentence_ends_where_a_reader_says_so() -> None:
    assert sentences("He et al. [3] did. See Fig. 2 (i.e. below). **Bold.** End") == [
        "He et al. [3] did.",
        "See Fig. 2 (i.e. below).",
        "**Bold.**",
        "End",
    ]


def test_the_checked_notebooks_word_a_claim_as_the_ledger_does() -> None:
    rows, found = claim_places.load(claim_places.BOOK), []
    for path in claim_texts.NOTEBOOKS:
        cells = nbformat.read(path, as_version=4).cells
        texts = [cell.source for cell in cells if cell.cell_type == "markdown"]
        assert [claim_texts.written(text, rows) for text in texts] == texts, "run python tools/claim_texts.py"
        found += [claim for text in texts for _, claim in claim_texts.PARAGRAPH.findall(text)]
    due = [row.id for row in rows.values() if row.verdict and "/checked" in str(row.where)]
    assert sorted(name.upper() for name in found) == sorted(due)
