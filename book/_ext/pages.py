"""The finished page: no script that it does not need, accessible names, formulas for previews.

The theme loads 1.5 MB of scripts on every page, stops the first paint for the search index, and gives a few
controls names that contradict their labels. That is mended here, on the HTML of each page as it is written. What a
page needs of those scripts is in book/_static/theme.js.
"""

import hashlib
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ConfigError
from sphinx.util import logging

from .fewer_elements import with_fewer_elements
from .maths import KATEX, FormulaError, render
from .navigation import numbered
from .outputs import narrowed
from .page_facts import facts_of, pages

logger = logging.getLogger(__name__)


UNUSED = (
    r"(?:scripts/(?:fontawesome|bootstrap|pydata-sphinx-theme|sphinx-book-theme)|clipboard\.min|copybutton)"
)
# Scripts of Sphinx's own search; of them ours uses the stemmer, on its page alone.
OF_SPHINX = re.compile(
    r"\s*<script[^>]*(?:documentation_options|doctools|sphinx_highlight|searchtools|searchindex)\.js[^>]*></script>"
    r"|\s*<script>DOCUMENTATION_OPTIONS\..*?</script>"
)
STEMMER = re.compile(r"\s*<script[^>]*language_data\.js[^>]*></script>")
# Light or dark is chosen before the first paint, so that nothing flashes. A page that is opened at an anchor, or by the
# back button, is laid out as a whole: only then does the browser know where the anchor is.
COLOURS = """<script>(page => {
    let mode = "auto";
    try { mode = localStorage.getItem("mode") || mode; } catch {}
    const night = matchMedia("(prefers-color-scheme: dark)").matches;
    page.mode = mode;
    page.theme = mode == "auto" ? (night ? "dark" : "light") : mode;
    const came = performance.getEntriesByType("navigation")[0]?.type;
    if (location.hash || location.search || came != "navigate") page.whole = "";
  })(document.documentElement.dataset)</script>"""
SIDEBAR = '<div role="navigation" aria-label="Book" class="sidebar-primary-items__start'
REPAIRS: list[tuple[str, str]] = [
    (rf"\s*<(?:script|link)[^>]*_static/{UNUSED}\.js[^>]*>(?:</script>)?", ""),
    (r'<script data-cfasync="false">.*?</script>', COLOURS),
    # Scripts wait until the page is there.
    (r'<script src="([^"]*_static/[^"]*)">', r'<script defer src="\1">'),
    # The same element twice.
    (r'\s*<meta name="viewport" content="width=device-width, initial-scale=1" ?/>', ""),
    # An empty cell in the corner of a table is no heading.
    (r'<th class="head[^"]*"><p></p></th>', "<td></td>"),
    # A label must contain the visible text; the title of the sidebar becomes its label.
    (r'<summary aria-label="Toggle hidden content">', "<summary>"),
    (r'(<button class="btn search-button-field[^>]*?) aria-label="[^"]*"', r"\1"),
    (r'<div class="sidebar-primary-items__start', SIDEBAR),
]
ENTRY = re.compile(r'(<a class="reference internal nav-link" href="#[^"]*">)([\w.]+)(?=</a>)')
COMPILED = [(re.compile(pattern, re.S), replacement) for pattern, replacement in REPAIRS]


def breakable(html: str) -> str:
    """Long names in the contents may go on in a second line, after a dot or before an underscore.

    >>> breakable('<a class="reference internal nav-link" href="#x">ops.attend_backward</a>').partition(">")[2]
    'ops.<wbr>attend<wbr>_backward</a>'
    """
    return ENTRY.sub(lambda entry: entry[1] + re.sub(r"(?<=\w)(?=_)|(?<=\.)", "<wbr>", entry[2]), html)


def tidy(html: str) -> str:
    """One finished page, repaired."""
    for pattern, replacement in COMPILED:
        html = pattern.sub(replacement, html)
    html = breakable(html)
    html = OF_SPHINX.sub("", html)
    if 'id="search-results"' not in html:
        html = STEMMER.sub("", html)
    return with_fewer_elements(narrowed(html))


def tidy_what_is_written(app: Sphinx) -> None:
    """Repair each page after the template engine has written it."""
    templates = getattr(app.builder, "templates", None)
    if templates is None:
        return
    render_template = templates.render

    def render_and_tidy(name: str, context: dict[str, Any]) -> str:
        text = render_template(name, context)
        return tidy(numbered(app, text, context.get("pagename", ""))) if name.endswith(".html") else text

    templates.render = render_and_tidy


def add_to_body(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: object,
) -> None:
    """The formulas that the links of a page may show."""
    if "body" in context:
        context["body"] += previews(app, pagename)


def previews(app: Sphinx, page: str) -> str:
    """The equations of other pages that this page links to, kept out of sight until a link is pointed at."""
    text = ""
    for there, label in sorted(facts_of(app.env, page).links):
        latex = pages(app.env)[there].equations.get(label) if there in pages(app.env) else None
        if not latex:
            continue
        try:
            formula = render(latex, True)
        except FormulaError:
            continue  # the page that it stands on has the warning
        text += f'<template data-equation="{label}"><div class="math">{formula}</div></template>\n'
    return text


def check_vendored(app: Sphinx) -> None:
    if not KATEX.exists():
        raise ConfigError(
            "book: the fonts in book/_vendor are missing. Run: .venv/bin/python tools/vendor.py"
        )


def fetch_assets(app: Sphinx, config: Config) -> None:
    """Fetch KaTeX and the fonts if they are missing or old; otherwise no network is used."""
    script = Path(app.srcdir) / "tools" / "vendor.py"
    if script.exists():
        done = subprocess.run([sys.executable, script], capture_output=True, text=True)
        if done.returncode:
            raise ConfigError(done.stderr.strip())


def watch_assets(app: Sphinx, config: Config) -> None:
    """Style, scripts and templates belong to each page: when one changes, all pages are written again."""
    folders = [Path(app.srcdir) / "book" / name for name in ("_static", "_templates", "_vendor")]
    assets = [file for folder in folders for file in sorted(folder.rglob("*")) if file.is_file()]
    digest = hashlib.sha256(b"".join(str(file).encode() + file.read_bytes() for file in assets))
    config["course_assets"] = digest.hexdigest()


def drop_what_nothing_asks_for(app: Sphinx, exception: Exception | None) -> None:
    """The theme's scripts, icon fonts, templates and source maps are not shipped."""
    static = Path(app.outdir) / "_static"
    if exception or app.builder.name != "html":
        return
    for unused in (
        "vendor/fontawesome/**/*.*",
        "**/*.map",
        "scripts/*.js*",
        "*webpack-macros.html",
        "locales/**/*.*",
        "documentation_options.js",
        "doctools.js",
        "sphinx_highlight.js",
        "searchtools.js",
    ):
        for file in static.glob(unused):
            file.unlink(missing_ok=True)


def forget_after_warnings(app: Sphinx, exception: Exception | None) -> None:
    """A build with warnings stores nothing, so that the next one reads all pages again and repeats the warnings."""
    if app._warncount:
        (Path(app.doctreedir) / "environment.pickle").unlink(missing_ok=True)


def setup(app: Sphinx) -> None:
    app.add_config_value("course_assets", "", "html")
    app.connect("config-inited", fetch_assets, priority=100)
    app.connect("config-inited", watch_assets)
    app.connect("builder-inited", check_vendored)
    app.connect("builder-inited", tidy_what_is_written)
    app.connect("html-page-context", add_to_body)
    app.connect("build-finished", drop_what_nothing_asks_for)
    app.connect("build-finished", forget_after_warnings)
