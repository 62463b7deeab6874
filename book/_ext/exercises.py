"""The pages that are made from the exercises themselves: an index to choose from, and the solutions of a chapter.

    ```{exercises} index
    ```
    ```{exercises} solutions foundations
    ```

Both are complete without scripts; on the index `lists.js` adds the filters.
"""

import re
from collections.abc import Iterator
from html import escape
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util.docutils import SphinxDirective

from attnlib.exercises.engine.model import (
    AnswerExercise,
    CodeExercise,
    Exercise,
    Mistake,
    ProofExercise,
)
from attnlib.exercises.engine.registry import CHAPTERS, chapter, exercises
from attnlib.exercises.engine.source_edits import source_of

from .anchors import register
from .answering import AnswerForm
from .frames import Frame
from .inline_markup import marked

MINUTES = (5, 10, 15, 20, 30, 60)  # the steps of the filter "at most"
LONGEST_EDIT = 60


class ExerciseList(nodes.General, nodes.Element):
    """The exercises to choose from."""


class ExerciseItem(nodes.General, nodes.Element):
    """One of them; `id` is its id."""


class ExercisesDirective(SphinxDirective):
    required_arguments = 1
    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        package = Path(source_file())
        for file in package.glob("**/*.py"):
            self.env.note_dependency(str(file))
        for notebook in (Path(self.env.srcdir) / "book").glob("[0-9]*/*.ipynb"):
            self.env.note_dependency(str(notebook))
        if self.arguments == ["index"]:
            return self.index()
        if len(self.arguments) == 2 and self.arguments[0] == "solutions" and self.arguments[1] in CHAPTERS:
            return [self.solved(one) for one in chapter(self.arguments[1]).values()]
        raise self.error(
            f"exercises: say `index` or `solutions` and a chapter; got {' '.join(self.arguments)!r}."
        )

    def index(self) -> list[nodes.Node]:
        items = []
        solutions, _ = self.state.inline_text(where_solutions_are(), self.lineno)
        for one in exercises().values():
            head = f"**{one.title}** {one.headline}"
            place = f"In {self.place(one)}."
            if one.prerequisites:
                place += f" After {', '.join(exercises()[id].title for id in one.prerequisites)}."
            item = ExerciseItem("", id=one.id)
            for text, look in (
                (head, "row-head"),
                (one.task, "row-text"),
                (place, "row-links"),
            ):
                found, _ = self.state.inline_text(text, self.lineno)
                item.append(nodes.paragraph("", "", *found, classes=[look]))
            items.append(item)
        return [nodes.paragraph("", "", *solutions), ExerciseList("", *items)]

    def place(self, one: Exercise) -> str:
        """A link to the exercise in its notebook; to the top of the notebook if that does not show it."""
        notebook = Path(self.env.srcdir) / "book" / f"{one.page}.ipynb"
        name = re.sub(r"^\d+-", "", Path(one.page).name).replace("-", " ")
        if not notebook.exists():
            return name
        shown = f"· {one.id}" in notebook.read_text(encoding="utf-8")
        return f"[{name}]({one.page}.ipynb{f'#{anchor(one)}' if shown else ''})"

    def solved(self, one: Exercise) -> nodes.section:
        """A section with the task and the folded solution."""
        section = nodes.section()
        section += nodes.title(one.title, one.title)
        section.line = self.lineno
        register(
            self.state.document,
            self.env,
            f"solution-{one.id.replace('.', '-')}",
            section,
            one.title,
        )
        text = "\n\n".join((f"{one.headline} · {self.place(one)}", one.task, *solution(one)))
        self.state.nested_parse(StringList(text.splitlines(), self.env.docname), 0, section)
        return section


def where_solutions_are() -> str:
    """A sentence with a link to the solutions of each chapter that has exercises."""
    numbers = [title.partition(" ")[0] for title in CHAPTERS.values()]
    links = [f"[{number}](solutions-{int(number):02}.md)" for number in numbers]
    return f"The solutions of Chapters {', '.join(links[:-1])} and {links[-1]} are at the end of the book."


def source_file() -> str:
    import attnlib.exercises

    return str(Path(attnlib.exercises.__file__).parent)


def anchor(one: Exercise) -> str:
    return "ex-" + re.sub(r"[._]", "-", one.id)


def solution(one: Exercise) -> Iterator[str]:
    """The solution in Markdown: folded, with what is known about wrong answers."""
    yield "<details><summary>Solution</summary>"
    if isinstance(one, CodeExercise):
        yield f"```python\n{one.model_answer.rstrip()}\n```"
    elif isinstance(one, AnswerExercise):
        yield f"**{one.model_answer}**"
    elif isinstance(one, ProofExercise):
        yield one.proof
        yield "A complete proof:"
        yield "\n".join(f"- {line}" for line in one.rubric)
    yield one.commentary
    others = [variant for variant in getattr(one, "variants", ()) if callable(variant)]
    if others:
        yield "Also right:"
        yield from (f"```python\n{source_of(variant).rstrip()}\n```" for variant in others)
    known = getattr(one, "mistakes", ())
    if known:
        yield "`check` knows these mistakes by name:"
        yield "\n".join(f"- **{mistake.name}**{example(mistake)} {mistake.sentence}" for mistake in known)
    yield "</details>"


