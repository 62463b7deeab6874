"""Numbers and subjects in the contents, the pages before and after, and side roads.

A notebook is a side road if its metadata say so, `"course": {"side_road": true}`: the contents set it apart, and a line
at its top says that no other page needs it.
"""

import posixpath
import re
from html import escape
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment

from .chapters import chapters, number, page_subjects, with_subject
from .notebooks import notebooks
from .page_facts import pages

ENTRY = re.compile(r'<li class="toctree-l1([^"]*)"><a class="([^"]*)" href="([^"]*)">(.*?)</a></li>')


def titles(book: Path) -> dict[str, str]:
    """The titles of the chapters by their numbers, which are also the first part of a page's number."""
    return {str(chapter.number): chapter.title for chapter in chapters(book)}


def chapter_title(app: Sphinx, page: str) -> str:
    """The title of a notebook's chapter; made from its folder where that has no chapter.yml."""
    folder = page.split("/")[-2] if "/" in page else page
    plain = re.sub(r"^\d+-", "", folder).replace("-", " ").capitalize()
    return app.course_chapters.get(number(page).split(".")[0], plain)  # type: ignore[attr-defined]


def subject_of(app: Sphinx, page: str) -> str:
    """The subject of a page in the field's words; empty where its chapter.yml says none."""
    return app.course_subjects.get(page, "")  # type: ignore[attr-defined]


def side_roads(book: Path) -> set[str]:
    """The notebooks that call themselves side roads."""
    return {f"book/{one.page}" for one in notebooks(book) if one.side_road}


def numbered(app: Sphinx, html: str, here: str) -> str:
    """A page whose contents show numbers, and say of each notebook which one it is and which exercises it has."""
    roads = app.course_side_roads  # type: ignore[attr-defined]

    def entry(found: re.Match[str]) -> str:
        classes, link, href, title = found.groups()
        page = here if href == "#" else posixpath.normpath(posixpath.join(posixpath.dirname(here), href))
        page = page.removesuffix(".html")
        if not number(page):
            return found[0]
        ids = " ".join(pages(app.env)[page].exercises) if page in pages(app.env) else ""
        road = ' <span class="side-road">side road</span>' if page in roads else ""
        subject = f' <span class="subject">{escape(subject_of(app, page))}</span>'
        name = f'<span class="name"><span class="title">{title}</span>{road}{subject}</span>'
        inside = f'<span class="nr">{number(page)}</span> {name}'
        data = f'data-page="{escape(page)}" data-exercises="{ids}"'
        return f'<li class="toctree-l1{classes}" {data}><a class="{link}" href="{href}">{inside}</a></li>'

    return ENTRY.sub(entry, html)


def add_neighbours(app: Sphinx, page: str, template: str, context: dict[str, Any], document: object) -> None:
    """Above the title the chapter and the number, below it the subject; at the end the pages before and after."""
    for side, other in neighbours(app.env, page).items():
        if context.get(side):
            context[side] = context[side] | {"title": title_of(app, other, page)}
    if "body" not in context or not number(page):
        return
    eyebrow = f'<p class="eyebrow">{escape(chapter_title(app, page))} · {number(page)}</p>\n<h1>'
    if page in app.course_side_roads:  # type: ignore[attr-defined]
        eyebrow = '<p class="on-a-side-road">A side road: no other page needs this one.</p>\n' + eyebrow
    head = context["body"].replace("<h1>", eyebrow, 1)
    if subject := subject_of(app, page):
        head = head.replace("</h1>", f'</h1>\n<p class="page-subject">{escape(subject)}</p>', 1)
        context["title"] = with_subject(context["title"], escape(subject))
    context["body"] = head


def neighbours(env: BuildEnvironment, page: str) -> dict[str, str]:
    """The pages before and after this one."""
    before, after = env.collect_relations().get(page, (None, None, None))[1:]
    return {side: other for side, other in (("prev", before), ("next", after)) if other}


def title_of(app: Sphinx, page: str, here: str) -> str:
    """`2.1 A sequence attends to itself`; where a new chapter begins, that it does."""
    title = f"{number(page)} {escape(app.env.titles[page].astext())}".strip()
    changes = number(page) and number(here).split(".")[0] != number(page).split(".")[0]
    comes_later = changes and (not number(here) or number(here) < number(page))
    if not comes_later:
        return title
    return f'{title}<span class="new-chapter">, a new chapter: {escape(chapter_title(app, page))}</span>'


def read_chapters(app: Sphinx, config: Config) -> None:
    book = Path(app.srcdir) / "book"
    named, aside, subjects = titles(book), side_roads(book), page_subjects(book)
    app.course_chapters = named  # type: ignore[attr-defined]
    app.course_side_roads = aside  # type: ignore[attr-defined]
    app.course_subjects = subjects  # type: ignore[attr-defined]
    config["course_contents"] = repr((named, sorted(aside), subjects))  # when it changes, pages are written


def setup(app: Sphinx) -> None:
    app.add_config_value("course_contents", "", "html")
    app.connect("config-inited", read_chapters)
    app.connect("html-page-context", add_neighbours, priority=600)  # after the theme has set them
