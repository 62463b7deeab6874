"""How the code of a solution may be called in a sentence: by the letters that the task uses, and by nothing else."""

import ast
import re
from collections.abc import Iterator

from attnlib.editing import called

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
    "tril": "lower triangle",
    "triu": "upper triangle",
    "ceil": "rounding up",
    "floor": "rounding down",
    "round": "rounding",
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
FUNCTIONS = ("sqrt", "exp", "log", "abs", "tanh")
POWERS = {0.5: "root", 2: "square"}
ADDED = "A small number was added to a denominator or inside a logarithm. It changes every result a little."
SMALL = (1e-12, 1e-10, 1e-9, 1e-8, 1e-6, 1e-5, 1e-4, 1e-3)


NOUNS = ("term", "factor", "matrix", "number", "condition")  # for what has no letter of the task

# Names that a learner cannot use: a piece of the solution's own code, or an argument that no answer has halved.
UNUSABLE = re.compile(rf"\b(a|the) ({'|'.join(NOUNS)})\b|^(half of|twice) `|^a number is another one$")
# Names that say what was done to all numbers of an argument; a count that is the same then is so by chance.
OF_ALL_NUMBERS = re.compile(r"^(the square of|the root of|one over|one minus) `[A-Z]")
# Names that say only the kind of an edit.
KIND_ONLY = re.compile(
    rf"\b(a|the) ({'|'.join(NOUNS)})\b|\bthe -?\d|^off by|ing over another axis$|changed$"
    r"|was left out once$|the length `|^the inverse o|(by|with) the root of `|^the logarithm of `"
)
OF_CODE = (  # names that are true of the code, and say little of the numbers
    "assigned, not added",
    "subtracted, not added",
    "the maximum over another axis",  # often the axis of all reductions at once
    "the bound itself",
    "the other side",
    "everything inverted",
    "equal for unequal",
    "the larger of two numbers was not chosen",
    "the smaller of two numbers was not chosen",
    "the lower triangle was left out",
    "the upper triangle was left out",
    "one of two conditions was left out",
    "ones in place of zeros",
    "zeros in place of ones",
    "two other axes change places",
    "cut in another order",
    "closed to a ring",
    "the last of equals",
    "no copy was made",
)
SIZES = ("shape", "ndim", "size", "dtype")  # what an array says without its numbers


def lengths_of(shapes: dict[str, tuple[str, ...]]) -> dict[str, ast.expr]:
    """All letters of lengths, each with code that reads it off an argument."""
    found: dict[str, ast.expr] = {}
    for name, known in shapes.items():
        for i, letter in enumerate(reversed(known), 1):
            if letter.strip("."):
                found.setdefault(letter, ast.parse(f"{name}.shape[-{i}]", mode="eval").body)
    return found


class Words:
    """How a piece of code may be called in a sentence: by the letters of the task that are in it."""

    def __init__(self, task: str, tree: ast.FunctionDef) -> None:
        self.parameters = [argument.arg for argument in tree.args.args]
        self.numbers = numbers(task)
        local = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        self.known = set(self.parameters) | {
            name for name in local & letters(task) if len(name) <= 5 and name not in MODULES
        }
        found = shapes(f"{task}\n{ast.get_docstring(tree) or ''}")
        self.shapes = {name: found[name] for name in self.parameters if name in found}
        self.assigned = assigned_once(tree)
        self.lengths = lengths_of(self.shapes)

    def of(self, node: ast.AST, noun: str) -> str:
        """The name itself, "the term with `x`" where letters of the task are in it, or only "a term"."""
        if isinstance(node, ast.Name) and node.id in self.known:
            return f"`{node.id}`"
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            return f"the {node.value}" if float(node.value) in self.numbers else f"a {noun}"
        if length := self.length(node):
            return f"the length `{length}`"
        if function := self.function(node):
            return function
        names = list(dict.fromkeys(self.inside(node)))[:3]
        if not names:
            return f"a {noun}"
        *most, last = [f"`{name}`" for name in names]
        return f"the {noun} with {', '.join(most)} and {last}" if most else f"the {noun} with {last}"

    def function(self, node: ast.AST) -> str:
        """The root, the square or the exponential of one letter; empty for anything else."""
        what, inner = "", None
        if isinstance(node, ast.Call) and called(node) in FUNCTIONS and len(node.args) == 1:
            what, inner = word(called(node)), node.args[0]
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            what, inner = POWERS.get(getattr(node.right, "value", None), ""), node.left
        if not what or inner is None:
            return ""
        letter = getattr(inner, "id", "")
        letter = self.length(inner) or (letter if letter in self.known else "")
        return f"the {what} of `{letter}`" if letter else ""

    def inside(self, node: ast.AST) -> Iterator[str]:
        """The letters in a piece of code; for a length that is read off an array, the length's own."""
        if asked := size(node):
            yield from [self.length(node)] if self.length(node) else []
        elif isinstance(node, ast.Name):
            yield from [node.id] if node.id in self.known else []
        elif asked is None:
            for child in ast.iter_child_nodes(node):
                yield from self.inside(child)

    def length(self, node: ast.AST) -> str:
        """The letter of the task for a length that is read off an argument; empty where there is none."""
        name, axis = size(node) or ("", None)
        known = self.shapes.get(name, ())
        if axis is None or (axis >= 0 and "..." in known) or not -len(known) <= axis < len(known):
            return ""
        return known[axis].strip(".")

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


