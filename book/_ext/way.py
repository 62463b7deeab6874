"""Where am I, and what comes next: numbers in the contents, the way on, and side roads.

A notebook is a side road if its metadata say so, `"course": {"side_road": true}`: the contents set it apart, and a line
at its top says that no other page needs it. The names of the chapters are those of _toc.yml.
"""

import json
import posixpath
import re
from html import escape
from pathlib import Path
from typing import Any

import yaml
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment

from .facts import pages
from .teaching import number

ENTRY = re.compile(r'<li class="toctree-l1([^"]*)"><a class="([^"]*)" href="([^"]*)">(.*?)</a></li>')
CAPTION = re.compile(r"(\d+) · (.+)")


def chapters(root: Path) -> dict[str, str]:
    """The names of the chapters by their numbers, from the captions of _toc.yml: `2 · Self-Attention`."""
    file = root / "_toc.yml"
    parts = yaml.safe_load(file.read_text("utf8")).get("parts", []) if file.exists() else []
    named = (CAPTION.fullmatch(part.get("caption", "")) for part in parts)
    return {found[1]: found[2] for found in named if found}


def chapter_name(app: Sphinx, page: str) -> str:
    """The name of a notebook's chapter, by default that of its folder."""
    folder = page.split("/")[-2] if "/" in page else page
    plain = re.sub(r"^\d+-", "", folder).replace("-", " ").capitalize()
    return app.course_chapters.get(number(page).split(".")[0], plain)  # type: ignore[attr-defined]


def side_roads(root: Path) -> set[str]:
    """The notebooks that call themselves side roads."""
    found = set()
    for file in sorted((root / "book").glob("[0-9]*/*.ipynb")):
        course = json.loads(file.read_text("utf8"))["metadata"].get("course", {})
        if course.get("side_road"):
            found.add(file.relative_to(root).with_suffix("").as_posix())
    return found


def notebooks(env: BuildEnvironment) -> list[str]:
    """All notebooks in the order of the book."""
    return sorted(
        (page for page in env.all_docs if number(page)),
        key=lambda page: [int(part) for part in number(page).split(".")],
    )


def numbered(app: Sphinx, html: str, here: str) -> str:
    """A page whose contents show numbers, and say of each notebook which one it is and which exercises it has."""
    roads = app.course_side_roads  # type: ignore[attr-defined]

    def entry(found: re.Match[str]) -> str:
        looks, link, href, title = found.groups()
        page = here if href == "#" else posixpath.normpath(posixpath.join(posixpath.dirname(here), href))
        page = page.removesuffix(".html")
        if not number(page):
            return found[0]
        ids = " ".join(pages(app.env)[page].exercises) if page in pages(app.env) else ""
        road = ' <span class="side-road">side road</span>' if page in roads else ""
        inside = f'<span class="nr">{number(page)}</span> <span class="name">{title}{road}</span>'
        data = f'data-page="{escape(page)}" data-exercises="{ids}"'
        return f'<li class="toctree-l1{looks}" {data}><a class="{link}" href="{href}">{inside}</a></li>'

    return ENTRY.sub(entry, html)


def name_the_way(app: Sphinx, page: str, template: str, context: dict[str, Any], document: object) -> None:
    """Above the title the chapter and the number; below the text what comes before and what comes next."""
    for side, other in neighbours(app.env, page).items():
        if context.get(side):
            context[side] = context[side] | {"title": titled(app, other, page)}
    if "body" not in context or not number(page):
        return
    eyebrow = f'<p class="eyebrow">{escape(chapter_name(app, page))} · {number(page)}</p>\n<h1>'
    if page in app.course_side_roads:  # type: ignore[attr-defined]
        eyebrow = '<p class="on-a-side-road">A side road: no other page needs this one.</p>\n' + eyebrow
    context["body"] = context["body"].replace("<h1>", eyebrow, 1)


def neighbours(env: BuildEnvironment, page: str) -> dict[str, str]:
    """The pages before and after this one."""
    before, after = env.collect_relations().get(page, (None, None, None))[1:]
    return {side: other for side, other in (("prev", before), ("next", after)) if other}


def titled(app: Sphinx, page: str, here: str) -> str:
    """`2.1 A sequence attends to itself`, and that a new chapter begins where one does."""
    title = f"{number(page)} {escape(app.env.titles[page].astext())}".strip()
    changes = number(page) and number(here).split(".")[0] != number(page).split(".")[0]
    comes_later = changes and (not number(here) or number(here) < number(page))
    if not comes_later:
        return title
    return f'{title}<span class="new-chapter">, a new chapter: {escape(chapter_name(app, page))}</span>'


def read_it(app: Sphinx, config: Config) -> None:
    root = Path(app.srcdir)
    app.course_chapters = chapters(root)  # type: ignore[attr-defined]
    app.course_side_roads = side_roads(root)  # type: ignore[attr-defined]
    config["course_way"] = repr((chapters(root), sorted(side_roads(root))))


def setup(app: Sphinx) -> None:
    app.add_config_value("course_way", "", "html")
    app.connect("config-inited", read_it)
    app.connect("html-page-context", name_the_way, priority=600)  # after the theme has named them
