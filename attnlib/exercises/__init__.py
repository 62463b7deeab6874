"""Exercises that name the mistake.

    from attnlib.exercises import check, hint, solution, progress, todo
    check("foundations.softmax", my_softmax)      # python -m attnlib.exercises for those who work in an editor

Each exercise is one file, `attnlib/exercises/<chapter>/<name>.py`, and its path is its id: `foundations.log-sum-exp` is
`foundations/log_sum_exp.py`. `attnlib.exercises.kit` says how to write one; `attnlib.exercises.engine` runs them.
"""

from attnlib.exercises.engine.interface import (
    check,
    exercise,
    hint,
    load_progress,
    progress,
    progress_code,
    progress_on_drive,
    reset,
    solution,
    todo,
)
from attnlib.exercises.engine.results import Note, Result, WrongAnswer

__all__ = [
    "Note",
    "Result",
    "WrongAnswer",
    "check",
    "exercise",
    "hint",
    "load_progress",
    "progress",
    "progress_code",
    "progress_on_drive",
    "reset",
    "solution",
    "todo",
]
