"""At the head of a notebook's page: how long it takes to read, its exercises, and where in the chapter it stands.

The time is counted, not measured: 200 words a minute, 15 seconds for a displayed formula, 2 for one in a line, 2 for a
line of code in sight and 15 for a figure. What is folded away is not counted, nor are the exercises.
"""

import re
from collections.abc import Iterator
from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from .chapters import PAGE, number, numbered_pages
from .frames import Frame, id_of
from .page_facts import facts_of

WORDS_A_SECOND = 200 / 60
DISPLAYED, IN_LINE, CODE_LINE, FIGURE = 15, 2, 2, 15


def in_sight(document: nodes.document) -> Iterator[nodes.Node]:
    """The nodes outside of folds."""
    depth = 0
    for node in document.findall():
        if isinstance(node, nodes.raw):
            depth += node.astext().count("<details") - node.astext().count("</details")
        if depth == 0:
            yield node


def seconds(node: nodes.Node) -> float:
    if isinstance(node, nodes.math_block):
        return DISPLAYED
    if isinstance(node, nodes.math):
        return IN_LINE
    if isinstance(node, nodes.raw):
        return FIGURE if node.astext().startswith('<div class="drawing"') else 0
    if isinstance(node, nodes.literal_block):
        return CODE_LINE * sum(map(bool, node.astext().splitlines())) if shown(node) else 0
    silent = nodes.math | nodes.math_block | nodes.raw | nodes.literal_block
    in_text = isinstance(node, nodes.Text) and not isinstance(node.parent, silent)
    return len(node.astext().split()) / WORDS_A_SECOND if in_text else 0


def shown(code: nodes.literal_block) -> bool:
    """Code of a cell that is not folded; outputs and folded code are not read line by line."""
    source = code.parent
    cell = source.parent if source is not None else None
    is_source = isinstance(source, nodes.container) and source.get("nb_element") == "cell_code_source"
    return is_source and cell is not None and not cell.get("hide_mode")


def collect(app: Sphinx, document: nodes.document) -> None:
    if number(app.env.docname):
        facts = facts_of(app.env)
        facts.minutes = max(1, round(sum(map(seconds, in_sight(document))) / 60))
        facts.exercises = [id_of(frame) for frame in document.findall(Frame) if frame["kind"] == "exercise"]


def chapter_of(env: BuildEnvironment, page: str) -> list[str]:
    """The notebooks of the page's chapter in their order."""
    folder = page.rpartition("/")[0]
    return numbered_pages(other for other in env.all_docs if other.rpartition("/")[0] == folder)


def facts_line(env: BuildEnvironment, page: str, to_read: str = " to read") -> str:
    facts = facts_of(env, page)
    parts = [f"{facts.minutes} min{to_read}"]
    if facts.exercises:
        count = len(facts.exercises)
        parts.append(f"{count} exercise{'s' if count > 1 else ''}")
    return " · ".join(parts)


def chapter_map(app: Sphinx, page: str) -> str:
    """The chapter's notebooks, folded; in the fold's title a strip with one mark for each."""
    builder: Any = app.builder
    chapter = chapter_of(app.env, page)
    if len(chapter) < 2:
        return ""
    place = chapter.index(page)
    marks = "".join(f"<i{' class=here' if i == place else ''}></i>" for i in range(len(chapter)))
    rows = ""
    for other in chapter:
        current = ' aria-current="page"' if other == page else ""
        title = f"{number(other)} {escape(app.env.titles[other].astext())}"
        address = builder.get_relative_uri(page, other) or "#"
        rows += (
            f'<li><a href="{address}"{current}>{title}</a> <span>{facts_line(app.env, other, "")}</span></li>'
        )
    summary = f'<span class="strip" aria-hidden="true">{marks}</span>Notebook {place + 1} of {len(chapter)}'
    inside = f'<nav aria-label="Chapter"><ol>{rows}</ol></nav>'
    return f'<details class="chapter-map"><summary>{summary}</summary>{inside}</details>'


def add_head(app: Sphinx, page: str, template: str, context: dict[str, Any], document: object) -> None:
    notebook = "body" in context and PAGE.fullmatch(page)
    # The browser waits for the whole head of the page before it paints, because a part of it has another layout.
    if "body" in context:
        above = "page-head" if notebook else "searchbox"
        expect = f'<link rel="expect" href="#{above}" blocking="render" />\n'
        context["metatags"] = context.get("metatags", "") + expect
    if notebook:
        line = f'<p class="at-a-glance">{facts_line(app.env, page)}</p>'
        head = f'</h1>\n<div class="page-head" id="page-head">{line}{chapter_map(app, page)}</div>'
        context["body"] = re.sub("</h1>", lambda _: head, context["body"], count=1)


def stale(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Notebooks whose map says something else than when they were written."""
    notebooks = [page for page in env.all_docs if number(page)]
    said = {
        page: tuple(
            (other, env.titles[other].astext(), facts_line(env, other)) for other in chapter_of(env, page)
        )
        for page in notebooks
    }
    before = getattr(env, "course_maps", {})
    env.course_maps = said  # type: ignore[attr-defined]
    return [page for page in notebooks if before.get(page) != said[page]]


def setup(app: Sphinx) -> None:
    app.connect("doctree-read", collect)
    app.connect("env-updated", stale)
    app.connect("html-page-context", add_head)
