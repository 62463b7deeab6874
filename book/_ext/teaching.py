"""Where a symbol of `attnlib` is taught: the equations that its docstring names, and the notebooks that use it."""

import re

from sphinx.environment import BuildEnvironment

from .facts import pages
from .package import LABEL, Package, Symbol, kin

SECTION = re.compile(r"book/(\d\d)-([\w-]+)/(\d+)-([\w-]+)")
CHAPTER = re.compile(r"\bChapter (\d+)\b")
Place = tuple[str, str]  # a page, and an equation's label on it or ""


def number(page: str) -> str:
    """The number of a notebook: `1.4` for book/01-foundations/4-softmax-and-scale; empty for other pages.

    >>> number("book/01-foundations/4-softmax-and-scale"), number("book/intro")
    ('1.4', '')
    """
    found = SECTION.fullmatch(page)
    return f"{int(found[1])}.{found[3]}" if found else ""


def owners(env: BuildEnvironment) -> dict[str, str]:
    """The page of each equation label."""
    return {label: page for page, facts in pages(env).items() for label in facts.equations}


def places(labels: list[str], owner: dict[str, str]) -> list[Place]:
    return [(owner[label], label) for label in labels if label in owner]


def users(env: BuildEnvironment, symbol: Symbol) -> list[str]:
    """The notebooks whose code mentions the symbol, in the order of the book."""
    found = [page for page, facts in pages(env).items() if symbol.path in facts.used]
    return sorted(found, key=lambda page: [int(part) for part in number(page).split(".") if part])


def taught(env: BuildEnvironment, package: Package, symbol: Symbol) -> list[Place]:
    """Nearest first: its own equations, the notebooks that use it, its kin's, and at last its module's."""
    owner = owners(env)
    own = places(symbol.labels, owner) or [(page, "") for page in users(env, symbol)]
    if own:
        return own
    for other in kin(package, symbol):
        found = places(other.labels, owner) or [(page, "") for page in users(env, other)]
        if found:
            return found
    return taught_module(env, package.modules[symbol.home].doc, owner)


def taught_module(env: BuildEnvironment, doc: str, owner: dict[str, str]) -> list[Place]:
    """By the first labels of a docstring, by a page that it names, or by its chapter."""
    found = places(LABEL.findall(doc), owner)[:1]
    notebooks = [page for page in sorted(env.all_docs) if number(page)]
    named = [(page, "") for page in notebooks if re.search(rf"\b{SECTION.fullmatch(page)[4]}\b", doc)]  # type: ignore[index]
    chapters = CHAPTER.findall(doc)
    first = [(page, "") for page in notebooks if number(page).split(".")[0] in chapters]
    return found or named or first[:1]
