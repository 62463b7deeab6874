"""At the foot of a page: a button "Mark as read", and links to its source, to report an error and to edit it.

Repository and branch are those of publish.toml, as `make address` has set them.
"""

from html import escape
from typing import Any
from urllib.parse import urlencode

from sphinx.application import Sphinx

from .chapters import number

# Shown when progress.js listens to it, and has said whether it is pressed.
READ = '<button type="button" class="mark-read pst-js-only">Mark as read</button>'


def links(repository: str, branch: str, file: str, title: str, address: str) -> dict[str, str]:
    """
    >>> found = links("https://github.com/a/b", "main", "book/x.md", "X", "https://a.example/x.html")
    >>> found["Edit"]
    'https://github.com/a/b/edit/main/book/x.md'
    >>> found["Report an error on this page"].split("&")[0]
    'https://github.com/a/b/issues/new?title=Error+on+the+page+X'
    """
    asked = {
        "title": f"Error on the page {title}",
        "body": f"Page: {address}\n\nWhat it says, and what is right:\n",
    }
    return {
        "Report an error on this page": f"{repository}/issues/new?{urlencode(asked)}",
        "Edit": f"{repository}/edit/{branch}/{file}",
    }


def add_foot(app: Sphinx, page: str, template: str, context: dict[str, Any], document: object) -> None:
    theme = app.config.html_theme_options
    if "body" not in context or page not in app.env.all_docs or "repository_url" not in theme:
        return
    file = app.env.doc2path(page, base=False)
    title = f"{number(page)} {app.env.titles[page].astext()}".strip()
    address = f"{app.config.html_baseurl}{page}.html"
    found = links(theme["repository_url"], theme.get("repository_branch", "main"), file, title, address)
    shown = " ".join(f'<a href="{escape(address)}">{text}</a>' for text, address in found.items())
    read = READ if number(page) else ""
    context["body"] += f'<div class="page-foot">{read}<span>{shown}</span></div>\n'


def setup(app: Sphinx) -> None:
    app.connect("html-page-context", add_foot)
