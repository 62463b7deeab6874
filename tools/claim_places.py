"""The sentence that a claim judges, printed beside its row: `python tools/claim_places.py C139`.

    D2 §9.1 p2 s1 #3f2a              document 2, section 9.1, paragraph 2, sentence 1
    D5 Step 2 > Scaling Laws p1 s3   the paragraph that opens with the words "Scaling Laws", under the heading "Step 2"
    D1 §2.4.4 > Theorem 2.3 p1-3     three paragraphs; without `s`, whole ones

A heading is called by its number, `§9.1`, or by its first words; words in bold at the start of a paragraph are a title
too, and that paragraph is then the first. A paragraph is what stands between empty lines: a displayed formula, a list,
a table and a listing count as one each. An item, a row and a line of code begin a new sentence.

The mark at the end is a checksum of the letters and digits of what stands there. It says nothing of the sentence, but
it fails when one reads another. `--mark` writes the marks that are missing or wrong into the files of the ledger.
"""

import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "book"))

from _ext.ledger import AT, Row, ledger_files, load  # noqa: E402  # pyright: ignore[reportMissingImports]

DOCUMENTS = ROOT.parent / "shared" / "documents"
FILES = {
    "D1": "monograph",
    "D2": "math-foundations",
    "D3": "lecture-17",
    "D4": "overview",
    "D5": "paper-analysis",
}
BOOK = ROOT / "book"
UNMARKED = re.compile(r'"(D[1-5] [^"]+? p\d[^"#]*?)(?: #[0-9a-f]*)?"')
LABEL = re.compile(r"(?:[-*] |\d+\. )?\*\*(.+?)\*\*")
ITEM = re.compile(r"\s*(?:[-*•] |\d+[.)] |\|)")
END = re.compile(r"(?<=[.!?])[*_)”\"]*\s+(?=[*_(“\"\[$\\]*[A-Z])")
NO_END = re.compile(r"(?:\be\.g|\bi\.e|\bvs|\bal|\bcf|\bFig|\bEq|\bProp|^[\s*]*\d+)\.[*_]*$")
NO_TEXT = re.compile(r"\s*(?:```.*|[-|: ]*)")  # fences, rules, the line under a table's head


class PlaceError(ValueError):
    """A place leads nowhere; the message says which, and what to look at."""


class Block(NamedTuple):
    """A paragraph or a heading, and the title that it carries, if any."""

    text: str
    title: str
    heading: bool


@cache
def blocks_of(document: str) -> tuple[Block, ...]:
    """A document as paragraphs and headings, in order."""
    text = (DOCUMENTS / f"{FILES[document]}.md").read_text("utf8")
    return tuple(map(_block, _paragraphs(text.splitlines())))


def _paragraphs(lines: list[str]) -> Iterator[str]:
    """What stands between empty lines; a heading stands alone, and a listing keeps its empty lines."""
    held: list[str] = []
    listing = False
    for line in [*lines, ""]:
        listing ^= line.strip().startswith("```")
        heading = not listing and line.startswith("#")
        if held and not listing and (heading or not line.strip()):
            if not all(map(NO_TEXT.fullmatch, held)):
                yield "\n".join(held)
            held = []
        if heading:
            yield line
        elif line.strip():
            held.append(line)


def _block(text: str) -> Block:
    heading = text.startswith("#")
    label = LABEL.match(text.strip())
    title = text.lstrip("#") if heading else label[1] if label else ""
    return Block(text, _plain(title), heading)


def _plain(title: str) -> str:
    title = re.sub(r"<[^>]*>|\{#.*?\}|[*_`]", "", title)
    return " ".join(title.split()).lower()


def _is_called(title: str, name: str) -> bool:
    """
    >>> _is_called("9.1 the path length advantage", "§9.1"), _is_called("6. gradient flow", "Gradient Flow")
    (True, True)
    """
    name, words = name.lower(), title.split()
    if name.startswith("§"):  # the number stands in front, or behind
        return name[1:] in [word.rstrip(".") for word in (*words[:1], *words[-1:])]
    return title.startswith(name) or re.sub(r"^\d+\.\s", "", title).startswith(name)


