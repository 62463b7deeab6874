"""What the extension remembers of each page between builds, in Sphinx's environment."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment


class Entry(NamedTuple):
    """A part of a page that the search can find."""

    anchor: str
    heading: str
    text: str
    bold: str


@dataclass
class PageFacts:
    """Facts of one page; forgotten as soon as the page is read again."""

    anchors: set[str] = field(default_factory=set)
    equations: dict[str, str] = field(default_factory=dict)  # id -> LaTeX
    links: set[tuple[str, str]] = field(default_factory=set)  # (page, id) that this page points to
    proofs: set[str] = field(default_factory=set)  # ids of ledger rows that a visible cell proves
    labels: set[str] = field(default_factory=set)  # equations that docstrings on this page name
    names: dict[str, str] = field(
        default_factory=dict
    )  # what the notebook imports from attnlib: local -> listed name
    used: set[str] = field(default_factory=set)  # listed names of what its code mentions
    minutes: int = 0  # to read a notebook
    exercises: list[str] = field(default_factory=list)  # their ids
    verdicts: list[tuple[str, str, int]] = field(default_factory=list)  # (claim id, verdict, line)
    entries: list[Entry] = field(default_factory=list)  # what the search finds
    explorables: dict[str, tuple[str, str]] = field(default_factory=dict)  # name -> (script, style)
    inside_gpt: bool = False  # whether the course's own model stands in it


def pages(env: BuildEnvironment) -> dict[str, PageFacts]:
    """All pages' facts by page name."""
    if not hasattr(env, "course_pages"):
        env.course_pages = {}  # type: ignore[attr-defined]
    return env.course_pages  # type: ignore[attr-defined]


def facts_of(env: BuildEnvironment, page: str | None = None) -> PageFacts:
    """The facts of a page, by default of the one that is being read."""
    return pages(env).setdefault(page or env.docname, PageFacts())


def _forget(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    pages(env).pop(docname, None)


def _merge(
    app: Sphinx,
    env: BuildEnvironment,
    docnames: Iterable[str],
    other: BuildEnvironment,
) -> None:
    for docname in docnames:
        if docname in pages(other):
            pages(env)[docname] = pages(other)[docname]


def setup(app: Sphinx) -> None:
    app.connect("env-purge-doc", _forget)
    app.connect("env-merge-info", _merge)
