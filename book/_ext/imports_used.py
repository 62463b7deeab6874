"""Which parts of `attnlib` a notebook imports, uses and shows, read from its code cells."""

import ast
from collections.abc import Iterator

from docutils import nodes
from sphinx.application import Sphinx

from .package import Package
from .page_facts import facts_of


def code_of(document: nodes.document) -> Iterator[str]:
    """The code of each code cell."""
    for cell in document.findall(nodes.container):
        if cell.get("nb_element") == "cell_code_source":
            yield cell.astext()


def trees(sources: Iterator[str]) -> Iterator[ast.Module]:
    for source in sources:
        plain = "\n".join(
            "" if line.lstrip().startswith(("%", "!")) else line for line in source.splitlines()
        )
        try:
            yield ast.parse(plain)
        except SyntaxError:  # a cell that shows what an error looks like
            continue


def imported(tree: ast.AST, package: Package) -> Iterator[tuple[str, str]]:
    """(local name, listed name) of everything imported from attnlib."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or (node.module or "").split(".")[0] != "attnlib":
            continue
        for alias in node.names:
            listed = package.find(f"{node.module}.{alias.name}")
            if listed:
                yield alias.asname or alias.name, listed


def used(tree: ast.AST, names: dict[str, str], package: Package) -> Iterator[str]:
    """The symbols that the code mentions, by their names or as `module.name`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and names.get(node.id) in package.symbols:
            yield names[node.id]
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in names:
            found = package.find(f"{names[node.value.id]}.{node.attr}")
            if found:
                yield found


def collect(app: Sphinx, document: nodes.document) -> None:
    package: Package = app.course_package  # type: ignore[attr-defined]
    facts = facts_of(app.env)
    for tree in trees(code_of(document)):
        facts.names.update(imported(tree, package))
        facts.used.update(used(tree, facts.names, package))


def setup(app: Sphinx) -> None:
    app.connect("doctree-read", collect)
