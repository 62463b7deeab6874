"""Run a command and write down the processor time of everything that it started, browsers' own processes included.

    python tools/counted.py FILE COMMAND...    the seconds go into FILE; ends as the command ends

A shell's `time` counts only those processes whose parent waits for them. Here an orphan gets this program as its new
parent (Linux; elsewhere orphans are not counted), which waits for it. What still runs LEFT seconds after the command
has ended is ended, too, so nothing outlives a part of the tests.
"""

import ctypes
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
LEFT = 5.0


def children() -> list[int]:
    """The processes whose parent is this one, now.

    >>> children()
    []
    """
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:  # it ended meanwhile
            continue
        if int(fields[1]) == os.getpid() and fields[0] != "Z":
            found.append(int(status.parent.name))
    return found


def reap() -> None:
    """Wait for all orphans; those that are still there after a while are ended."""
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
