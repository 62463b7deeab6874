"""Exercises answered where they are read, without Python: `book/_static/answers.js` judges by data that stand here.

In the frame of an exercise stands a form: for a number or a choice with the answer, the mistakes that have a name, and
what is said of them (lightly hidden, so that nobody reads it by chance); for a proof its rubric to tick; for code the
file to start from, and the way to the same cell on Colab. Below `**Predict first.**` stands a line for a prediction.
Without scripts all that is asked, the rubric and the way to Colab are there.
"""

import base64
import json
import math
import re
import zlib
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

from attnlib.exercises.engine.exporting import as_data, start_of
from attnlib.exercises.engine.model import AnswerExercise, CodeExercise, Exercise, ProofExercise
from attnlib.exercises.engine.registry import exercises

from . import maths
from .frames import Frame, id_of
from .inline_markup import marked

TOLD = '<p class="told" role="status"></p>'
GUESS = (
    '<p><input class="guess pst-js-only" type="text" name="{key}" aria-label="Your prediction" '
    'placeholder="Your prediction" autocomplete="off" maxlength="300"></p>'
)
COLAB = "https://colab.research.google.com/github/"


class AnswerForm(nodes.General, nodes.Element):
    """Where an exercise is answered; `id` is its id, `cell` the cell of its notebook."""


class AddForms(SphinxTransform):
    default_priority = 215  # after the frames are made, and before their hints

    def apply(self, **kwargs: object) -> None:
        known = exercises()
        frames = [frame for frame in self.document.findall(Frame) if frame["kind"] == "exercise"]
        cells = cells_of(Path(self.env.doc2path(self.env.docname))) if frames else {}
        for frame in frames:
            id = id_of(frame)
            if isinstance(known.get(id), AnswerExercise | CodeExercise):
                frame.append(AnswerForm(id=id, cell=cells.get(id, "")))
        for paragraph in list(self.document.findall(nodes.paragraph)):
            if "predict" in paragraph["classes"]:
                add_line(paragraph)


def cells_of(notebook: Path) -> dict[str, str]:
    """The cell of a notebook that asks each exercise."""
    if notebook.suffix != ".ipynb":
        return {}
    cells = json.loads(notebook.read_text("utf8"))["cells"]
    asked = ((re.match(r"> \*\*Exercise\*\*.*· (\S+)", "".join(cell["source"])), cell) for cell in cells)
    return {found[1]: cell["id"] for found, cell in asked if found and "id" in cell}


def add_line(paragraph: nodes.paragraph) -> None:
    """A line below the question, or below the list of what there is to choose from."""
    after = paragraph.next_node(descend=False, siblings=True)
    last = after if isinstance(after, nodes.bullet_list | nodes.enumerated_list) else paragraph
    line = nodes.raw("", GUESS.format(key=f"{zlib.crc32(paragraph.astext().encode()):08x}"), format="html")
    last.parent.insert(last.parent.index(last) + 1, line)


def form_of(one: Exercise, colab: str) -> str:
    """The form in HTML; without scripts it is not shown, since nothing would judge the answer."""
    if isinstance(one, CodeExercise):
        parts = (
            '<button type="button" class="pst-js-only" data-does="copy">Copy the starting code</button>',
            f'<a href="{escape(colab)}">Open in Colab at this exercise</a>' if colab else "",
            '<button type="button" class="pst-js-only" data-does="solved" aria-pressed="false">Mark as solved</button>',
        )
        return form(one, f'data-start="{hidden(start_of(one))}"', *parts)
    if isinstance(one, ProofExercise):
        lines = (f'<label><input type="checkbox"> <span>{html(line)}</span></label>' for line in one.rubric)
        return form(one, "", *lines)
    assert isinstance(one, AnswerExercise)
    data = as_data(one)
    told = {key: data[key] for key in ("choices", "within", "whole", "answer")}
    told["why"] = html(one.commentary)
    told["mistakes"] = [
        mistake
        | {"sentence": html(mistake["sentence"]), "values": [v for v in mistake["values"] if finite(v)]}
        for mistake in data["mistakes"]
    ]
    return form(one, f'data-check="{hidden(told)}"', field(one), "<button>Check</button>", more="pst-js-only")


def form(one: Exercise, data: str, *parts: str, more: str = "") -> str:
    name = escape(f"Your answer to: {one.title}")
    inside = "\n".join(filter(None, parts))
    return (
        f'<form class="answer {more}" data-id="{one.id}" {data} aria-label="{name}">{inside}\n{TOLD}</form>\n'
    )


def field(one: AnswerExercise) -> str:
    """A line for a number or for several, a list for a choice."""
    if not one.choices:
        return '<label>Your answer <input type="text" name="answer" autocomplete="off" spellcheck="false"></label>'
    radio = '<label><input type="radio" name="answer" value="{}"> <span>{}</span></label>'
    choices = "".join(radio.format(escape(choice), html(choice)) for choice in one.choices)
    return f"<fieldset><legend>Your answer</legend>{choices}</fieldset>"


def finite(value: Any) -> bool:
    """JSON has no infinity, and nobody can type one.

    >>> finite(2.0), finite([1.0, 2.0]), finite(float("inf"))
    (True, True, False)
    """
    if isinstance(value, list):
        return all(map(finite, value))
    return not isinstance(value, float) or math.isfinite(value)


def hidden(data: Any) -> str:
    """The answer encoded, so that nobody reads it by accident in the source: the page has no server to ask."""
    return base64.b64encode(json.dumps(data).encode("ascii")).decode("ascii")


def html(text: str) -> str:
    """Text with `code`, $formulas$, **bold** and *emphasis*, as a page shows it."""
    return "".join(map(shown, marked(text)))


def shown(node: nodes.Node) -> str:
    if isinstance(node, nodes.math):
        return maths.render(node.astext(), False)
    tag = {nodes.literal: "code", nodes.strong: "strong", nodes.emphasis: "em"}.get(type(node), "")
    text = escape(node.astext(), quote=False)
    return f"<{tag}>{text}</{tag}>" if tag else text


def visit_form(self: Any, node: AnswerForm) -> None:
    one, config = exercises()[node["id"]], self.builder.config
    theme = config.html_theme_options or {}
    repository = theme.get("repository_url", "").removeprefix("https://github.com/")
    file = f"{repository}/blob/{theme.get('repository_branch', 'main')}/book/{one.page}.ipynb"
    colab = f"{COLAB}{file}#scrollTo={node['cell']}" if repository and node["cell"] else ""
    self.body.append(form_of(one, colab))
    raise nodes.SkipNode


def skip_form(self: Any, node: AnswerForm) -> None:
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    app.add_transform(AddForms)
    app.add_node(AnswerForm, html=(visit_form, None), latex=(skip_form, None), text=(skip_form, None))