def example(mistake: Mistake) -> str:
    """What was replaced by what, where that is short."""
    edit = mistake.forms[0]
    if not isinstance(edit, dict) or len(edit) > 1:
        return "."
    ((old, new),) = edit.items()
    old, new = old.strip(), new.strip()
    if "\n" in old + new or len(old + new) > LONGEST_EDIT:
        return "."
    return f": without `{old}`." if not new else f": `{new}` in place of `{old}`."


def visit_list(self, node: ExerciseList) -> None:
    steps = " ".join(map(str, MINUTES))
    self.body.append(
        '<form class="ledger-tools pst-js-only" role="search" aria-label="Exercises of this page"></form>\n'
    )
    self.body.append(f'<ol class="exercises" data-steps="{steps}" style="list-style:none;padding:0">\n')


def depart_list(self, node: ExerciseList) -> None:
    self.body.append("</ol>\n")


def visit_item(self, node: ExerciseItem) -> None:
    one = exercises()[node["id"]]
    data = f'data-chapter="{escape(CHAPTERS[one.chapter])}" data-kind="{one.kind}" '
    data += f'data-level="{one.level}" data-minutes="{one.minutes}"'
    self.body.append(f'<li class="ledger-row" {data}>')


def depart_item(self, node: ExerciseItem) -> None:
    self.body.append("</li>\n")


class FoldedHelp(SphinxTransform):
    """In the frame of each exercise its hints and its solution, folded. In Jupyter `hint` and `solution` give them."""

    default_priority = 216  # after the frames are made

    def apply(self, **kwargs: object) -> None:
        by_anchor = {f"ex-{re.sub(r'[._]', '-', one.id)}": one for one in exercises().values()}
        for frame in self.document.findall(Frame):
            for anchor in by_anchor.keys() & set(frame["ids"]):
                one = by_anchor[anchor]
                page = f"{'../' * (self.env.docname.count('/') - 1)}solutions-{one.page[:2]}.html"
                frame.extend(hints(one))
                if isinstance(one, ProofExercise):
                    frame.extend(folded("Mark your proof", AnswerForm(id=one.id, cell="")))
                frame.extend(folded("Solution", *answer(one), link(page, one), helps=one.id))


CHECKS = re.compile(r'check\("[a-z-]+\.[a-z0-9-]+",[^\n]*\)\s*')


class MarkChecks(SphinxTransform):
    """Mark the cells that only call `check`: the printed book leaves them out."""

    default_priority = 216

    def apply(self, **kwargs: object) -> None:
        for cell in self.document.findall(nodes.container):
            if cell.get("nb_element") == "cell_code":
                code = next(iter(cell.findall(nodes.literal_block)), None)
                if code is not None and CHECKS.fullmatch(code.astext()):
                    cell["classes"].append("cell-check")


def folded(title: str, *inside: nodes.Node, helps: str = "") -> list[nodes.Node]:
    """A fold; a script notes whom it helped, an exercise or `id number` of its hint."""
    data = f' data-help="{helps}"' if helps else ""
    opened = nodes.raw("", f"<details{data}><summary>{escape(title)}</summary>", format="html")
    return [opened, *inside, nodes.raw("", "</details>", format="html")]


def hints(one: Exercise, number: int = 1) -> list[nodes.Node]:
    """Each hint holds the next one, so that nobody reads two at once."""
    if number > len(one.hints):
        return []
    text = nodes.paragraph("", "", *marked(one.hints[number - 1]))
    return folded(f"Hint {number}", text, *hints(one, number + 1), helps=f"{one.id} {number}")


def answer(one: Exercise) -> list[nodes.Node]:
    if isinstance(one, ProofExercise):
        return []
    code = one.model_answer.rstrip()
    language = "python" if isinstance(one, CodeExercise) else "text"
    return [nodes.literal_block(code, code, language=language)]


def link(page: str, one: Exercise) -> nodes.Node:
    label = (
        "The proof and its rubric"
        if isinstance(one, ProofExercise)
        else "Why, and which mistakes have a name"
    )
    target = f"{page}#solution-{one.id.replace('.', '-')}"
    return nodes.raw("", f'<p><a href="{target}">{label}</a></p>', format="html")


def setup(app: Sphinx) -> None:
    app.add_transform(FoldedHelp)
    app.add_transform(MarkChecks)
    app.add_directive("exercises", ExercisesDirective)
    app.add_node(ExerciseList, html=(visit_list, depart_list))
    app.add_node(ExerciseItem, html=(visit_item, depart_item))
