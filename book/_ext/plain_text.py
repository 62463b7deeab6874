r"""A page's text without markup, for the search: formulas as one would type them, no code, no drawings.

A formula keeps its symbols (`\sqrt{d_k}` becomes `√d_k`) and loses the commands that only lay it out.
"""

import re

from docutils import nodes

from .frames import Frame, Head

SIGNS = {
    "cdot": "·", "times": "×", "sum": "∑", "prod": "∏", "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "ne": "≠",
    "neq": "≠", "approx": "≈", "infty": "∞", "in": "∈", "partial": "∂", "nabla": "∇", "to": "→", "mapsto": "↦",
    "top": "ᵀ", "dots": "…", "ldots": "…", "cdots": "…", "odot": "⊙", "otimes": "⊗", "pm": "±", "lVert": "‖",
    "rVert": "‖", "lvert": "|", "rvert": "|", "mid": "|", "log": "log ", "ln": "ln ", "exp": "exp ", "max": "max ",
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "varepsilon": "ε", "theta": "θ",
    "lambda": "λ", "mu": "μ", "pi": "π", "Pi": "Π", "rho": "ρ", "sigma": "σ", "tau": "τ", "phi": "φ", "omega": "ω",
    "mathbb": "", "quad": " ", "qquad": " ",
}  # fmt: skip
FRACTION = re.compile(r"\\[dt]?frac\{([^{}]*)\}\{([^{}]*)\}")
ROOT = re.compile(r"\\sqrt\s*(?:\{([^{}]*)\}|(\w))")
IN_BRACES = re.compile(r"\\[a-zA-Z]+\{([^{}]*)\}|(?<!\\)\{([^{}]*)\}")
COMMAND = re.compile(r"\\([a-zA-Z]+)\s*")
TAG = re.compile(r"\\(?:tag|label|begin|end)\*?\{[^{}]*\}")
SPACE = re.compile(r"\s+")
SMALL = ("frame-source", "frame-id", "verdict")


def formula(latex: str) -> str:
    r"""
    >>> formula(r"\operatorname{softmax}\left(\frac{\mathbf{Q}\mathbf{K}^\top}{\sqrt{d_k}}\right)")
    'softmax(QK^ᵀ/√d_k)'
    >>> formula(r"p_j = e^{s_j} \tag{1.8}"), formula(r"d_{\text{model}}")
    ('p_j = e^s_j', 'd_model')
    """
    text = TAG.sub("", latex)
    while (
        shorter := IN_BRACES.sub(
            lambda m: m[1] or m[2] or "", FRACTION.sub(r"\1/\2", ROOT.sub(r"√\1\2", text)), count=1
        )
    ) != text:
        text = shorter
    text = re.sub(r"\\[,;:!| ]|[&~]|\\\\", " ", text)
    text = COMMAND.sub(lambda m: SIGNS.get(m[1], ""), text).replace("\\", "")
    return SPACE.sub(" ", re.sub(r"\(\s+|\s+(?=[).,;])", lambda m: m[0].strip(), text)).strip()


def text_of(nodes_: list[nodes.Node], without: tuple[type, ...] = ()) -> str:
    """The words of some nodes in one line."""
    return SPACE.sub(" ", "".join(piece for node in nodes_ for piece in pieces(node, without))).strip()


WITHOUT_TEXT = (nodes.raw, nodes.literal_block, nodes.comment, nodes.section, nodes.Invisible)


def pieces(node: nodes.Node, without: tuple[type, ...]) -> list[str]:
    if isinstance(node, nodes.math | nodes.math_block):
        return [formula(node.astext()), " " if isinstance(node, nodes.math_block) else ""]
    if isinstance(node, nodes.Text):
        return [node.astext()]
    if isinstance(node, WITHOUT_TEXT + without):
        return []
    found = [piece for child in searched_children(node) for piece in pieces(child, without)]
    return [*found, " "] if isinstance(node, nodes.Body | nodes.Part | Frame) else found


def searched_children(node: nodes.Node) -> list[nodes.Node]:
    """The children whose text is searched: not the folded hints of an exercise, nor the sources in a frame's head."""
    if isinstance(node, Head):
        return [child for child in node.children if not has_class(child, *SMALL)]
    if isinstance(node, Frame) and node["kind"] == "exercise":
        return before_folds(node.children)
    return list(node.children)


def has_class(node: nodes.Node, *names: str) -> bool:
    """Whether a node carries one of these classes."""
    return isinstance(node, nodes.Element) and not {*names}.isdisjoint(node["classes"])


def before_folds(parts: list[nodes.Node]) -> list[nodes.Node]:
    folds = (i for i, part in enumerate(parts) if isinstance(part, nodes.raw) and "<details" in part.astext())
    return list(parts[: next(folds, len(parts))])
