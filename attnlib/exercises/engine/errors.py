"""Errors of a learner's code, in the learner's own lines."""

import linecache
import traceback
from typing import NamedTuple

from attnlib.exercises.engine.running import is_learners

MOST_FRAMES = 4


class Raised(NamedTuple):
    """An error: its type, its last line, and where in the learner's code it came up."""

    kind: str
    last: str = ""
    trace: str = ""


def raised(error: BaseException) -> Raised:
    return Raised(type(error).__name__, last_line(error), trimmed(error))


def trimmed(error: BaseException) -> str:
    """The error with the learner's own lines only: no line of the engine, none of a library."""
    walked = traceback.walk_tb(error.__traceback__)
    frames = [(frame.f_code, line) for frame, line in walked if is_learners(frame)]
    if len(frames) > MOST_FRAMES:
        frames = frames[:1] + frames[1 - MOST_FRAMES :]
    lines = []
    for code, line in frames:
        lines.append(f"in {code.co_name}, line {line}")
        source = linecache.getline(code.co_filename, line).strip()
        if source:
            lines.append(f"    {source}")
    return "\n".join([*lines, last_line(error)])


def last_line(error: BaseException) -> str:
    """The type of an error and what it says."""
    return "".join(traceback.format_exception_only(error)).strip()
