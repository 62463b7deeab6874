"""The ledger: every system, equation and claim of the five documents, as data.

A row stands in the folder of its chapter, `book/05-training/ledger.yml`, or in `book/ledger/` and names its `chapter`:

    a system    S001 ...   id, name, text, sources
    an equation E001 ...   id, name, text, math, numbers
    a claim     C001 ...   id, text, sources, at, evidence, verdict, correct
    all, when done         where, proof, breaks

`where` names the page and the anchor that treat the row, `01-foundations/2-the-attention-function#s001`. `proof` is a
notebook cell that carries the id as a tag and asserts it, `book/01-foundations/2-the-attention-function.ipynb::S001`,
or a test, `tests/reference/test_ops.py::test_rows_sum_to_one`. Both may be lists, and both are written only where they
differ from what the notebooks say: the page with the anchor `<a id="s001"></a>` or the claim box, and that with the
tagged cell. If several have it, a *Checked* notebook goes before others, and earlier pages before later ones.

`numbers` says under which number an equation stands in each document: `{D1: ["1.8", "2.24"], D2: ["§3.4"]}`. `at` is
the exact position of the sentence that a claim judges, `D2 §9.1 p2 s1 #3f2a`: tools/claim_places.py reads it.
`evidence` says what kind of proof the verdict has.

A claim is INCOMPLETE, shown as "true, incomplete", where it holds as a fair reader takes it and leaves something out: a
condition, the range of a convention, a word. `correct` says what to add. A slip of typesetting, or of the conversion to
text, is no error of an author: it is INCOMPLETE too, and `correct` names the slip.

`breaks` is the row's counter-proof, one edit under which its proof must fail: `{old: "I + J", new: "I - J"}` in the
proving cell, or in a cell that it stands on, or in the proving test; with `file: attnlib/nn/norm.py`, in the package.
The edit changes what is computed: never what is expected, how near is near enough, or a comparison
(book/_ext/counterproofs.py refuses that). tools/proofs.py makes the edits and looks whether they bite.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from .chapters import in_ledger
from .notebooks import Notebook, notebooks

KINDS = {"systems": "S", "equations": "E", "claims": "C"}
VERDICTS = ("FALSE", "IMPRECISE", "UNDETERMINED", "INCOMPLETE", "TRUE")
SHOWN = {"INCOMPLETE": "true, incomplete"}  # what readers see, where it is not the word itself
EVIDENCE = ("computed", "arithmetic", "stored experiment", "source read", "general knowledge")
DOCUMENTS = {
    "D1": "monograph",
    "D2": "mathematical notes",
    "D3": "lecture",
    "D4": "overview",
    "D5": "analysis of the paper",
}
ALWAYS = {"id", "chapter", "text"}
FIELDS = {
    "systems": ALWAYS | {"name", "sources"},
    "equations": ALWAYS | {"name", "math", "numbers"},
    "claims": ALWAYS | {"sources", "at", "evidence", "verdict", "correct"},
}
LATER = {"where", "proof", "breaks"}
CHAPTER = re.compile(r"\d\d [a-z].*")
SOURCE = re.compile(r"D[1-5]( .+)?")
AT = re.compile(r"(D[1-5]) (.+?) p(\d+)(?:-(\d+))?(?: s(\d+)(?:-(\d+))?)? #([0-9a-f]{4})")
WHERE = re.compile(r"[\w/-]+#[\w-]+")
PROOF = re.compile(r"[\w./-]+\.(ipynb|py)::[\w:\[\]-]+")
EDITED = re.compile(r"attnlib/[\w/]+\.py")


class LedgerError(ValueError):
    """A row breaks the schema; the message says which, how, and what to do."""


@dataclass(frozen=True)
class Edit:
    """One change of what is computed; without a file, of the proving code itself."""

    old: str
    new: str
    file: str = ""


@dataclass(frozen=True)
class Row:
    """One row of the ledger."""

    id: str
    kind: str  # systems, equations or claims
    chapter: str
    text: str
    where: tuple[str, ...] = ()
    proof: tuple[str, ...] = ()
    breaks: tuple[Edit, ...] = ()
    sources: tuple[str, ...] = ()
    at: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    name: str = ""
    math: str = ""
    verdict: str = ""
    correct: str = ""
    numbers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def documents(self) -> tuple[str, ...]:
        """The documents that the row comes from, in order."""
        return tuple(sorted({source[:2] for source in self.sources} | set(self.numbers)))


def row_of(kind: str, raw: Mapping[str, Any]) -> Row:
    """Check one row of a YAML file and make it a `Row`."""
    name = raw.get("id", "?")
    missing, unknown = (
        sorted(FIELDS[kind] - set(raw)),
        sorted(set(raw) - FIELDS[kind] - LATER),
    )
    _rule(
        kind,
        name,
        not missing,
        f"a row needs {', '.join(sorted(FIELDS[kind]))}; missing: {', '.join(missing)}.",
    )
    _rule(
        kind,
        name,
        not unknown,
        f"unknown field {', '.join(unknown)}; remove it or correct its spelling.",
    )
    form = rf"{KINDS[kind]}\d{{3}}"
    _rule(
        kind,
        name,
        re.fullmatch(form, str(name)),
        f"an id is {KINDS[kind]} and three digits; got {name!r}.",
    )
    _rule(
        kind,
        name,
        CHAPTER.fullmatch(raw["chapter"]),
        f"chapter is like '01 foundations'; got {raw['chapter']!r}.",
    )
    numbers = {document: _tuple(value) for document, value in (raw.get("numbers") or {}).items()}
    sources = _tuple(raw.get("sources"))
    for source in (*sources, *numbers):
        _rule(
            kind,
            name,
            SOURCE.fullmatch(source),
            f"a source is like 'D2 §7 Step 4'; got {source!r}.",
        )
    _rule(kind, name, sources or numbers, "a row names at least one source.")
    for where in _tuple(raw.get("where")):
        _rule(
            kind,
            name,
            WHERE.fullmatch(where),
            f"where is page#anchor without .html; got {where!r}.",
        )
    for proof in _tuple(raw.get("proof")):
        _rule(
            kind,
            name,
            PROOF.fullmatch(proof),
            f"proof is file::tag or file::test; got {proof!r}.",
        )
    at, evidence = _tuple(raw.get("at")), _tuple(raw.get("evidence"))
    if kind == "claims":
        verdict = raw["verdict"]
        _rule(
            kind,
            name,
            verdict in VERDICTS,
            f"verdict is one of {', '.join(VERDICTS)}, quoted; got {verdict!r}.",
        )
        for place in at:
            _rule(
                kind,
                name,
                AT.fullmatch(place),
                f"at is a place and its mark, like 'D2 §9.1 p2 s1 #3f2a'; got {place!r}.",
            )
        _rule(
            kind,
            name,
            {place[:2] for place in at} == {source[:2] for source in sources},
            f"at has a place in each document of sources, and in no other; got {', '.join(at)}.",
        )
        _rule(
            kind,
            name,
            evidence and set(evidence) <= set(EVIDENCE),
            f"evidence is one or more of {', '.join(EVIDENCE)}; got {', '.join(evidence)}.",
        )
    texts = {
        key: str(raw.get(key, "")).strip()
        for key in ("chapter", "text", "name", "math", "verdict", "correct")
    }
    where, proof = _tuple(raw.get("where")), _tuple(raw.get("proof"))
    breaks = _edits(kind, name, raw.get("breaks"))
    _rule(kind, name, proof or not breaks, "breaks is for a row with a proof; it has none.")
    return Row(
        id=name,
        kind=kind,
        where=where,
        proof=proof,
        breaks=breaks,
        sources=sources,
        at=at,
        evidence=evidence,
        numbers=numbers,
        **texts,
    )


def shown(verdict: str) -> str:
    """What readers see of a verdict.

    >>> shown("INCOMPLETE"), shown("FALSE")
    ('true, incomplete', 'false')
    """
    return SHOWN.get(verdict, verdict.lower())


def kind_of(id: str) -> str:
    """The kind of a row, by the letter of its id.

    >>> kind_of("C007")
    'claims'
    """
    return next((kind for kind, letter in KINDS.items() if str(id).startswith(letter)), "")


def ledger_files(book: Path) -> list[Path]:
    """The files of the ledger: one a chapter, and those of book/ledger."""
    return [*sorted(book.glob("[0-9]*/ledger.yml")), *sorted((book / "ledger").glob("*.yml"))]


def raw_rows(text: str, chapter: str = "") -> list[dict[str, Any]]:
    """The rows of a file as they are written there, with the chapter of its folder."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return [{"chapter": chapter} | raw if chapter else raw for raw in yaml.load(text, Loader=loader) or []]


