"""The book's Sphinx extension: plain notebook conventions become rich pages.

Bottom-up, each module uses only those above it:

    facts      what is remembered of each page between builds
    ledger     the rows of book/ledger: schema, loader, counts
    proofs     do a row's `where` and `proof` lead anywhere, and does the proof assert anything?
    badges     small links from a page to a row of the ledger
    anchors    <a id="..."></a> becomes a place that links can point to
    frames     block quotes with a bold keyword become claim boxes, callouts, theorems, exercises
    figures    figures become part of the page and take its text colour
    explorables  stored widgets become pictures that move without a kernel
    cells      a code cell that asserts a row says so
    maths      formulas are typeset while building; one that cannot be is a warning
    package    what attnlib offers, read from its source
    signatures its shapes and parameters as they read best
    docstrings its docstrings as parts of a page
    uses       which parts of it a notebook imports and uses
    teaching   where a part of it is taught
    api        the reference of attnlib
    apilinks   its names in a notebook lead to the reference
    notation   the first use of a symbol says what it means
    reading    how long a notebook takes, and the map of its chapter
    finding    equations, exercises and rows of the ledger are found by number and name
    listing    the pages Systems, Equations and Claims
    exercises  the index of the exercises, and their folded solutions
    slim       fewer elements for the same picture
    pages      the finished page: scripts, fonts, accessible names, a way to run it
    meta       what a page says about itself to search engines and when it is shared
    sitefiles  map of the site, robots, the page for lost readers, redirects
    styles     one style sheet, with the rules that the pages use
    fonts      the fonts, with the letters that the pages use
"""

import hashlib
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from . import (
    anchors,
    api,
    apilinks,
    badges,
    cells,
    exercises,
    explorables,
    facts,
    figures,
    finding,
    fonts,
    frames,
    listing,
    maths,
    meta,
    notation,
    pages,
    reading,
    sitefiles,
    styles,
    uses,
)

MODULES = (
    facts, badges, anchors, frames, figures, explorables, cells, maths,
    uses, api, apilinks, notation, reading, finding, listing, exercises, pages, meta, sitefiles, styles, fonts,
)  # fmt: skip


def fingerprint() -> int:
    """A number of this code: pages that were read by other code are read again."""
    files = [file for file in sorted(Path(__file__).parent.iterdir()) if file.suffix in (".py", ".js")]
    code = b"".join(file.read_bytes() for file in files)
    return int(hashlib.sha256(code).hexdigest()[:8], 16)


def setup(app: Sphinx) -> dict[str, Any]:
    for module in MODULES:
        module.setup(app)
    return {
        "version": "1",
        "env_version": fingerprint(),
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }
