"""What leaves Python: the answers as plain data, for a page that checks without it, and the code to start from."""

import re
from typing import Any

import numpy as np

from attnlib.exercises.engine.model import AnswerExercise, CodeExercise, Exercise
from attnlib.exercises.engine.registry import exercises

BOOK = "https://attention-executed.github.io/attention-executed/book/"
ITSELF = r"\bdecimals?\b|\bnearest\b"  # a task with these words says by itself how near a number has to be


def exported() -> dict[str, dict[str, Any]]:
    """What `json.dumps` takes: for each id its texts, the answer, and the wrong answers with their names.

    >>> exported()["foundations.predict-odds"]["mistakes"][1]["name"]
    'unchanged'
    """
    return {
        id: as_data(one)
        for id, one in exercises().items()
        if isinstance(one, AnswerExercise) and one.value is not None
    }


def as_data(one: AnswerExercise) -> dict[str, Any]:
    """One exercise; numbers within `within` of a value are that value."""
    mistakes = [
        {
            "name": mistake.name,
            "sentence": mistake.sentence,
            "values": [plain(form) for form in mistake.forms],
        }
        for mistake in one.mistakes
    ]
    texts = {
        "title": one.title,
        "kind": one.kind,
        "level": one.level,
        "minutes": one.minutes,
        "page": one.page,
    }
    texts |= {"task": one.task, "hints": list(one.hints), "commentary": one.commentary}
    return texts | {
        "choices": list(one.choices),
        "within": one.within,
        "whole": one.whole,
        "answer": plain(one.value),
        "mistakes": mistakes,
    }


def plain(value: Any) -> Any:
    """A choice as it is, a number as a float, an array as nested lists."""
    return value if isinstance(value, str) else np.asarray(value, dtype=float).tolist()


def start_of(one: Exercise) -> str:
    """The task, and the code that an answer starts from."""
    quotes = 'r"""' if "\\" in one.task else '"""'
    page = f"\n\nThe page: {BOOK}{one.page}.html" if re.search(r"\bthe (picture|page)\b", one.task) else ""
    head = f'{quotes}{one.title}\n\n{one.task}{page}\n"""\n\n'
    if isinstance(one, CodeExercise):
        return f'{head}{one.preamble}\nfrom attnlib.exercises import exercise\n\n\n@exercise("{one.id}")\n{one.stub}'
    choices = "".join(f'# "{choice}"\n' for choice in one.choices) if isinstance(one, AnswerExercise) else ""
    wanted = f"# One of these:\n{choices}" if choices else precision(one)
    return f'{head}from attnlib.exercises import check\n\n{wanted}check("{one.id}", ...)\n'


def precision(one: Exercise) -> str:
    """How near a number has to be, as a comment."""
    if not isinstance(one, AnswerExercise) or one.value is None:
        return ""
    if one.whole:
        return "# A whole number.\n"
    if re.search(ITSELF, one.task):
        return "# A number, as the task says.\n"
    kind = "Numbers" if np.ndim(one.value) else "A number"
    return f"# {kind}, right to {one.within:g}.\n"