def chapter_of_file(name: str) -> str:
    """The chapter whose rows a file of the ledger holds; empty if each row names its own.

    >>> chapter_of_file("book/05-training/ledger.yml"), chapter_of_file("book/ledger/later.yml")
    ('05 training', '')
    """
    folder = Path(name).parent.name
    return "" if folder == "ledger" else in_ledger(folder)


def load(book: Path) -> dict[str, Row]:
    """All rows by id: systems, equations, claims. Read again only when a file has changed."""
    files = tuple((file, file.stat().st_mtime_ns) for file in ledger_files(book))
    return _load(files, tuple(notebooks(book)))


@lru_cache(maxsize=4)
def _load(files: tuple[tuple[Path, int], ...], pages: tuple[Notebook, ...]) -> dict[str, Row]:
    rows: dict[str, Row] = {}
    derived = Derived(pages)
    for file, _ in files:
        for raw in raw_rows(file.read_text("utf8"), chapter_of_file(str(file))):
            row = row_of(kind_of(raw.get("id", "")) or "systems", derived.whole(raw))
            _rule(row.kind, row.id, row.id not in rows, "the id occurs twice; an id names one row.")
            rows[row.id] = row
    return dict(sorted(rows.items(), key=lambda item: (list(KINDS).index(item[1].kind), item[0])))


