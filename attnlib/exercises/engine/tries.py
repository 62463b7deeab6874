"""Which checks count as a try: all, but for an answer that a watched file repeats unchanged.

An answer is known by its code, or its value, and by the message of the check, which another helper may change.
"""

import hashlib
from types import CodeType
from typing import Any

from attnlib.exercises.engine.results import Result


class Repeats:
    """The answers of the last check of a file, and those of this one."""

    def __init__(self, before: list[str]) -> None:
        self.before, self.now = set(before), []

    def is_one(self, answer: Any, found: Result) -> bool:
        """Whether the file had the same answer with the same verdict last time."""
        mark = mark_of(answer, found)
        self.now.append(mark)
        return mark in self.before


current: list[Repeats] = []  # at most one: the check of a watched file


def mark_of(answer: Any, found: Result) -> str:
    code = getattr(answer, "__code__", None)
    what = described(code) if isinstance(code, CodeType) else repr(answer)
    return hashlib.sha256(f"{found.id}\0{what}\0{found.message}".encode()).hexdigest()


def described(code: CodeType) -> str:
    """What a function does, wherever it stands in its file."""
    inside = [described(one) if isinstance(one, CodeType) else repr(one) for one in code.co_consts]
    return repr((code.co_code, code.co_names, code.co_varnames, inside))
