"""The course's own model in a page: a cell with the tag `inside-gpt` gets the living picture below it.

The cell draws a figure with stored numbers, which is all that Jupyter, paper and a page without scripts show. The
script of the page is small and offers a button; the model itself, one file, is asked for when the button is pressed.
"""

import hashlib
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

from attnlib.js.script import model_file, page_script

from .page_facts import facts_of, pages

TAG = "inside-gpt"
FOLDER = "inside"


class InsideGPT(nodes.General, nodes.Element):
    """Where the living picture stands."""


class PlaceInsideGPT(SphinxTransform):
    default_priority = 215  # after the figure has its caption

    def apply(self, **kwargs) -> None:
        for cell in list(self.document.findall(nodes.container)):
            tags = cell.get("cell_metadata", {}).get("tags", [])
            if cell.get("nb_element") == "cell_code" and TAG in tags:
                cell.parent.insert(cell.parent.index(cell) + 1, InsideGPT(""))
                facts_of(self.env).inside_gpt = True


def marked(name: str, text: str) -> str:
    """A file's address with a mark that changes when the file does."""
    return f"{name}?v={hashlib.sha256(text.encode()).hexdigest()[:8]}"


def visit(self, node: InsideGPT) -> None:
    folder = f"{'../' * self.builder.current_docname.count('/')}_static/{FOLDER}"
    model = f"{folder}/{marked('course-model.js', model_file())}"
    self.body.append(
        f'<div class="inside-gpt" data-model="{model}" data-size="{len(model_file())}"></div>'
        f'<script src="{folder}/{marked("inside.js", page_script())}" defer></script>\n'
    )
    raise nodes.SkipNode


def write_files(app: Sphinx, exception: Exception | None) -> None:
    if (
        exception
        or app.builder.format != "html"
        or not any(facts.inside_gpt for facts in pages(app.env).values())
    ):
        return
    folder = Path(app.outdir) / "_static" / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in {"inside.js": page_script, "course-model.js": model_file}.items():
        if older(folder / name, Path(app.srcdir) / "attnlib"):
            (folder / name).write_text(text(), "utf8")


def older(file: Path, sources: Path) -> bool:
    """Whether a file lacks, or something of what it is made of was written since."""
    made = file.stat().st_mtime if file.exists() else 0
    parts = [*(sources / "js").rglob("*.*"), *(sources / "data").rglob("*.*")]
    return any(part.stat().st_mtime >= made for part in parts)


def setup(app: Sphinx) -> None:
    app.add_node(InsideGPT, html=(visit, None))
    app.add_transform(PlaceInsideGPT)
    app.connect("build-finished", write_files)
