"""Which letters the formulas of finished pages draw, and in which of KaTeX's fonts.

KaTeX says by the classes of its elements in which font a letter stands, and its style sheet says which classes mean
which font. Both are read here, so that a font which no formula uses is not shipped, and of the others only what is
used.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from html import unescape
from typing import NamedTuple

BEGINS = re.compile(r'<span class="katex-html"[^>]*>')
TOKEN = re.compile(r"<(/?)span([^>]*)>|<[^>]*>|([^<]+)")
CLASSES = re.compile(r'class="([^"]*)"')
NAMED = re.compile(r"\.([\w-]+)")
SETTING = re.compile(r'font-(family|style|weight):\s*"?(\w+)')


class Face(NamedTuple):
    """One font of a family, as `@font-face` names it."""

    family: str
    style: str
    weight: str


ROOT = Face("KaTeX_Main", "normal", "400")
Rule = tuple[
    frozenset[str], dict[str, str]
]  # if an element and those around it have these classes, that is set


def rules_of(css: str) -> list[Rule]:
    """What a style sheet says about the fonts of formulas.

    >>> rules_of(".katex .mathbf, .katex .x { font-family:KaTeX_Main;font-weight:700 } .katex .y { top:0 }")[0]
    (frozenset({'mathbf'}), {'family': 'KaTeX_Main', 'weight': '700'})
    """
    found = []
    for head, body in re.findall(r"([^{}]*\.katex [^{}]*)\{([^{}]*)\}", css):
        changes = dict(SETTING.findall(body))
        found += [(frozenset(NAMED.findall(one)) - {"katex"}, changes) for one in head.split(",") if changes]
    return found


def runs(page: str, rules: list[Rule]) -> Iterator[tuple[Face, str]]:
    """Each piece of text in the drawn formulas of a page, with its font."""

    @cache
    def inside(around: frozenset[str], face: Face, own: str) -> tuple[frozenset[str], Face]:
        classes = around.union(own.split())
        for wanted, changes in rules:
            if wanted <= classes and wanted & set(own.split()):
                face = face._replace(**changes)
        return classes, face

    for begin in BEGINS.finditer(page):
        open_ = [(frozenset[str](), ROOT)]
        for closes, attributes, text in map(re.Match.groups, TOKEN.finditer(page, begin.end())):
            if text:
                yield open_[-1][1], unescape(text)
            elif closes:
                open_.pop()
                if not open_:
                    break
            elif attributes is not None:
                own = CLASSES.search(attributes)
                open_.append(inside(*open_[-1], own[1] if own else ""))


def letters(pages: list[str], css: str) -> dict[Face, set[str]]:
    """The letters of all formulas by their font.

    >>> page = '<span class="katex-html"><span class="mathbf">A</span><span>b</span></span>'
    >>> letters([page], ".katex .mathbf { font-weight:700 }")[Face("KaTeX_Main", "normal", "700")]
    {'A'}
    """
    found: dict[Face, set[str]] = defaultdict(set)
    rules = rules_of(css)
    for page in pages:
        for face, text in runs(page, rules):
            found[face].update(text)
    return found
