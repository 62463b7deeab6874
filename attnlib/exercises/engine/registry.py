"""All exercises: each is a module of `attnlib/exercises/<chapter>/`, loaded when it is first needed.

A folder is a chapter if its `__init__.py` says which, `CHAPTER = "5 · Training"`, and if it has an exercise.
"""

import difflib
import functools
import importlib
import importlib.util
import pkgutil
import re
from pathlib import Path

from attnlib.exercises.engine.definition import defined
from attnlib.exercises.engine.model import Exercise

FOLDER = Path(__file__).resolve().parent.parent
HEADING = re.compile(r'^CHAPTER = "((\d+) · .+)"$', re.M)


def chapters(folder: Path) -> dict[str, str]:
    """The chapters that have exercises, with their headings, in the order of the book."""
    found: list[tuple[int, str, str]] = []
    for file in folder.glob("*/__init__.py"):
        heading = HEADING.search(file.read_text("utf8"))
        if heading and any(file.parent.glob("[a-z]*.py")):
            found.append((int(heading[2]), file.parent.name.replace("_", "-"), heading[1]))
    return {name: title for _, name, title in sorted(found)}


CHAPTERS = chapters(FOLDER)


@functools.cache
def loaded(id: str) -> Exercise:
    """The exercise with this id, from the file that its id names."""
    return defined(importlib.import_module(module_of(id)))


def module_of(id: str) -> str:
    return f"attnlib.exercises.{id.replace('-', '_')}"


def position(page: str) -> tuple[int, str]:
    """By what the pages of a chapter are sorted: by number, so that page 10 comes after page 9.

    >>> position("01-foundations/10-scores-backwards")
    (10, '01-foundations/10-scores-backwards')
    """
    number = page.rpartition("/")[2].partition("-")[0]
    return (int(number) if number.isdigit() else 0), page


@functools.cache
def chapter(name: str) -> dict[str, Exercise]:
    """The exercises of one chapter by id: by page, then from easy to hard."""
    package = importlib.import_module(module_of(name))
    files = pkgutil.iter_modules(package.__path__)
    found = [loaded(f"{name}.{file.name.replace('_', '-')}") for file in files]
    return {one.id: one for one in sorted(found, key=lambda one: (position(one.page), one.level, one.id))}


def exercises() -> dict[str, Exercise]:
    """All exercises by id, in the order of the book."""
    return {id: exercise for name in CHAPTERS for id, exercise in chapter(name).items()}


def find(id: object, who: str) -> Exercise:
    """The exercise with this id; otherwise an error that says which ids are near."""
    if not isinstance(id, str):
        raise TypeError(
            f'{who}: the id comes first and is a text, such as "foundations.softmax"; got {id!r}.'
        )
    name, _, rest = id.partition(".")
    if name in CHAPTERS and rest.replace("-", "").isalnum() and importlib.util.find_spec(module_of(id)):
        return loaded(id)
    near = difflib.get_close_matches(id, exercises(), n=3, cutoff=0.4)
    advice = (
        "Did you mean " + " or ".join(near) + "?" if near else "`python -m attnlib.exercises list` shows all."
    )
    raise ValueError(f"{who}: the id must be one of the exercises; got {id!r}. {advice}")
