"""The ledger: every system, equation and claim of the five documents, as data.

    book/ledger/systems.yml    S001 ...   id, chapter, name, text, sources
    book/ledger/equations.yml  E001 ...   id, chapter, name, text, math, numbers
    book/ledger/claims.yml     C001 ...   id, chapter, text, sources, at, evidence, verdict, correct
    all of them, when they are done       where, proof, breaks
    book/ledger/syllabus.yml   chapter -> the ids it must teach

`where` is a place on a page, `01-foundations/2-the-attention-function#s001`; `proof` is a notebook cell that carries
the id as a tag and asserts it, `book/01-foundations/2-the-attention-function.ipynb::S001`, or a test,
`tests/reference/test_ops.py::test_rows_sum_to_one`. Both may be lists. `numbers` says under which number an equation
stands in each document: `{D1: ["1.8", "2.24"], D2: ["§3.4"]}`. `at` is the exact place of the sentence that a claim
judges, `D2 §9.1 p2 s1 #3f2a`: tools/claim_places.py reads it. `evidence` says what kind of proof the verdict has.

`breaks` is the row's counter-proof, one edit under which its proof must fail: `{old: "I + J", new: "I - J"}` in the
proving cell, or in a cell that it stands on, or in the proving test; with `file: attnlib/nn/norm.py`, in the package.
The edit changes what is computed: never what is expected, how near is near enough, or a comparison
(book/_ext/counterproofs.py refuses that). tools/proofs.py makes the edits and looks whether they bite.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

KINDS = {"systems": "S", "equations": "E", "claims": "C"}
VERDICTS = ("FALSE", "IMPRECISE", "UNDETERMINED", "TRUE")
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


def load(folder: Path) -> dict[str, Row]:
    """All rows by id. Read again only when a file has changed."""
    files = [folder / f"{kind}.yml" for kind in KINDS]
    return _load(tuple((file, file.stat().st_mtime_ns if file.exists() else 0) for file in files))


@lru_cache(maxsize=4)
def _load(files: tuple[tuple[Path, int], ...]) -> dict[str, Row]:
    rows: dict[str, Row] = {}
    for file, changed in files:
        for raw in (_read(file) or []) if changed else []:
            row = row_of(file.stem, raw)
            _rule(
                row.kind,
                row.id,
                row.id not in rows,
                "the id occurs twice; an id names one row.",
            )
            rows[row.id] = row
    return rows


def load_syllabus(folder: Path) -> dict[str, list[str]]:
    """Chapter -> ids that belong to it."""
    syllabus = _read(folder / "syllabus.yml") or {}
    return {chapter: " ".join(groups.values()).split() for chapter, groups in syllabus.items()}


def counts(
    syllabus: Mapping[str, list[str]], done: Callable[[str], bool]
) -> dict[str, dict[str, tuple[int, int]]]:
    """Per chapter and kind: rows done, rows due.

    >>> counts({"01 foundations": ["S001", "S002", "C001"]}, done={"S001", "C001"}.__contains__)
    {'01 foundations': {'systems': (1, 2), 'claims': (1, 1)}}
    """
    table: dict[str, dict[str, tuple[int, int]]] = {}
    for chapter, ids in syllabus.items():
        due = {kind: [i for i in ids if i.startswith(letter)] for kind, letter in KINDS.items()}
        table[chapter] = {kind: (sum(map(done, ids)), len(ids)) for kind, ids in due.items() if ids}
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
        raise LedgerError(f"ledger: {kind}.yml, row {name}: {sentence}")


def _tuple(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    return tuple(str(v) for v in value) if isinstance(value, list | tuple) else (str(value),)


def _read(file: Path) -> Any:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(file.read_text("utf8"), Loader=loader)
