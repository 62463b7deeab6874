"""What the search searches: the words of every section, and the anchors that have a name of their own.

They are written as scripts, so that the search works from a disk too, where a page may not read files: `search-data.js`
with the titles and names, and for each chapter, and for all else, one with its sections. The search loads these when a
reader first turns to it, so the page opens as quickly with eleven chapters as with one. The search itself is
`_static/search.js`: MiniSearch, our weights, and the words of the field that mean the same (`book/synonyms.yml`).
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from .chapters import number, page_subjects, with_subject
from .exercises import ExerciseList
from .ledger_pages import RowItem, RowList
from .page_facts import Entry, facts_of
from .plain_text import text_of

NAMED = re.compile(r"(eq|ex|theorem|lemma|proposition|corollary|definition)-|[sec]\d{3}$")
SPECIFIC = re.compile(r"_|[a-z][A-Z]")  # a name of the package that is no word of the language
REPEATS = re.compile(
    "/(solutions|checked|subjects|pictures)-?"
)  # pages found by their titles alone: other pages hold the same content
ENDS = {
    "Exercises",
    "An investigation",
    "Key equations",
    "Further reading",
}  # sections that repeat what stands above them
LISTS = (RowList, ExerciseList, nodes.definition_list)
REFERENCE = "book/api/"
ENOUGH, LONG = 60, 120  # characters of an entry of the reference
DATA, PART = "search-data.js", "search-{}.js"


# ---- The words of a page --------------------------------------------------------------------------------------------


def collect(app: Sphinx, document: nodes.document) -> None:
    page, facts = app.env.docname, facts_of(app.env)
    facts.entries = [*sections(document, page), *rows(document), *terms(document, page)]


def sections(document: nodes.document, page: str) -> Iterator[Entry]:
    """Each section with what stands in it, down to its next heading."""
    for section in document.findall(nodes.section):
        own = [child for child in section.children[1:] if not isinstance(child, nodes.section)]
        anchor = "" if section.parent is document else section["ids"][0]
        heading = text_of([section[0]])
        if REPEATS.search(page) or (number(page) and heading in ENDS):
            yield Entry(anchor, heading, "", "")
        else:
            text = text_of(own, () if number(page) else LISTS)
            text = opening(text) if page.startswith(REFERENCE) else text
            yield Entry(anchor, heading, text, " ".join(bold(own)))


def opening(text: str) -> str:
    """Of a long entry of the reference the sentences that say what it is for.

    >>> opening("Adds two numbers. " * 20) == " ".join(["Adds two numbers."] * 4)
    True
    """
    end = text.find(". ", ENOUGH)
    return text if end < 0 or len(text) <= LONG else text[: end + 1]


def bold(parts: list[nodes.Node]) -> Iterator[str]:
    """What is bold in running text: terms, where they are introduced."""
    for part in parts:
        for strong in part.findall(nodes.strong):
            if "frame-kind" not in strong["classes"] and not strong.astext().startswith("Predict first"):
                yield text_of([strong])


def rows(document: nodes.document) -> Iterator[Entry]:
    """Each row of the ledger."""
    for row in document.findall(RowItem):
        head = next(row.findall(nodes.paragraph))
        name = text_of(
            [
                part
                for part in head.children
                if "row-name" in getattr(part, "attributes", {}).get("classes", ())
            ]
        )
        yield Entry(row["row"].lower(), f"{row['row']} {name}".strip(), text_of(row.children[1:]), "")


def terms(document: nodes.document, page: str) -> Iterator[Entry]:
    """Each term of the glossary."""
    if page == "book/glossary":
        for item in document.findall(nodes.definition_list_item):
            term = next(item.findall(nodes.term))
            yield Entry(term["ids"][0], text_of([term]), text_of(item.children[1:]), text_of([term]))


# ---- Places with a name ---------------------------------------------------------------------------------------------


def names_of(anchor: str, text: str) -> str:
    """The name under which an anchor is found; the search knows that `eq 1.8` and `(1.8)` are `1.8`.

    >>> names_of("eq-softmax", "(1.8)"), names_of("ex-foundations-scale", "foundations.scale"), names_of("s016", "s016")
    ('1.8', 'foundations.scale', 's016')
    """
    return (text.strip("()") if anchor.startswith("eq-") else text).lower()


def names(env: BuildEnvironment) -> Iterator[tuple[str, str, str, str]]:
    """(name, page, id, title) of each anchor that has a name of its own: equations, exercises, rows, functions."""
    for page in sorted(env.all_docs):
        known = env.metadata.get(page, {}).get("myst_slugs", {})
        if page.startswith("book/api/"):
            for anchor in sorted(facts_of(env, page).anchors):
                called = anchor.replace("-", ".")
                if SPECIFIC.search(name := called.rpartition(".")[2]):
                    yield name.lower(), page, anchor, called
        for anchor in sorted(facts_of(env, page).anchors & known.keys()):
            text = known[anchor][2]
            if anchor.startswith("eq-") and text.startswith("("):
                yield names_of(anchor, text), page, anchor, f"Equation {text}"
            elif NAMED.match(anchor):
                yield names_of(anchor, text), page, anchor, anchor.upper() if text == anchor else text


# ---- What is written ------------------------------------------------------------------------------------------------


def listed(file: Path) -> Any:
    """What a file of lists holds; nothing where a book has no such file."""
    return yaml.safe_load(file.read_text("utf8")) if file.exists() else None


def subjects_of(book: Path) -> dict[str, list[str]]:
    """The subject index by page, from book/subjects.yml and the file of each chapter."""
    found: dict[str, list[str]] = listed(book / "subjects.yml") or {}
    for file in sorted(book.glob("[0-9]*/subjects.yml")):
        found |= {f"{file.parent.name}/{page}": words for page, words in (listed(file) or {}).items()}
    return found


def part_of(page: str) -> str:
    """The part of the data in which a page's sections stand: its chapter's, or that of all other pages.

    >>> part_of("book/03-multi-head/3-memory"), part_of("book/glossary")
    ('03-multi-head', 'others')
    """
    folder = page.split("/")[1] if page.count("/") > 1 else ""
    return folder if folder[:1].isdigit() else "others"


def data(env: BuildEnvironment, book: Path) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """What the search page opens with, and the sections by part."""
    order = sorted(env.all_docs)
    subjects, of_page = subjects_of(book), page_subjects(book)
    titles = [
        [
            page,
            number(page),
            with_subject(env.titles[page].astext(), of_page.get(page, "")),
            "; ".join(subjects.get(page.removeprefix("book/"), ())),
        ]
        for page in order
    ]
    place = {page: i for i, (page, *_) in enumerate(titles)}
    parts: dict[str, list[Any]] = {part: [] for part in sorted({part_of(page) for page in order})}
    for page in order:
        parts[part_of(page)] += [[place[page], *entry] for entry in facts_of(env, page).entries]
    opening = {
        "pages": titles,
        "parts": list(parts),
        "names": [[name, place[page], anchor, called] for name, page, anchor, called in names(env)],
        "synonyms": listed(book / "synonyms.yml") or [],
        "entries": [],
    }
    return opening, parts


def write(app: Sphinx, exception: Exception | None) -> None:
    if exception or app.builder.name != "html":
        return
    opening, parts = data(app.env, Path(app.srcdir) / "book")
    static = Path(app.outdir) / "_static"
    (static / DATA).write_text(f"window.searchData = {compact(opening)};\n", "utf8")
    for part, entries in parts.items():
        (static / PART.format(part)).write_text(f"searchData.entries.push(...{compact(entries)});\n", "utf8")


def compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def no_index_of_sphinx(app: Sphinx) -> None:
    """Sphinx writes no search index: only its stemmer is used."""
    builder: Any = app.builder
    if builder.name == "html":
        builder.load_indexer = lambda docnames: None
        builder.index_page = lambda pagename, doctree, title: None
        builder.dump_search_index = lambda: None


def setup(app: Sphinx) -> None:
    app.connect("builder-inited", no_index_of_sphinx)
    app.connect("doctree-read", collect)
    app.connect("build-finished", write)
