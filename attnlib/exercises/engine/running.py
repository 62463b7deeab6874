"""Run a learner's code safely: with a time limit, without its prints, and with the random state put back.

The code runs in a thread of its own, so the limit holds in Jupyter, in a plain shell and on systems without signals.
After the limit an exception is raised inside that thread, which ends a loop written in Python. One call into compiled
code that never comes back, such as `sum(range(10**15))`, can be ended only in a child process (`child_process`), where
one can be had; elsewhere the thread is left running, and the message says so.
"""

import contextlib
import io
import linecache
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from attnlib.exercises.engine.session_state import restored

TIME_LIMIT = 10.0
LONGEST_PRINT = 2000
# Files under these folders are not the learner's.
LIBRARIES = (
    str(Path(__file__).parents[1]),
    str(Path(threading.__file__).parent),
    "<__array_function__",
    "<frozen",
)


class Halt(BaseException):
    """Raised inside the learner's thread when the time is up; not an Exception, so that few handlers catch it."""


@dataclass
class Ran:
    """What came of running a job: its value, or the line where it was stopped."""

    value: Any = None
    printed: str = ""
    stopped: bool = False
    where: str = ""  # the learner's line that was running when the time was up
    died: bool = False  # it ended Python itself, in a child process
    ended: bool = True  # False: the thread could not be ended and is still running


def run(job: Callable[["Prints"], Any], seconds: float = TIME_LIMIT) -> Ran:
    """Run the job protected and limited; an error of the job itself comes out here."""
    ran, failure, prints = Ran(), [], Prints()

    def work() -> None:
        try:
            with np.errstate(all="ignore"):
                ran.value = job(prints)
        except Halt:
            pass
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=work, daemon=True, name="attnlib exercise")
    with restored(), captured_prints(thread, prints):
        try:
            thread.start()
        except RuntimeError:  # no threads here (Python in a browser): run without a limit
            work()
        else:
            try:
                deadline = time.monotonic() + seconds
                while thread.is_alive() and time.monotonic() < deadline:
                    thread.join(
                        min(0.1, seconds)
                    )  # in steps: a stop button does not end one long wait everywhere
            finally:  # also when the learner presses stop
                if thread.is_alive():
                    ran.stopped, ran.where = True, where_is(thread)
                    ran.ended = end(thread)
    ran.printed = prints.taken()
    if failure and not ran.stopped:
        raise failure[0]
    return ran


def end(thread: threading.Thread, patience: float = 1.0) -> bool:
    """Raise Halt in the thread, again and again for code that catches everything; True if it ended."""
    import ctypes

    for _ in range(20):
        if not thread.is_alive():
            return True
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(Halt))
        thread.join(patience / 20)
    return not thread.is_alive()


def where_is(thread: threading.Thread) -> str:
    """The learner's line that the thread is in, with its number, if it is known."""
    frame = sys._current_frames().get(thread.ident or 0)
    while frame is not None and not is_learners(frame):
        frame = frame.f_back
    if frame is None:
        return ""
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
    return f"line {frame.f_lineno}" + (f": {line}" if line else "")


def is_learners(frame: FrameType) -> bool:
    """Whether this frame runs the learner's own code, and neither the engine's nor a library's."""
    name = frame.f_code.co_filename
    return not name.startswith(LIBRARIES) and "site-packages" not in name and "dist-packages" not in name


@contextlib.contextmanager
def captured_prints(thread: threading.Thread, prints: "Prints") -> Iterator[None]:
    """Collect what this thread prints; other threads print as before, and `input()` finds nothing to read."""
    out, err, entered = sys.stdout, sys.stderr, sys.stdin
    sys.stdout, sys.stderr, sys.stdin = Split(thread, prints, out), Split(thread, prints, err), io.StringIO()
    try:
        yield
    finally:
        sys.stdout, sys.stderr, sys.stdin = out, err, entered


class Prints:
    """What was printed since it was last taken, as far as there is room."""

    def __init__(self) -> None:
        self.text = ""

    def add(self, text: str) -> None:
        if len(self.text) < LONGEST_PRINT:
            self.text += text[:LONGEST_PRINT]

    def taken(self) -> str:
        text, self.text = self.text, ""
        return text


class Split(io.TextIOBase):
    """A stream that sends one thread's text to `prints` and all other text onward."""

    def __init__(self, thread: threading.Thread, prints: Prints, onward: Any) -> None:
        self.thread, self.prints, self.onward = thread, prints, onward

    def write(self, text: str) -> int:
        if threading.current_thread() is not self.thread:
            return self.onward.write(text)
        self.prints.add(text)
        return len(text)

    def flush(self) -> None:
        if threading.current_thread() is not self.thread:
            self.onward.flush()

    def __getattr__(self, name: str) -> Any:  # encoding, isatty and the like
        return getattr(self.onward, name)
