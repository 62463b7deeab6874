"""The files that a site has beside its pages: a map, a word to robots, a page for addresses that lead nowhere, and
pages that lead on from old addresses (book/redirects.yml).
"""

from pathlib import Path
from typing import Any

import yaml
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)

LEADS_ON = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8" /><title>This page has moved</title>
<meta http-equiv="refresh" content="0; url={link}" /><link rel="canonical" href="{address}" />
<meta name="robots" content="noindex" /></head>
<body><p>This page has moved: <a href="{link}">{address}</a></p></body></html>
"""


def redirects(root: Path) -> dict[str, str]:
    """Old names of pages and the names that they have now, from book/redirects.yml."""
    file = root / "book" / "redirects.yml"
    return yaml.safe_load(file.read_text("utf8")) or {} if file.exists() else {}


def lead_on(old: str, new: str, names: set[str], out: Path, site: str) -> str:
    """Write the page `old` that leads to `new`; what is wrong with the two, in a sentence, or nothing."""
    if old in names:
        return f"redirects.yml: {old} is a page of the book, so it cannot lead on to {new}; remove the line."
    if new not in names:
        return f"redirects.yml: {old} leads to {new}, which is no page of the book; name one of _toc.yml."
    link = "../" * old.count("/") + new + ".html"
    target = out / f"{old}.html"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(LEADS_ON.format(link=link, address=f"{site}{new}.html"), "utf8")
    return ""


def sitemap(names: list[str], site: str) -> str:
    """
    >>> sitemap(["book/intro"], "https://b.example/").splitlines()[2]
    '<url><loc>https://b.example/book/intro.html</loc></url>'
    """
    urls = "".join(f"<url><loc>{site}{name}.html</loc></url>\n" for name in names)
    space = "http://www.sitemaps.org/schemas/sitemap/0.9"
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="{space}">\n{urls}</urlset>\n'


def write_redirects(app: Sphinx) -> list[Any]:
    """Before the pages are written, so that a wrong line is a warning of the build."""
    names = set(app.env.all_docs)
    for old, new in redirects(Path(app.srcdir)).items():
        wrong = lead_on(old, new, names, Path(app.outdir), app.config.html_baseurl)
        if wrong:
            logger.warning(wrong)
    return []


def write_files(app: Sphinx, exception: Exception | None) -> None:
    if exception or app.builder.name != "html":
        return
    out, site = Path(app.outdir), app.config.html_baseurl
    pages = sorted(app.env.all_docs)
    (out / "sitemap.xml").write_text(sitemap(pages, site), "utf8")
    (out / "robots.txt").write_text(f"User-agent: *\nAllow: /\nSitemap: {site}sitemap.xml\n", "utf8")
    lost = Path(__file__).parent.parent / "_templates" / "404.html"
    (out / "404.html").write_text(lost.read_text("utf8").replace("{{ site }}", site), "utf8")


def setup(app: Sphinx) -> None:
    app.connect("html-collect-pages", write_redirects)
    app.connect("build-finished", write_files)
