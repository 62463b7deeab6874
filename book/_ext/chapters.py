"""The chapters of the book, as their own folders say: `book/05-training/chapter.yml`.

    title: Training
    subject: how the numbers of a model become good ones.   its line in the introduction's plan
    question: How are the numbers of a model found?         its line in the README; while empty, neither lists it
    pages:                                                  in order
      1-what-is-minimised:
        subject: Cross-entropy and perplexity               in the field's words, beside the page's title everywhere
        line: what the loss says in four units.             its line in the introduction's plan
      checked:

Beside it may stand `ledger.yml` (ledger.py), `subjects.yml` (search_data.py) and `search_questions.yml`
(tests/test_search.py). All else that names a chapter follows: `make contents` writes it (tools/contents.py).
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import yaml

FOLDER = re.compile(r"(\d\d)-([a-z][a-z-]*)")
PAGE = re.compile(r"book/(\d\d)-([\w-]+)/(\d+)-([\w-]+)")  # a numbered page, not a *Checked* notebook
KEYS = {"title", "subject", "question", "pages"}


class ChapterError(ValueError):
    """A chapter.yml that cannot be used; the message says which, why, and what to do."""


class Page(NamedTuple):
    """What a chapter.yml says of one of its notebooks; of a *Checked* one nothing."""

    subject: str = ""
    line: str = ""


@dataclass(frozen=True)
class Chapter:
    """One chapter: its folder, and what its chapter.yml says."""

    folder: Path
    title: str
    subject: str
    question: str
    pages: Mapping[str, Page]  # by the name of the notebook

    @property
    def number(self) -> int:
        return int(self.folder.name[:2])

    @property
    def name(self) -> str:
        """What its exercises' ids begin with: `multi-head`."""
        return self.folder.name[3:]

    @property
    def caption(self) -> str:
        """Its heading in the contents: `3 · Multi-Head Attention`."""
        return f"{self.number} · {self.title}"

    @property
    def in_ledger(self) -> str:
        """What its rows in the ledger call it: `03 multi-head`."""
        return in_ledger(self.folder.name)


def in_ledger(folder: str) -> str:
    """What the ledger calls the chapter of a folder.

    >>> in_ledger("03-multi-head"), in_ledger("06-efficient-attention")
    ('03 multi-head', '06 efficient-attention')
    """
    return folder.replace("-", " ", 1)


def chapters(book: Path) -> list[Chapter]:
    """All chapters in the order of the book."""
    return [chapter(file) for file in sorted(book.glob("[0-9]*/chapter.yml"))]


def chapter(file: Path) -> Chapter:
    """The chapter that a chapter.yml describes, checked against the notebooks beside it."""
    said = yaml.safe_load(file.read_text("utf8")) or {}
    require(file, FOLDER.fullmatch(file.parent.name), "its folder must be called like 05-training")
    require(file, set(said) == KEYS, f"it must have the keys {', '.join(sorted(KEYS))}; got {sorted(said)}")
    for name, page in said["pages"].items():
        rule = "say of each numbered page its subject and its line, of the others nothing"
        require(
            file,
            set(page or ()) == (set(Page._fields) if name[0].isdigit() else set()),
            f"{rule}; see {name}",
        )
    pages = {name: Page(**(page or {})) for name, page in said["pages"].items()}
    there = {notebook.stem for notebook in file.parent.glob("*.ipynb")}
    require(file, set(pages) == there, f"list each notebook of the folder; differing: {set(pages) ^ there}")
    numbers = [int(name.partition("-")[0]) for name in pages if name[0].isdigit()]
    require(file, numbers == list(range(1, len(numbers) + 1)), f"number its pages from 1 on; got {numbers}")
    return Chapter(file.parent, said["title"], said["subject"] or "", said["question"] or "", pages)


def page_subjects(book: Path) -> dict[str, str]:
    """The subject of each page that has one: `book/05-training/2-steps` -> `Optimisers: momentum, Adam`."""
    named = [
        (f"book/{one.folder.name}/{name}", page) for one in chapters(book) for name, page in one.pages.items()
    ]
    return {name: page.subject for name, page in named if page.subject}


def with_subject(title: str, subject: str) -> str:
    """A title with its subject, where there is room for one line only.

    >>> with_subject("Where am I?", "Positional encodings"), with_subject("Steps", "Adam"), with_subject("Index", "")
    ('Where am I? Positional encodings', 'Steps: Adam', 'Index')
    """
    end = "" if title.endswith("?") else ":"
    return f"{title}{end} {subject}" if subject else title


def require(file: Path, holds: object, rule: str) -> None:
    if not holds:
        raise ChapterError(f"{file.parent.name}/{file.name}: {rule}.")


def number(page: str) -> str:
    """The number of a page: `1.4` for book/01-foundations/4-softmax-and-scale; empty where it has none.

    >>> number("book/01-foundations/4-softmax-and-scale"), number("book/intro")
    ('1.4', '')
    """
    found = PAGE.fullmatch(page)
    return f"{int(found[1])}.{found[3]}" if found else ""


def position(page: str) -> list[int]:
    """By what pages with a number are sorted, so that 1.10 stands after 1.9.

    >>> position("book/01-foundations/10-scores-backwards") > position("book/01-foundations/9-softmax")
    True
    """
    return [int(part) for part in number(page).split(".") if part]


def numbered_pages(pages: Iterable[str]) -> list[str]:
    """Those of the pages that have a number, in the order of the book."""
    return sorted(filter(number, pages), key=position)
