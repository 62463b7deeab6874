"""The finished page: no script that it does not need, accessible names, a way to run it.

The theme loads 1.4 MB of icon script on every page and gives a few controls names that contradict their labels. Both
are mended here, on the finished HTML of each page that is written.
"""

import re
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ConfigError

VENDORED = "book/_vendor/katex/katex.min.css"

# What a page starts with: the fonts of its first lines, wanted at once. From a file:// page they may not be preloaded.
PRELOADED = ("fonts/source-serif-4-latin-wght-normal.woff2", "fonts/source-sans-3-latin-wght-normal.woff2")
PRELOAD = """<script>if(location.protocol!="file:")for(const f of {files})\
document.write('<link rel="preload" as="font" type="font/woff2" crossorigin href="'+f+'">')</script>
"""

REPAIRS: list[tuple[re.Pattern[str], str]] = [
    # The icons are drawn by the style sheet.
    (re.compile(r"<script[^>]*fontawesome\.js[^>]*></script>\s*"), ""),
    (re.compile(r'<link[^>]*rel="preload"[^>]*fontawesome\.js[^>]*/?>\s*'), ""),
]


def check_vendored(app: Sphinx) -> None:
    if not (Path(app.srcdir) / VENDORED).exists():
        raise ConfigError(
            "book: the fonts in book/_vendor are missing. Run: .venv/bin/python tools/vendor.py"
        )


def tidy(html: str) -> str:
    """One finished page, repaired."""
    for pattern, replacement in REPAIRS:
        html = pattern.sub(replacement, html)
    return html


def tidy_what_is_written(app: Sphinx) -> None:
    """Every page passes through the template engine; ours is the last hand."""
    templates = getattr(app.builder, "templates", None)
    if templates is None:
        return
    render = templates.render
    templates.render = lambda name, context: (
        tidy(render(name, context)) if name.endswith(".html") else render(name, context)
    )


def forget_after_warnings(app: Sphinx, exception: Exception | None) -> None:
    """A build with warnings is not remembered: the next one finds them again, instead of passing for want of news."""
    if app._warncount:
        (Path(app.doctreedir) / "environment.pickle").unlink(missing_ok=True)


def setup(app: Sphinx) -> None:
    app.connect("builder-inited", check_vendored)
    app.connect("builder-inited", tidy_what_is_written)
    app.connect("build-finished", forget_after_warnings)
