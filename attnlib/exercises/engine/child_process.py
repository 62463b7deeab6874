"""Run a job in a child process, where one can be had: nothing that it does stays, and it can always be ended.

A fork shares all that the session holds, so the learner's function needs no file. It is used on Linux, for exercises
without PyTorch (whose threads do not survive a fork); elsewhere `running.run` alone protects the session.
"""

import contextlib
import os
import pickle
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

GRACE = 2.0  # seconds beyond the limit in which the child may still say where it was stopped
STEP = b"."


@dataclass
class FromChild:
    """What a child sent: its value, or how many steps it had done before it was ended."""

    value: Any = None
    steps: int = 0
    ended: bool = False  # it was ended from outside, because it did not answer
    died: bool = False  # it ended Python itself


def available(needs: tuple[str, ...]) -> bool:
    """Whether a child process can be had here."""
    return sys.platform == "linux" and hasattr(os, "fork") and "torch" not in needs


def run_in_child(
    job: Callable[[Callable[[], None]], Any], seconds: float, memory: int | None = None
) -> FromChild:
    """Run the job in a child process; it calls its argument after each step. `memory` is a limit in bytes."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():  # a session with threads: the child touches none of them
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os.close(reading)
        work(job, writing, memory)
    os.close(writing)
    came = FromChild()
    try:
        data, came.ended = received(reading, time.monotonic() + seconds + GRACE)
    finally:  # also when the learner presses stop
        os.close(reading)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    came.steps = len(data) - len(data.lstrip(STEP))
    if not came.ended:
        with contextlib.suppress(Exception):
            came.value = pickle.loads(data.lstrip(STEP))
        came.died = came.value is None
    return came


def received(reading: int, deadline: float) -> tuple[bytes, bool]:
    """All that the child sends until it closes its end; True if the time was up before."""
    data = b""
    while (left := deadline - time.monotonic()) > 0:
        if select.select([reading], [], [], min(left, 0.2))[0]:
            part = os.read(reading, 1 << 16)
            if not part:
                return data, False
            data += part
    return data, True


def work(job: Callable[[Callable[[], None]], Any], writing: int, memory: int | None) -> None:
    """The child's whole life: do the job, send what came of it, end."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if memory is not None:
            import resource

            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        data = pickle.dumps(job(lambda: sent(writing, STEP)))
        sent(writing, data)
    finally:
        os._exit(0)


def sent(writing: int, data: bytes) -> None:
    while data:
        data = data[os.write(writing, data) :]
