"""What the search finds besides words: equations by their numbers, exercises and rows of the ledger by their names.

Sphinx's search finds a heading if what is typed is in it and at least half as long. These places are entered as
headings of their pages, so no script is needed. Of an equation's headings each way to type it (`1.8`, `eq 1.8`,
`(1.8)`, `equation 1.8`) fits one. The order of what is found is in `scorer.js`.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment

from .facts import facts_of

NAMED = re.compile(r"(eq|ex|theorem|lemma|proposition|corollary|definition)-|[sec]\d{3}$")


def headings(anchor: str, text: str) -> list[str]:
    """The headings under which a place is entered.

    >>> headings("eq-softmax", "(1.8)"), headings("ex-foundations-scale", "foundations.scale"), headings("s016", "s016")
    (['Eq 1.8', 'Eq. (1.8)', 'Equation 1.8'], ['foundations.scale'], ['S016'])
    """
    if anchor.startswith("eq-"):
        number = text.strip("()")
        return [f"Eq {number}", f"Eq. ({number})", f"Equation {number}"]
    return [anchor.upper() if text == anchor else text]


def places(env: BuildEnvironment, page: str) -> Iterator[tuple[str, str]]:
    """(heading, id) of each place of a page that has a name of its own."""
    known = env.metadata.get(page, {}).get("myst_slugs", {})
    for anchor in sorted(facts_of(env, page).anchors & known.keys()):
        if NAMED.match(anchor):
            yield from ((heading, anchor) for heading in headings(anchor, known[anchor][2]))


def enter(app: Sphinx) -> list[tuple]:
    """Before the index is written; no page is added."""
    indexer = getattr(app.builder, "indexer", None)
    if indexer is not None:
        for page, entered in indexer._all_titles.items():
            entered += [place for place in places(app.env, page) if place not in entered]
    return []


def use_our_order(app: Sphinx, config: Config) -> None:
    config["html_search_scorer"] = str(Path(__file__).parent / "scorer.js")


def setup(app: Sphinx) -> None:
    app.connect("config-inited", use_our_order)
    app.connect("html-collect-pages", enter)
