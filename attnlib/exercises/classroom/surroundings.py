"""What a player is started with, how it is listened to, and how its end reads."""

import contextlib
import os
import queue
import signal
from pathlib import Path
from typing import BinaryIO

import attnlib

PASSED_ON = ("PATH", "LANG", "LC_ALL", "TZ", "SYSTEMROOT", "LD_LIBRARY_PATH", "VIRTUAL_ENV")
LONGEST = 32_000_000  # bytes of one answer


def how(code: int | None) -> str:
    """In words, how a process ended.

    >>> how(0), how(-9)
    ('it ended Python itself, with code 0', 'it was killed (SIGKILL)')
    """
    if code is None:
        return "it sent more than an answer can be"
    if code >= 0:
        return f"it ended Python itself, with code {code}"
    with contextlib.suppress(ValueError):
        return f"it was killed ({signal.Signals(-code).name})"
    return f"it was killed (signal {-code})"


def read_lines(stream: BinaryIO, lines: "queue.Queue[bytes]") -> None:
    """Pass on line after line; an empty one, or one that is too long, is the last."""
    with contextlib.suppress(OSError, ValueError):
        while (line := stream.readline(LONGEST)) and line.endswith(b"\n"):
            lines.put(line)
    lines.put(b"")


def environment(folder: str) -> dict[str, str]:
    """Nothing of the grader's surroundings but what Python needs, so that no secret of a CI machine is passed on."""
    kept = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    paths = [str(Path(attnlib.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    ours = {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "PYTHONHASHSEED": "0", "MPLBACKEND": "Agg"}
    ours |= {"HOME": folder, "TMPDIR": folder, "ATTNLIB_PROGRESS": "off", "OMP_NUM_THREADS": "1"}
    return kept | ours | {"PYTHONIOENCODING": "utf-8", "PYTHONDONTWRITEBYTECODE": "1"}
