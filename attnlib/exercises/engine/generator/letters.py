"""How the code of a solution may be called in a sentence: by the letters that the task uses, and by nothing else."""

import ast
import re

MODULES = ("np", "math", "torch")  # a task may say which function to use, and that is no letter of it


class Letters:
    """How a piece of code may be called in a sentence: by the letters of the task that are in it."""

    def __init__(self, task: str, tree: ast.FunctionDef) -> None:
        self.parameters = [argument.arg for argument in tree.args.args]
        local = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        self.known = set(self.parameters) | {
            name for name in local & letters(task) if len(name) <= 5 and name not in MODULES
        }

    def of(self, node: ast.AST) -> str:
        """The name itself, or the part with some names, or a part."""
        if isinstance(node, ast.Name) and node.id in self.known:
            return f"`{node.id}`"
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            return f"the {node.value}"
        names = list(dict.fromkeys(n.id for n in ast.walk(node) if isinstance(n, ast.Name)))
        names = [name for name in names if name in self.known][:3]
        if not names:
            return "a part"
        *most, last = [f"`{name}`" for name in names]
        return f"the part with {', '.join(most)} and {last}" if most else f"the part with {last}"

    def pair(self, left: ast.AST, right: ast.AST) -> tuple[str, str]:
        """What two sides are called, so that they can be told apart."""
        names = self.of(left), self.of(right)
        return names if names[0] != names[1] else ("the first part", "the second part")


def letters(task: str) -> set[str]:
    """The names that a task uses as names: a plain word, such as rows, is one only in code or in a formula.

    >>> found = letters("Write W_O and `mask` for the rows of X, with $alpha$ = 2.")
    >>> sorted(found & {"W_O", "X", "alpha", "mask", "rows", "for"})
    ['W_O', 'X', 'alpha', 'mask']
    """
    words = set(re.findall(r"\b[A-Za-z]\w*\b", task))
    marked = set(re.findall(r"[A-Za-z]\w*", " ".join(re.findall(r"`[^`]*`|\$[^$]*\$", task))))
    return {word for word in words if len(word) <= 2 or not (word.isalpha() and word.islower())} | marked
