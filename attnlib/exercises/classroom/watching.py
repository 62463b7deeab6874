"""What a submission does that a person should look at: seen inside its process, by a hook that cannot be taken out.

Python reports what a program opens and starts to its audit hooks. Each thing seen is sent at once, before the
submission goes on. Code that leaves Python (`ctypes`) is not seen.
"""

import os
import sys
import sysconfig
from collections.abc import Callable
from types import FrameType
from typing import Any

from attnlib.exercises.engine.registry import CHAPTERS
from attnlib.exercises.engine.session_state import ORIGINAL

HOME = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
CHAPTER_FOLDERS = tuple(os.path.join(HOME, name.replace("-", "_")) + os.sep for name in CHAPTERS)
STARTS = ("subprocess.Popen", "os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn")
ENGINE_FOLDERS = tuple(os.path.join(HOME, name) + os.sep for name in ("engine", "classroom"))
MOST = 20


def watch(tell: Callable[[str], None], labels: set[str]) -> None:
    """From now on, tell what the code with these labels does that should be flagged, each thing once."""
    reported: set[str] = set()

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event != "open" and event not in STARTS:
            return
        seen = noticed(event, arguments, labels)
        if seen and seen not in reported and len(reported) < MOST:
            reported.add(seen)
            tell(seen)

    sys.addaudithook(hook)


def noticed(event: str, arguments: tuple[Any, ...], labels: set[str]) -> str:
    """A sentence on what is done, empty if it is nothing to flag."""
    if event == "open":
        path = as_path(arguments[0])
        if os.path.basename(path).startswith("__init__."):
            return ""
        if path.startswith(CHAPTER_FOLDERS):
            return f"reads the file of the exercise {dotted(path).replace('_', '-')}"
        ours = path.startswith(ENGINE_FOLDERS) and is_asked_by(labels, sys._getframe(2))
        return f"imports attnlib.exercises.{dotted(path)}" if ours else ""
    return f"starts another program ({event})" if is_asked_by(labels, sys._getframe(2)) else ""


def dotted(path: str) -> str:
    """The module that a file, or what was compiled from it, belongs to.

    >>> dotted(f"{HOME}/multi_head/__pycache__/sum_form.cpython-311.pyc")
    'multi_head.sum_form'
    """
    parts = [part for part in os.path.relpath(path, HOME).split(os.sep) if part != "__pycache__"]
    return ".".join(part.split(".")[0] for part in parts)


def as_path(path: Any) -> str:
    try:
        return os.path.realpath(os.fsdecode(path))
    except (TypeError, ValueError):  # a file that is open already
        return ""


def is_asked_by(labels: set[str], frame: FrameType | None) -> bool:
    """Whether a submission's own line caused this, with nothing but the standard library between."""
    library = (sysconfig.get_path("stdlib") + os.sep, "<frozen")
    while frame is not None:
        name = frame.f_code.co_filename
        if name in labels:
            return True
        if not name.startswith(library) or "site-packages" in name:
            return False
        frame = frame.f_back
    return False


def overridden() -> list[str]:
    """Functions of NumPy and `math` that are not what was imported."""
    return [
        f"overrides {module.__name__}.{name}"
        for module, names in ORIGINAL.items()
        for name, value in names.items()
        if vars(module).get(name) is not value
    ][:MOST]
