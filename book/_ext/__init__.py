"""The book's Sphinx extension: plain notebook conventions become rich pages.

Bottom-up, each module uses only those above it:

    chapters   what each chapter's folder says of it, and the numbers of pages
    notebooks  what each notebook says of itself: title, side road, anchors, the rows that it proves
    page_facts  what is remembered of each page between builds
    ledger     the rows of the ledger: schema, loader, counts
    proofs     do a row's `where` and `proof` lead anywhere, and does the proof assert anything?
    badges     small links from a page to a row of the ledger
    anchors    <a id="..."></a> becomes an anchor that links can point to
    frames     block quotes with a bold keyword become claim boxes, callouts, theorems, exercises
    figures    figures become part of the page and take its text colour
    explorables  stored widgets become pictures that move without a kernel
    inside_gpt  the course's own model in a page, and its two files
    cells      a code cell that asserts a row says so
    maths      formulas are typeset while building; one that cannot be is a warning
    package    what attnlib offers, read from its source
    inline_markup  `code`, $formulas$, **bold** and *emphasis* in the package's texts become nodes of a page
    signatures its shapes and parameters as they read best
    docstrings its docstrings as parts of a page
    imports_used  which of attnlib's names a notebook imports and uses
    taught_in  which pages teach a name of attnlib
    api        the reference of attnlib
    twins      where each of its equations is in PyTorch
    peers      what other code calls what it has
    apilinks   its names in a notebook lead to the reference
    notation   the first use of a symbol says what it means
    glossary   the first use of a term says what it means
    meanings   what the links to symbols and terms say
    plain_text  a page's text without markup
    reading    how long a notebook takes, and the map of its chapter
    ledger_pages  the pages Systems, Equations and Claims
    answering  where an exercise is answered in the page
    exercises  the index of the exercises, and their folded solutions
    search_data  what the search searches
    overviews  the pages Pictures to move and Subjects from A to Z
    navigation  numbers in the contents, the pages before and after, side roads
    front_page  what the first page offers: where to start, what was read, how to cite
    page_foot  below a page: whether it was read, links to its source and to report an error
    bibliography  titles under Further reading lead to their papers
    outputs    what a cell prints, narrow enough for a phone
    fewer_elements  fewer HTML elements for the same picture
    pages      the finished page: scripts, fonts, accessible names, a way to run it
    sitefiles  old addresses lead on; pages made by Sphinx are not indexed
    letters    which letters stand in which font of the formulas
    fonts      the fonts, with the letters that the pages use
    styles     one style sheet, with the rules that the pages use and the fonts
"""

import hashlib
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from . import (
    anchors,
    answering,
    api,
    apilinks,
    badges,
    bibliography,
    cells,
    exercises,
    explorables,
    figures,
    frames,
    front_page,
    glossary,
    imports_used,
    inside_gpt,
    ledger_pages,
    maths,
    meanings,
    navigation,
    notation,
    overviews,
    page_facts,
    page_foot,
    pages,
    peers,
    reading,
    search_data,
    sitefiles,
    styles,
    twins,
)

MODULES = (
    page_facts, badges, anchors, frames, figures, explorables, inside_gpt, cells, maths, imports_used, api, twins,
    peers, apilinks, notation, glossary, meanings, reading, ledger_pages, answering, exercises, search_data, navigation,
    overviews, front_page, page_foot, bibliography, pages, sitefiles, styles,
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
