"""A player from outside: started, called with a time limit, and ended with all that it started."""

import contextlib
import json
import os
import pickle
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from attnlib.exercises.classroom.submission import Submission
from attnlib.exercises.classroom.surroundings import environment, how, read_lines
from attnlib.exercises.classroom.wire import text

COMMAND = [sys.executable, "-m", "attnlib.exercises.classroom.player"]
START = 60.0  # seconds that Python and NumPy may take to start on a busy machine
GRACE = 3.0  # seconds beyond a limit in which a player may still say where it was stopped


@dataclass(frozen=True)
class Limits:
    """What a submission may take: seconds for a check, for the whole file, and bytes of memory."""

    seconds: float = 10.0
    file_seconds: float = 60.0
    memory: int = 2 << 30


NO_END = "it had to be ended, because it did not come to an end"
NONSENSE = "sends what makes no sense in place of answers"


class Gone(Exception):
    """A player is no more; the text says why."""

    def __init__(self, why: str, late: bool = False) -> None:
        super().__init__(why)
        self.late = late


@dataclass
class Player:
    """One submission's process; it is started again when it was lost, and called once more."""

    submission: Submission
    names: dict[str, str]  # function -> exercise, where a name stands for one
    limits: Limits = field(default_factory=Limits)
    flags: list[str] = field(default_factory=list)
    process: Any = None

    def played(self) -> dict[str, Any]:
        """Start the process and run the file; what it says of itself."""
        self.folder = tempfile.TemporaryDirectory(prefix="attnlib-", ignore_cleanup_errors=True)
        self.process = subprocess.Popen(
            COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=self.folder.name,
            env=environment(self.folder.name),
            start_new_session=True,
        )
        self.lines: queue.Queue[bytes] = queue.Queue(maxsize=64)
        threading.Thread(target=read_lines, args=(self.process.stdout, self.lines), daemon=True).start()
        self.answer(time.monotonic() + START)
        cells = [(cell.label, cell.source) for cell in self.submission.cells]
        task = {"cells": cells, "path": self.submission.path.name, "names": self.names}
        limits = {"seconds": self.limits.file_seconds, "memory": self.limits.memory}
        return self.said(task | limits, self.limits.file_seconds)

    def asked(self, id: str, calls: list[Any]) -> dict[str, Any]:
        """What the function that answers an exercise does with these arguments."""
        if self.process is None:
            self.played()
        seconds = self.limits.seconds
        return self.said({"id": id, "calls": calls, "seconds": seconds}, seconds)

    def said(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Send a request and wait for the answer; a process that cannot be used any more is ended."""
        if self.process is None:
            raise Gone("it did not run to its end a second time")
        data = pickle.dumps(request)
        try:
            self.process.stdin.write(len(data).to_bytes(8, "big") + data)
            self.process.stdin.flush()
            answer = self.answer(time.monotonic() + seconds + GRACE)
        except OSError:
            raise Gone(self.ended()) from None
        except Gone:
            self.ended()
            raise
        if answer.get("lost"):
            self.ended()
        return answer

    def answer(self, deadline: float) -> dict[str, Any]:
        """The next message that is no flag."""
        while (left := deadline - time.monotonic()) > 0:
            try:
                line = self.lines.get(timeout=left)
            except queue.Empty:
                break
            if not line:
                raise Gone(self.ended())
            try:
                message = json.loads(line)
                if "flag" not in message:
                    return dict(message)
                self.flag(text(message["flag"]))
            except (ValueError, TypeError, KeyError, RecursionError):
                self.flag(NONSENSE)
                raise Gone("it sent what makes no sense") from None
        raise Gone(NO_END, late=True)

    def flag(self, seen: str) -> None:
        if seen not in self.flags and len(self.flags) < 20:
            self.flags.append(seen[:300])

    def ended(self) -> str:
        """End the process with all that it started, and say how it ended if it did so by itself."""
        if self.process is None:
            return ""
        with contextlib.suppress(OSError):
            self.process.stdin.close()  # a player that still reads its input ends by itself
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(0.5)
        code = self.process.poll()
        with contextlib.suppress(OSError):
            os.killpg(self.process.pid, signal.SIGKILL) if hasattr(os, "killpg") else self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process = None
        self.folder.cleanup()
        return how(code)
