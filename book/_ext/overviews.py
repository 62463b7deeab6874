"""Two pages over the whole book: its pictures to move, and its subjects from A to Z.

    ```{overview} pictures
    ```
    ```{overview} subjects
    ```

A picture is the static figure that its notebook stores, as a file of its own, which a browser fetches when it comes
near; its sentence is the first line of the docstring of its class. The subjects are those of the subjects.yml files.
"""

import json
import posixpath
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from attnlib.viz import explorables

from .anchors import register
from .chapters import chapters, number
from .figures import INK, SIZE
from .notebooks import notebooks
from .search_data import subjects_of

FOLDER = "_static/pictures"
VIEW = "application/vnd.jupyter.widget-view+json"
STATE = "application/vnd.jupyter.widget-state+json"


class Shown(NamedTuple):
    """A picture to move, where it stands, and its static figure."""

    name: str
    page: str  # book/01-foundations/1-the-bottleneck
    svg: str


class Thumbnail(nodes.General, nodes.Element):
    """The static figure of a picture, as a link to its page; `name`, `page`, `wide`, `high`."""


def shown_in(notebook: Path, page: str) -> Iterator[Shown]:
    """The pictures to move that a notebook stores."""
    stored = json.loads(notebook.read_text("utf8"))
    states = stored["metadata"].get("widgets", {}).get(STATE, {}).get("state", {})
    outputs = [output for cell in stored["cells"] for output in cell.get("outputs", ())]
    for data in (output.get("data", {}) for output in outputs):
        if VIEW in data and "image/svg+xml" in data:
            name = states[data[VIEW]["model_id"]]["state"]["_anywidget_id"].rpartition(".")[2]
            yield Shown(name, page, "".join(data["image/svg+xml"]))


def all_shown(book: Path) -> dict[str, list[Shown]]:
    """The pictures of each chapter, by its heading in the contents."""
    return {
        chapter.caption: [
            one
            for name in chapter.pages
            for one in shown_in(chapter.folder / f"{name}.ipynb", f"book/{chapter.folder.name}/{name}")
        ]
        for chapter in chapters(book)
    }


def letter(subject: str) -> str:
    """Under which heading a subject stands.

    >>> letter("attention sinks"), letter("8 bits"), letter("β of Adam")
    ('A', '0 to 9', 'Other')
    """
    first = subject[0].upper()
    return first if first in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" else "0 to 9" if first.isdigit() else "Other"


def by_letter(subjects: dict[str, list[str]]) -> dict[str, dict[str, list[str]]]:
    """Letter -> subject -> pages, in order; letters of both cases together, what is no letter first.

    >>> by_letter({"1/b": ["mask"], "1/a": ["Adam", "mask"]})
    {'A': {'Adam': ['1/a']}, 'M': {'mask': ['1/b', '1/a']}}
    """
    found: dict[str, list[str]] = defaultdict(list)
    for page, words in subjects.items():
        for word in words:
            found[str(word)].append(page)
    letters: dict[str, dict[str, list[str]]] = {}
    for word in sorted(found, key=lambda word: (letter(word), word.lower())):
        letters.setdefault(letter(word), {})[word] = found[word]
    return letters


class Overview(SphinxDirective):
    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        self.book = Path(self.env.srcdir) / "book"
        kinds = {"pictures": self.pictures, "subjects": self.subjects}
        if self.arguments[0] not in kinds:
            raise self.error(f"overview: say which of {', '.join(kinds)} to list; got {self.arguments[0]!r}.")
        return list(kinds[self.arguments[0]]())

    def section(self, title: str, text: list[str]) -> nodes.section:
        """A heading, and Markdown below it."""
        section = nodes.section()
        section += nodes.title(title, title)
        section.line = self.lineno
        anchor = re.sub(r"\W+", "-", title.lower()).strip("-")
        register(self.state.document, self.env, anchor, section, title)
        self.state.nested_parse(StringList(text, self.env.docname), 0, section)
        return section

    def pictures(self) -> Iterator[nodes.Node]:
        for notebook in self.book.glob("[0-9]*/*.ipynb"):
            self.env.note_dependency(str(notebook))
        self.titles = {f"book/{one.page}": one.title for one in notebooks(self.book)}
        for caption, pictures in all_shown(self.book).items():
            if pictures:
                section = self.section(caption, [])
                for one in pictures:
                    size = SIZE.search(one.svg)
                    wide, high = (size[1], size[2]) if size else ("", "")
                    section += Thumbnail("", name=one.name, page=one.page, wide=wide, high=high)
                    self.state.nested_parse(StringList([self.sentence(one)], self.env.docname), 0, section)
                yield section

    def sentence(self, one: Shown) -> str:
        """What can be moved, and where."""
        said = (getattr(explorables, one.name).__doc__ or "").strip().splitlines()[0]
        return f"{said} In [{number(one.page)} {self.titles[one.page]}]({self.file(one.page)})."

    def subjects(self) -> Iterator[nodes.Node]:
        for file in self.book.glob("**/subjects.yml"):
            self.env.note_dependency(str(file))
        numbered = {page: words for page, words in subjects_of(self.book).items() if number(f"book/{page}")}
        for title, words in by_letter(numbered).items():
            yield self.section(title, [self.line(word, pages) for word, pages in words.items()])

    def line(self, word: str, pages: list[str]) -> str:
        links = ", ".join(f"[{number(f'book/{page}')}]({self.file(f'book/{page}')})" for page in pages)
        return f"- {word}: {links}"

    def file(self, page: str) -> str:
        """The source of a page, from this one."""
        return f"{posixpath.relpath(page, posixpath.dirname(self.env.docname))}.ipynb"


def visit(self: Any, node: Thumbnail) -> None:
    here = self.builder.current_docname
    to_root = posixpath.relpath(".", posixpath.dirname(here))
    page = self.builder.get_relative_uri(here, node["page"])
    self.body.append(
        f'<p class="thumbnail"><a href="{page}" tabindex="-1" aria-hidden="true">'
        f'<img src="{to_root}/{FOLDER}/{node["name"]}.svg" width="{float(node["wide"]):.0f}" '
        f'height="{float(node["high"]):.0f}" loading="lazy" alt=""></a></p>\n'
    )


def depart(self: Any, node: Thumbnail) -> None:
    """Nothing is left open."""


def write_figures(app: Sphinx, exception: Exception | None) -> None:
    book = Path(app.srcdir) / "book"
    if exception or app.builder.format != "html" or "book/pictures" not in app.env.all_docs:
        return
    folder = Path(app.outdir) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for pictures in all_shown(book).values():
        for one in pictures:
            svg = re.sub(r"background: ?#\w+", "background: none", one.svg).replace(INK, "#5f6675")
            (folder / f"{one.name}.svg").write_text(svg, "utf8")


def setup(app: Sphinx) -> None:
    app.add_node(Thumbnail, html=(visit, depart))
    app.add_directive("overview", Overview)
    app.connect("build-finished", write_figures)