def sentences(text: str) -> list[str]:
    """
    >>> sentences("One, e.g. this. Two.")
    ['One, e.g. this.', 'Two.']
    >>> sentences("- A. Then B.\\n- C")
    ['- A.', 'Then B.', '- C']
    """
    units, in_formula = [], False
    listing = text.lstrip().startswith("```")
    for line in (line for line in text.splitlines() if not NO_TEXT.fullmatch(line)):
        if not units or (not in_formula and (listing or ITEM.match(line))):
            units.append(line)
        else:
            units[-1] += " " + line
        in_formula ^= line.count("$$") % 2 == 1
    return [sentence for unit in units for sentence in _split(unit)]


def _split(text: str) -> list[str]:
    found, start = [], 0
    for end in END.finditer(text):
        if not NO_END.search(text[start : end.start()]) and text[start : end.start()].count("$") % 2 == 0:
            found.append(text[start : end.end()].strip())
            start = end.end()
    return [*found, text[start:].strip()]


def resolve(place: str) -> str:
    """What stands at a place."""
    parts = AT.fullmatch(place)
    if not parts:
        raise PlaceError(f"a place is like 'D2 §9.1 p2 s1 #3f2a'; got {place!r}.")
    document, titles, first, last, start, stop, _ = parts.groups()
    blocks = blocks_of(document)
    at = -1
    for name in titles.split(" > "):
        later = range(at + 1, len(blocks))
        fits = (i for i in later if _is_called(blocks[i].title, name) and (at >= 0 or blocks[i].heading))
        if (at := next(fits, -1)) < 0:
            raise PlaceError(f"{place}: nothing is called {name!r} there.")
    run = []
    for block in blocks[at + 1 if blocks[at].heading else at :]:
        if block.heading:
            break
        run.append(block.text)
    chosen = _cut(run, first, last)
    if chosen and start:
        chosen = _cut(sentences("\n".join(chosen)), start, stop)
    if not chosen:
        raise PlaceError(
            f"{place}: there are fewer paragraphs or sentences; {titles} has {len(run)} paragraphs."
        )
    return "\n".join(chosen)


def _cut(things: list[str], first: str, last: str | None) -> list[str]:
    chosen = things[int(first) - 1 : int(last or first)]
    return chosen if len(chosen) == int(last or first) - int(first) + 1 else []


def mark(text: str) -> str:
    """A checksum of the letters and digits of a text: marks of format do not count."""
    return f"{crc32(re.sub(r'[^a-z0-9]', '', text.lower()).encode()) & 0xFFFF:04x}"


def problem(place: str) -> str:
    """Why a place does not lead to the sentence that was read there; empty if it does."""
    try:
        found = mark(resolve(place))
    except PlaceError as error:
        return str(error)
    return (
        "" if place.endswith(f" #{found}") else f"{place}: another text stands there; its mark is #{found}."
    )


def show(row: Row) -> str:
    lines = [f"{row.id} {row.verdict} ({', '.join(row.evidence)})", row.text, f"-> {row.correct}"]
    for place in row.at:
        lines += ["", place, resolve(place)]
    return "\n".join(lines)


def write_marks() -> None:
    def marked(place: re.Match[str]) -> str:
        return f'"{place[1]} #{mark(resolve(f"{place[1]} #0000"))}"'

    for file in ledger_files(BOOK):
        file.write_text(UNMARKED.sub(marked, file.read_text("utf8")), "utf8")


def main(arguments: list[str]) -> int:
    if not DOCUMENTS.exists():
        print(f"{DOCUMENTS} is not here; the places are read in it.")
        return 1
    if arguments == ["--mark"]:
        write_marks()
        return 0
    rows = load(BOOK)
    print("\n\n".join(show(rows[name]) if name in rows else f"{name}: no such row." for name in arguments))
    return 0 if arguments and all(name in rows for name in arguments) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
