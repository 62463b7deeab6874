"""How the code of a solution may be called in a sentence: by the letters that the task uses, and by nothing else."""

import ast
import re

MODULES = ("np", "math", "torch")  # a task may say which function to use, and that is no letter of it
# Short words of English, which are letters of a task only where it marks them as code or as a formula.
ENGLISH = set(
    re.findall(r"\w+", "A I a an as at be by do go he if in is it me my no of on or so to up us we")
)
REDUCED = {
    "sum": "sum",
    "mean": "mean",
    "max": "maximum",
    "min": "minimum",
    "argmax": "largest",
    "any": "any",
    "all": "all",
    "argmin": "smallest",
    "norm": "length",
    "prod": "product",
    "argsort": "order",
    "sort": "order",
    "cumsum": "running sum",
    "std": "spread",
    "concatenate": "joining",
    "stack": "stacking",
    "repeat": "repeating",
}  # functions that make an axis shorter, and what they are called
WORDS = REDUCED | {
    "exp": "exponential",
    "exp2": "power of 2",
    "log": "logarithm",
    "log2": "logarithm to base 2",
    "log10": "logarithm to base 10",
    "sqrt": "root",
    "var": "variance",
    "abs": "absolute value",
    "argmax": "index of the largest",
    "argmin": "index of the smallest",
}
ADDED = "A small number was added to a denominator or inside a logarithm. It changes every result a little."
SMALL = (1e-12, 1e-10, 1e-9, 1e-8, 1e-6, 1e-5, 1e-4, 1e-3)


NOUNS = ("term", "factor", "matrix", "number", "condition")  # for what has no letter of the task

# Names that say only the kind of an edit.
KIND_ONLY = re.compile(rf"\b(a|the) ({'|'.join(NOUNS)})\b|\bthe -?\d|^off by|ing over another axis$")
OF_CODE = (  # names that are true of the code, and say little of the numbers
    "assigned, not added",
    "subtracted, not added",
    "the maximum over another axis",  # often the axis of all reductions at once
    "the bound itself",
    "the other side",
    "everything inverted",
    "one of two conditions was left out",
    "ones in place of zeros",
    "zeros in place of ones",
)


class Words:
    """How a piece of code may be called in a sentence: by the letters of the task that are in it."""

    def __init__(self, task: str, tree: ast.FunctionDef) -> None:
        self.parameters = [argument.arg for argument in tree.args.args]
        local = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        self.known = set(self.parameters) | {
            name for name in local & letters(task) if len(name) <= 5 and name not in MODULES
        }

    def of(self, node: ast.AST, noun: str) -> str:
        """The name itself, "the term with `x`" where letters of the task are in it, or only "a term"."""
        if isinstance(node, ast.Name) and node.id in self.known:
            return f"`{node.id}`"
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            return f"the {node.value}"
        names = list(dict.fromkeys(n.id for n in ast.walk(node) if isinstance(n, ast.Name)))
        names = [name for name in names if name in self.known][:3]
        if not names:
            return f"a {noun}"
        *most, last = [f"`{name}`" for name in names]
        return f"the {noun} with {', '.join(most)} and {last}" if most else f"the {noun} with {last}"

    def pair(self, left: ast.AST, right: ast.AST, noun: str) -> tuple[str, str]:
        """What two sides are called; where that does not tell them apart, neither has a name."""
        names = self.of(left, noun), self.of(right, noun)
        return names if names[0] != names[1] else (f"a {noun}", f"a {noun}")


def both(left: str, right: str) -> str:
    """Two sides in one breath.

    >>> both("`x`", "a term"), both("a matrix", "a matrix")
    ('`x` and a term', 'both sides')
    """
    return f"{left} and {right}" if left != right else "both sides"


def letters(task: str) -> set[str]:
    """The names that a task uses as names: a plain word, such as rows, is one only in code or in a formula.

    >>> found = letters("Write W_O and `mask` for the rows of X in a batch, with $alpha$ = 2.")
    >>> sorted(found & {"W_O", "X", "a", "alpha", "mask", "rows", "for"})
    ['W_O', 'X', 'alpha', 'mask']
    """
    words = set(re.findall(r"\b[A-Za-z]\w*\b", task)) - ENGLISH
    marked = set(re.findall(r"[A-Za-z]\w*", " ".join(re.findall(r"`[^`]*`|\$[^$]*\$", task))))
    return {word for word in words if len(word) <= 2 or not (word.isalpha() and word.islower())} | marked


def word(name: str) -> str:
    return WORDS.get(name, name)


def first_big(text: str) -> str:
    return text[0].upper() + text[1:]


def is_specific(name: str) -> bool:
    """Whether a name says of which letter, function or axis it is, in words that are no code.

    >>> is_specific("the sign of `b` is turned"), is_specific("a term was left out")
    (True, False)
    >>> is_specific("multiplied with the 2"), is_specific("ones in place of zeros")
    (False, False)
    """
    return name not in OF_CODE and not KIND_ONLY.search(name)
