"""A call of `check(...)` on a line of its own shows what it found, wherever that line stands.

In a notebook only the last expression of a cell is shown, and in a script none is. A call whose result is thrown away
(the next step of the caller's code is to drop it) shows it here; one that is assigned, printed, passed on, or shown by
the shell anyway does not.
"""

import dis
import functools
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, ParamSpec, TypeVar

from attnlib.exercises.engine.results import Note

P = ParamSpec("P")
N = TypeVar("N", bound=Note)
SKIPPED = {"CACHE", "NOP", "EXTENDED_ARG"}
listeners: list[Callable[[Any], None]] = []  # who shows results in its own way, such as the command line


def shown_if_dropped(function: Callable[P, N]) -> Callable[P, N]:
    """Show what the function returns where the caller throws it away."""

    @functools.wraps(function)
    def shows(*arguments: P.args, **options: P.kwargs) -> N:
        note = function(*arguments, **options)
        if not listeners and is_dropped(sys._getframe(1)):
            show(note)
        return note

    return shows


def is_dropped(caller: FrameType) -> bool:
    """Whether the caller's next step is to drop the result of the call that it is in."""
    code, place = caller.f_code.co_code, caller.f_lasti + 2
    while place < len(code) and dis.opname[code[place]] in SKIPPED:
        place += 2
    return place < len(code) and dis.opname[code[place]] == "POP_TOP"


def show(note: Note) -> None:
    """Display richly in a notebook, as text elsewhere."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is None:
        print(note)
    else:
        from IPython.display import display

        display(note)
