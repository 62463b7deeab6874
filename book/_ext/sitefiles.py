"""Old addresses of pages lead on (book/redirects.yml, by sphinx-reredirects); pages made by Sphinx are not indexed."""

from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx_sitemap import add_html_link


def lead_on(app: Sphinx, config: Config) -> None:
    """The page to which each old name redirects."""
    file = Path(app.srcdir) / "book" / "redirects.yml"
    if file.exists():
        config.redirects = {
            old: f"/{new}.html" for old, new in yaml.safe_load(file.read_text("utf8")).items()
        }


def keep_out(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Search engines must not list Sphinx's index and search pages."""
    if doctree is None:
        context["metatags"] = context.get("metatags", "") + '<meta name="robots" content="noindex" />\n'


def name_all_pages(app: Sphinx, exception: Exception | None) -> None:
    """The site map lists every page, even if this build wrote only the changed ones."""
    if exception or app.builder.name != "html" or "sphinx_sitemap" not in app.extensions:
        return
    links = app.sitemap_links  # type: ignore[attr-defined]
    while not links.empty():
        links.get()
    for page in sorted(app.env.found_docs):
        add_html_link(app, page, "", {}, None)


def setup(app: Sphinx) -> None:
    app.connect("build-finished", name_all_pages, priority=400)  # before sphinx_sitemap writes
    app.connect("config-inited", lead_on)
    app.connect("html-page-context", keep_out)