class Derived:
    """What the notebooks say of a row: where it is treated, and which cell proves it."""

    def __init__(self, pages: tuple[Notebook, ...]) -> None:
        self.anchors: dict[str, str] = {}
        self.cells: dict[str, str] = {}
        for one in sorted(pages, key=lambda one: not one.is_checked):  # a *Checked* notebook comes first
            for anchor in one.anchors:
                self.anchors.setdefault(anchor, one.page)
            for id in one.proves:
                self.cells.setdefault(id, one.page)

    def where(self, id: str) -> str:
        page = self.anchors.get(id.lower())
        return f"{page}#{id.lower()}" if page else ""

    def proof(self, id: str) -> str:
        page = self.cells.get(id)
        return f"book/{page}.ipynb::{id}" if page else ""

    def whole(self, raw: dict[str, Any]) -> dict[str, Any]:
        """A row as it is written, with what is not written because the notebooks say it."""
        id = str(raw.get("id", ""))
        derived = {"where": self.where(id), "proof": self.proof(id)}
        return {key: value for key, value in derived.items() if value} | raw

    def superfluous(self, raw: dict[str, Any]) -> list[str]:
        """What a row says although the notebooks say it."""
        id = str(raw["id"])
        derived = {"where": self.where(id), "proof": self.proof(id)}
        return [key for key, value in derived.items() if key in raw and raw[key] in (value, [value])]


def counts(rows: Iterable[Row], done: Callable[[str], bool]) -> dict[str, dict[str, tuple[int, int]]]:
    """Per chapter and kind: rows done, rows there are.

    >>> rows = [Row("S001", "systems", "01 foundations", "t"), Row("C001", "claims", "01 foundations", "t")]
    >>> counts(rows, done={"S001"}.__contains__)
    {'01 foundations': {'systems': (1, 1), 'claims': (0, 1)}}
    """
    table: dict[str, dict[str, tuple[int, int]]] = {}
    for row in sorted(rows, key=lambda row: row.chapter):
        kinds = table.setdefault(row.chapter, {})
        finished, there = kinds.get(row.kind, (0, 0))
        kinds[row.kind] = (finished + done(row.id), there + 1)
    return table


def _edits(kind: str, name: object, value: Any) -> tuple[Edit, ...]:
    raws = value if isinstance(value, list) else [] if value is None else [value]
    for raw in raws:
        fits = isinstance(raw, dict) and {"old", "new"} <= set(raw) <= {"old", "new", "file"}
        _rule(
            kind,
            name,
            fits,
            f"breaks is {{old: ..., new: ...}}, and a file if it is in attnlib; got {raw!r}.",
        )
        file = raw.get("file", "attnlib/x.py")
        _rule(kind, name, EDITED.fullmatch(file), f"breaks edits a file of attnlib; got {file!r}.")
    return tuple(Edit(**{key: str(text) for key, text in raw.items()}) for raw in raws)


def _rule(kind: str, name: object, holds: object, sentence: str) -> None:
    if not holds:
        raise LedgerError(f"ledger: row {name} of the {kind}: {sentence}")


def _tuple(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    return tuple(str(v) for v in value) if isinstance(value, list | tuple) else (str(value),)
