"""The finished page: no script that it does not need, accessible names, formulas for previews.

The theme loads 1.5 MB of scripts on every page, stops the first paint for the search index, and gives a few
controls names that contradict their labels. That is mended here, on the HTML of each page as it is written. What a
page needs of those scripts is in book/_static/theme.js; the search index is loaded by the search page alone.
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

from .facts import facts_of, pages
from .maths import KATEX, FormulaError, render
from .slim import slim

logger = logging.getLogger(__name__)

SECTION = re.compile(r"book/(\d\d)-([\w-]+)/(\d+)-[\w-]+")

# The fonts that the first lines need, asked for before the style sheets are read. A file:// page may not preload.
FONTS = (
    "fonts/source-serif-4-latin-wght-normal.woff2",
    "fonts/source-sans-3-latin-wght-normal.woff2",
)
MATHS_FONTS = (
    "katex/fonts/KaTeX_Main-Regular.woff2",
    "katex/fonts/KaTeX_Math-Italic.woff2",
)
# Its letters are wide: late, they would move a whole table.
BOLD_FONT = ("katex/fonts/KaTeX_Main-Bold.woff2",)

UNUSED = (
    r"(?:scripts/(?:fontawesome|bootstrap|pydata-sphinx-theme|sphinx-book-theme)|clipboard\.min|copybutton)"
)
FOR_SEARCH = re.compile(
    r"\s*<script[^>]*(?:documentation_options|doctools|sphinx_highlight|searchtools|language_data|searchindex)\.js"
    r"[^>]*></script>|\s*<script>DOCUMENTATION_OPTIONS\..*?</script>"
)
# Light or dark is settled before the first paint, so that nothing flashes.
COLOURS = """<script>(page => {
    let mode = "auto";
    try { mode = localStorage.getItem("mode") || mode; } catch {}
    const night = matchMedia("(prefers-color-scheme: dark)").matches;
    page.mode = mode;
    page.theme = mode == "auto" ? (night ? "dark" : "light") : mode;
  })(document.documentElement.dataset)</script>"""
SIDEBAR = '<div role="navigation" aria-label="Book" class="sidebar-primary-items__start'
REPAIRS: list[tuple[str, str]] = [
    (rf"\s*<(?:script|link)[^>]*_static/{UNUSED}\.js[^>]*>(?:</script>)?", ""),
    (r'<script data-cfasync="false">.*?</script>', COLOURS),
    # Scripts wait until the page is there; only the options are needed by what stands between them.
    (r'<script src="([^"]*_static/(?!documentation_options)[^"]*)">', r'<script defer src="\1">'),
    (r'<script src="([^"]*searchindex\.js)">', r'<script defer src="\1">'),
    # The same element twice.
    (r'\s*<meta name="viewport" content="width=device-width, initial-scale=1" ?/>', ""),
    # The corner of a table that says nothing heads nothing.
    (r'<th class="head[^"]*"><p></p></th>', "<td></td>"),
    # What is read aloud is what is written; the sidebar's title belongs to a landmark.
    (r'<summary aria-label="Toggle hidden content">', "<summary>"),
    (r'(<button class="btn search-button-field[^>]*?) aria-label="[^"]*"', r"\1"),
    (r'<div class="sidebar-primary-items__start', SIDEBAR),
]
ENTRY = re.compile(r'(<a class="reference internal nav-link" href="#[^"]*">)([\w.]+)(?=</a>)')
COMPILED = [(re.compile(pattern, re.S), replacement) for pattern, replacement in REPAIRS]


def preload(content_root: str, files: tuple[str, ...]) -> str:
    """A line of script that asks for fonts at once."""
    wanted = ",".join(f'"{content_root}_static/{file}"' for file in files)
    link = "<link rel=preload as=font type=font/woff2 crossorigin href='\"+f+\"'>"
    return (
        f'<script>if(location.protocol!="file:")for(const f of [{wanted}])document.write("{link}")</script>'
    )


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
    if 'id="search-results"' not in html:
        html = FOR_SEARCH.sub("", html)
    root = re.search(r'<html[^>]*data-content_root="([^"]*)"', html)
    if root:
        # With a few formulas not every font is sure to be needed.
        fonts = FONTS + MATHS_FONTS if html.count('class="katex"') > 10 else FONTS
        fonts += BOLD_FONT if html.count('"mord mathbf"') > 10 else ()
        html = html.replace("<head>", f"<head>\n    {preload(root[1], fonts)}", 1)
    return slim(html)


def tidy_what_is_written(app: Sphinx) -> None:
    """Every page passes through the template engine; ours is the last hand."""
    templates = getattr(app.builder, "templates", None)
    if templates is None:
        return
    render_template = templates.render

    def render_and_tidy(name: str, context: dict[str, Any]) -> str:
        text = render_template(name, context)
        return tidy(text) if name.endswith(".html") else text

    templates.render = render_and_tidy


def add_to_body(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: object,
) -> None:
    """`Foundations · 1.2` above the title of book/01-foundations/2-..., and the formulas that its links may show."""
    if "body" not in context:
        return
    found = SECTION.fullmatch(pagename)
    if found:
        name = found[2].replace("-", " ").capitalize()
        eyebrow = f'<p class="eyebrow">{name} · {int(found[1])}.{found[3]}</p>\n<h1>'
        context["body"] = context["body"].replace("<h1>", eyebrow, 1)
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
    """KaTeX and the fonts are brought up to date first; when they are, that takes no time and no network."""
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
    ):
        for file in static.glob(unused):
            file.unlink(missing_ok=True)


def search_from_a_disk(app: Sphinx, exception: Exception | None) -> None:
    """The search shows a line of each page that it finds; a page on a disk may not read others, so not there."""
    options = Path(app.outdir) / "_static" / "documentation_options.js"
    if exception or not options.exists():
        return
    text = options.read_text("utf8")
    options.write_text(text.replace("SUMMARY: true", 'SUMMARY: location.protocol !== "file:"'), "utf8")


def forget_after_warnings(app: Sphinx, exception: Exception | None) -> None:
    """A build with warnings is not remembered: the next one finds them again, instead of passing for want of news."""
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
    app.connect("build-finished", search_from_a_disk)
    app.connect("build-finished", forget_after_warnings)
