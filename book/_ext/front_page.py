"""What the first page offers besides its text: where to start and to continue, what was read, and how to cite."""

from html import escape
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

from .anchors import register
from .chapters import number, numbered_pages
from .reading import facts_line

ROOT = "book/intro"
BIBTEX = """@misc{{attention-executed,
  title = {{{title}}},
  author = {{{{{author}}}}},
  year = {{{year}}},
  version = {{{version}}},
  url = {{{url}}},
}}"""
KEPT = """<div class="progress-tools pst-js-only">
<p class="progress-said" role="status">Nothing yet.</p>
<p><button type="button" data-does="export">Save a copy</button>
<button type="button" data-does="import">Load a copy</button>
<button type="button" data-does="forget">Forget it</button>
<input type="file" accept="application/json,.json" aria-label="A saved copy" hidden></p>
</div>
<noscript><p>Scripts are off, so nothing is kept.</p></noscript>"""


def citation(root: Path) -> tuple[str, str]:
    """One sentence and an entry for BibTeX, both from CITATION.cff, whose address is set from publish.toml."""
    cited = yaml.safe_load((root / "CITATION.cff").read_text("utf8"))
    author, year = cited["authors"][0]["name"], str(cited["date-released"])[:4]
    title, version, url = cited["title"], cited["version"], cited["url"]
    sentence = f"{author} ({year}). {title}. Version {version}. {url}"
    return sentence, BIBTEX.format(title=title, author=author, year=year, version=version, url=url)


class AddSections(SphinxTransform):
    """At the end of the first page: what was read, and how to cite."""

    default_priority = 219

    def apply(self, **kwargs: object) -> None:
        root = Path(self.app.srcdir)
        top = next(self.document.findall(nodes.section), None)
        if self.env.docname != ROOT or top is None or not (root / "CITATION.cff").exists():
            return
        sentence, entry = citation(root)
        text = (
            "Pages that you have read to their end carry a mark in the contents, and a bar below a chapter's name says "
            "how many of its exercises you have solved. This is kept in your browser, sent to nobody. A saved copy can "
            "be loaded in another one, and in Python by load_progress; Python's own progress file can be loaded here."
        )
        kept = [nodes.paragraph("", text), nodes.raw("", KEPT, format="html")]
        cite = [nodes.paragraph("", sentence), nodes.literal_block(entry, entry, language="none")]
        top.append(self.section("What you have read", "what-you-have-read", kept))
        top.append(self.section("How to cite", "how-to-cite", cite))

    def section(self, title: str, anchor: str, parts: list[nodes.Node]) -> nodes.section:
        made = nodes.section("", nodes.title(title, title), *parts)
        register(self.document, self.env, anchor, made, title)
        return made


def add_start(app: Sphinx, page: str, template: str, context: dict[str, Any], document: object) -> None:
    """Below the first paragraph a link to the first notebook; a script adds one to where the reader stopped."""
    first = next(iter(numbered_pages(app.env.all_docs)), None)
    if page != ROOT or "body" not in context or first is None:
        return
    builder: Any = app.builder
    title = escape(app.env.titles[first].astext())
    button = (
        f'<p class="start"><a class="start-button" href="{builder.get_relative_uri(page, first)}">'
        f"Start with {number(first)} {title}</a> <span>first page: {facts_line(app.env, first)}</span></p>"
    )
    title_end = context["body"].index("</h1>")
    before, after = context["body"][:title_end], context["body"][title_end:]
    context["body"] = before + after.replace("</p>", f"</p>\n{button}", 1)


def setup(app: Sphinx) -> None:
    app.add_transform(AddSections)
    app.connect("html-page-context", add_start)
