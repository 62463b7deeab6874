"""All exercises: every `Exercise` in a module of `attnlib/exercises/<chapter>/`, loaded when first asked for."""

import difflib
import functools
import importlib
import pkgutil

from attnlib.exercises.model import Exercise

CHAPTERS = {  # in the order of the book
    "foundations": "1 · Foundations",
    "self-attention": "2 · Self-Attention",
    "multi-head": "3 · Multi-Head Attention",
}


@functools.cache
def chapter(name: str) -> dict[str, Exercise]:
    """The exercises of one chapter by id, in the order of the book: by page, then from easy to hard."""
    package = importlib.import_module(f"attnlib.exercises.{name.replace('-', '_')}")
    found: dict[str, Exercise] = {}
    for info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        for value in vars(module).values():
            if isinstance(value, Exercise) and found.setdefault(value.id, value) is not value:
                raise ValueError(f"exercises: an id must belong to one exercise; got {value.id!r} twice.")
    return dict(sorted(found.items(), key=lambda item: (item[1].page, item[1].level, item[0])))


def exercises() -> dict[str, Exercise]:
    """All exercises by id, in the order of the book."""
    return {id: exercise for name in CHAPTERS for id, exercise in chapter(name).items()}


def find(id: object, who: str) -> Exercise:
    """The exercise with this id; otherwise an error that says which ids are near."""
    if not isinstance(id, str):
        raise TypeError(
            f'{who}: the id comes first and is a text, such as "foundations.softmax"; got {id!r}.'
        )
    name = id.split(".")[0]
    known = chapter(name) if name in CHAPTERS else exercises()
    if id in known:
        return known[id]
    near = difflib.get_close_matches(id, exercises(), n=3, cutoff=0.4)
    advice = (
        "Did you mean " + " or ".join(near) + "?" if near else "`python -m attnlib.exercises list` shows all."
    )
    raise ValueError(f"{who}: the id must be one of the exercises; got {id!r}. {advice}")
