"""Run a command and record the processor time of all processes that it started, including those of browsers.

    python tools/counted.py FILE COMMAND...    the seconds go into FILE; ends as the command ends

A shell's `time` counts only those processes whose parent waits for them. Here an orphan gets this program as its new
parent (Linux; elsewhere orphans are not counted), which waits for it. Processes that still run LEFT seconds after
the end of the command are terminated, so none outlives a part of the tests.
"""

import ctypes
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

PR_SET_CHILD_SUBREAPER = 36
LEFT = 5.0


class Process(NamedTuple):
    """A process that runs now."""

    parent: int
    ended: bool  # a zombie: its parent has not waited for it
    seconds: float  # processor time, including children that have ended


def processes() -> dict[int, Process]:
    """All running processes by their id; empty without /proc."""
    tick, found = os.sysconf("SC_CLK_TCK"), {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended in the meantime
            continue
        seconds = sum(map(int, fields[11:15])) / tick
        found[int(status.parent.name)] = Process(int(fields[1]), fields[0] == "Z", seconds)
    return found


def descendants(all_: dict[int, Process], process: int) -> list[int]:
    """The children of a process, their children, and so on.

    >>> made = {2: Process(1, False, 0.5), 3: Process(2, False, 0.25), 4: Process(9, False, 1.0)}
    >>> descendants(made, 1)
    [2, 3]
    """
    below = [number for number, one in all_.items() if one.parent == process]
    return [number for child in below for number in (child, *descendants(all_, child))]


def children() -> list[int]:
    """The processes whose parent is this one, now."""
    return [number for number, one in processes().items() if one.parent == os.getpid() and not one.ended]


class Meter:
    """Seconds of the processor that this process and all that it started have used.

    Reading all processes takes some milliseconds, so it is done every `every` seconds, and when a process has ended.
    """

    def __init__(self, every: float = 0.2) -> None:
        self.every, self.looked, self.waited, self.others = every, -every, 0.0, 0.0

    def read(self) -> float:
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        waited = ended.ru_utime + ended.ru_stime
        if waited != self.waited or time.monotonic() - self.looked >= self.every:
            running = processes()
            self.others = sum(running[number].seconds for number in descendants(running, os.getpid()))
            self.looked, self.waited = time.monotonic(), waited
        return time.process_time() + waited + self.others


def reap() -> None:
    """Wait for all orphans; terminate those that still run after a while."""
    until = time.monotonic() + LEFT
    while True:
        try:
            ended, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if ended == 0:
            if time.monotonic() > until:
                for process in children():
                    os.kill(process, signal.SIGKILL)
            time.sleep(0.05)


def main(file: str, *command: str) -> int:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    code = subprocess.run(command).returncode
    reap()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    Path(file).write_text(f"{used.ru_utime + used.ru_stime:.2f}")
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
