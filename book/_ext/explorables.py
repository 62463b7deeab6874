"""Pictures to move: a stored widget becomes its static figure, and a script that replaces the figure when it runs.

A notebook stores a widget as a view beside a drawing, and all widgets' states in its metadata, scripts included. The
page gets the drawing and what the reader may move; the scripts of a page go into one file, which is asked for when the
first of its pictures is nearly in view (`course.js`). No kernel, no library, and a file:// page works as well.
"""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

from .page_facts import facts_of, pages

logger = logging.getLogger(__name__)

LOADER = Path(__file__).with_name("explorables.js")
VIEW = "application/vnd.jupyter.widget-view+json"
MODEL_ID = re.compile(r'"model_id":\s*"(\w+)"')
EXPORT = re.compile(r"^export (default )?", re.M)


class Explorable(nodes.General, nodes.Element):
    """A picture to move: its children are the static figure."""


def bundle(explorables: dict[str, tuple[str, str]]) -> str:
    """The classic script of a page: the loader, then each style and each module as a function returning its default.

    >>> print(bundle({"Dot": ("export const two = 2;\\nexport default { render };", "")}).splitlines()[-2])
    return { render };
    """
    parts = [LOADER.read_text("utf8")]
    for name, (module, style) in explorables.items():
        body = EXPORT.sub(lambda m: "return " if m[1] else "", module).strip()
        define = f'explorables.define("{name}", {json.dumps(style)}, () => {{\n"use strict";\n{body}\n}});\n'
        parts.append(define)
    return "\n".join(parts)


def script_of(page: str, text: str) -> str:
    """Where a page's script lies below _static, with a mark that changes when the script does."""
    mark = hashlib.sha256(text.encode()).hexdigest()[:8]
    return f"explorables/{page.removeprefix('book/').replace('/', '-')}.js?v={mark}"


class ShowExplorables(SphinxTransform):
    """Replace a widget's view by its figure and its state; remember its script."""

    default_priority = 213

    def apply(self, **kwargs) -> None:
        models = self.take_models()
        for output in list(self.document.findall(nodes.container)):
            kinds = {
                part.get("mime_type"): part for part in output.children if isinstance(part, nodes.Element)
            }
            if output.get("nb_element") != "mime_bundle" or VIEW not in kinds:
                continue
            found = MODEL_ID.search(kinds[VIEW].astext())
            model = models.get(found[1], {}).get("state", {}) if found else {}
            if "image/svg+xml" not in kinds or "_esm" not in model:
                logger.warning(
                    "explorable: a widget needs its stored state and a static figure beside it. Show it with "
                    "viz.explore(...), and run the notebook with `make run`.",
                    location=output,
                )
                continue
            name = model["_anywidget_id"].rpartition(".")[2]
            state = {trait: value for trait, value in model.items() if not trait.startswith("_")}
            figure = kinds["image/svg+xml"].children
            output.replace_self(Explorable("", *figure, name=name, state=state, page=self.env.docname))
            facts_of(self.env).explorables[name] = (model["_esm"], model["_css"])

    def take_models(self) -> dict[str, Any]:
        """The stored widgets of this notebook, which would otherwise all be written into the page."""
        stored = getattr(self.env, "nb_metadata", {}).get(self.env.docname, {}).get("js_files", {})
        taken = [stored.pop(key) for key in list(stored) if key.startswith("ipywidgets_")]
        bodies = [arguments["body"] for path, arguments in taken if path is None]
        return json.loads(bodies[0])["state"] if bodies else {}


def visit(self, node: Explorable) -> None:
    facts = facts_of(self.builder.env, node["page"])
    script = script_of(node["page"], bundle(facts.explorables))
    wide, narrow = node["state"]["size"]
    self.body.append(
        f'<div class="explorable" data-explorable="{node["name"]}" data-script="{script}" '
        f'style="--wide: {wide}px; --narrow: {narrow}px">'
    )


def depart(self, node: Explorable) -> None:
    # A widget's unset interface traits and its layout are not the picture's.
    state = {k: v for k, v in node["state"].items() if k not in ("layout", "tabbable", "tooltip", "size")}
    text = json.dumps(state, ensure_ascii=False).replace("</", "<\\/")
    self.body.append(f'<script type="application/json">{text}</script></div>\n')


def write_scripts(app: Sphinx, exception: Exception | None) -> None:
    if exception or app.builder.format != "html":
        return
    for page, facts in pages(app.env).items():
        if facts.explorables:
            text = bundle(facts.explorables)
            file = Path(app.outdir) / "_static" / script_of(page, text).partition("?")[0]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf8")


def setup(app: Sphinx) -> None:
    app.add_node(Explorable, html=(visit, depart))
    app.add_transform(ShowExplorables)
    app.connect("build-finished", write_scripts)