def numbers(task: str) -> set[float]:
    """The numbers that a task names.

    >>> sorted(numbers("The angle is 10,000^(-2i/d) for 3 rows, 0.5 of 12 d², within 1e-9."))
    [1e-09, 0.5, 2.0, 3.0, 12.0, 10000.0]
    """
    return {
        float(one)
        for one in re.findall(r"\d+(?:\.\d+)?(?:e-?\d+)?", re.sub(r"(?<=\d),(?=\d{3}\b)", "", task))
    }


LISTED = r"((?:`?[A-Za-z]\w*`?(?:, and |, | and ))*`?[A-Za-z]\w*`?)(?: is| are)? \(([^()]+)\)"


def shapes(text: str) -> dict[str, tuple[str, ...]]:
    """The shapes that a task gives its arrays; what is no letter, such as h d_v, is left empty.

    >>> shapes("Q is (..., m, d_k), W_Q and `W_K` (d, h d_k). The query q (d_k) is one (of several), c (h,)")["W_K"]
    ('d', '')
    >>> sorted(shapes("Q is (..., m, d_k), and the query q (d_k) is one (of several), c (h,)").items())
    [('Q', ('...', 'm', 'd_k')), ('c', ('h',)), ('q', ('d_k',))]
    """
    found: dict[str, tuple[str, ...]] = {}
    for names, inside in re.findall(LISTED, re.sub(r"\s+", " ", text)):
        parts = [part.strip(" `$") for part in inside.split(",") if part.strip()]
        known = tuple(part if re.fullmatch(r"\.\.\.|[A-Za-z]\w*", part) else "" for part in parts)
        one_word = len(parts) == 1 and "," not in inside and "_" not in inside and len(inside) > 2
        if any(known) and not one_word:
            found |= dict.fromkeys(re.findall(r"[A-Za-z]\w*", names), known)
    return found


def size(node: ast.AST) -> tuple[str, int | None] | None:
    """Off which argument a length is read, and of which axis: for `x.shape[-1]`, `x.shape` and `len(x)`."""
    if called(node) == "len" and isinstance(node, ast.Call) and node.args:
        inner = node.args[0]
        return (inner.id, 0) if isinstance(inner, ast.Name) else ("", None)
    if isinstance(node, ast.Attribute) and node.attr in SIZES:
        return (node.value.id if isinstance(node.value, ast.Name) else "", None)
    if isinstance(node, ast.Subscript) and (asked := size(node.value)):
        try:
            axis = ast.literal_eval(node.slice)
        except ValueError:
            axis = None
        return asked[0], axis if isinstance(axis, int) else None
    return None


def assigned_once(tree: ast.AST) -> dict[str, ast.expr]:
    """What each local name stands for that is given a value in one line alone."""
    stored = [
        one.id for one in ast.walk(tree) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    ]
    found: dict[str, ast.expr] = {}
    for line in (one for one in ast.walk(tree) if isinstance(one, ast.Assign) and len(one.targets) == 1):
        target, value = line.targets[0], line.value
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = list(zip(target.elts, value.elts, strict=False))
        found |= {
            one.id: code for one, code in pairs if isinstance(one, ast.Name) and stored.count(one.id) == 1
        }
    return found


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


def is_usable(name: str) -> bool:
    """Whether a name tells a learner anything: not one of a piece of code that only the solution has.

    >>> is_usable("off by one"), is_usable("`K` is reshaped, not transposed")
    (True, True)
    >>> is_usable("a term was left out"), is_usable("not divided by the factor with `rows`"), is_usable("half of `n`")
    (False, False, False)
    """
    return not UNUSABLE.search(name)
