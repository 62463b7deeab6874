"""Where a symbol of `attnlib` is taught: the equations that its docstring names, and the notebooks that use it."""

import re

from sphinx.environment import BuildEnvironment

from .chapters import PAGE, number, position
from .package import LABEL, Package, Symbol, kin
from .page_facts import pages

CHAPTER = re.compile(r"\bChapter (\d+)\b")
Place = tuple[str, str]  # a page, and an equation's label on it or ""


def owners(env: BuildEnvironment) -> dict[str, str]:
    """The page of each equation label."""
    return {label: page for page, facts in pages(env).items() for label in facts.equations}


def places(labels: list[str], owner: dict[str, str]) -> list[Place]:
    return [(owner[label], label) for label in labels if label in owner]


def users(env: BuildEnvironment, symbol: Symbol) -> list[str]:
    """The notebooks whose code mentions the symbol, in the order of the book."""
    found = [page for page, facts in pages(env).items() if symbol.path in facts.used]
    return sorted(found, key=position)


def taught(env: BuildEnvironment, package: Package, symbol: Symbol) -> list[Place]:
    """The nearest of: its own equations, the notebooks that use it, those of related names, its module's."""
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
    notebooks = sorted(filter(number, env.all_docs))
    named = [(page, "") for page in notebooks if re.search(rf"\b{PAGE.fullmatch(page)[4]}\b", doc)]  # type: ignore[index]
    chapters = CHAPTER.findall(doc)
    first = [(page, "") for page in notebooks if number(page).split(".")[0] in chapters]
    return found or named or first[:1]
