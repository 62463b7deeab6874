"""Try edits, each in its own process, on a copy of the tree, and with a time limit.

The copy is made once. Programs that a test starts see the edit, too, because they start in the copy. Compiled files
(.pyc) of an edited file are removed, and none is written, so that no process can run the code of before the edit.
"""

import contextlib
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

LIMIT = 180  # seconds for one edit, also on a busy machine; so an endless loop is noticed
LEFT = (
    "_build",
    "_vendor",
    "node_modules",
    "build",
    "dist",
    "shots",
)  # not copied, like everything that begins with a dot
OURS = ("attnlib", "book", "tests", "tools", "experiments", "benchmarks", "conftest.py")
QUIET = ("-q", "--assert=plain", "-p", "no:cacheprovider", "-p", "no:xdist")


class Ended(NamedTuple):
    """The result of work in its own process: what it returned, or why it did not, and its seconds."""

    value: Any
    seconds: float
    how: str = ""  # empty, "time limit" or "ends its process"


class Copy:
    """A copy of the tree, in which one file at a time is edited."""

    def __init__(self, root: Path) -> None:
        self.root, self.folder = root, tempfile.TemporaryDirectory()
        self.place = Path(self.folder.name).resolve() / root.name
        shutil.copytree(root, self.place, ignore=left_out, symlinks=True, copy_function=copied)

    @contextlib.contextmanager
    def edited(self, file: str, text: str) -> Iterator[None]:
        """Within the block the file has this text."""
        target = self.place / file
        before = target.read_bytes()
        try:
            write(target, text.encode())
            yield
        finally:
            write(target, before)

    def run(self, work: Callable[[], Any], limit: float = LIMIT) -> Ended:
        """Do some work in a process that has not imported the project yet; processes that it starts end with it."""
        context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
        ours, theirs = context.Pipe(duplex=False)
        start = time.monotonic()
        process = context.Process(target=_child, args=(self.root, self.place, work, theirs))
        process.start()
        theirs.close()
        value, how = None, ""
        try:
            value, how = (ours.recv(), "") if ours.poll(limit) else (None, "time limit")
        except EOFError:
            how = "ends its process"
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid or 0, signal.SIGKILL)
            process.kill()
            process.join()
        return Ended(value, time.monotonic() - start, how)


def left_out(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if name in LEFT or name.startswith(".")]


def copied(file: str, target: str) -> None:
    """Copy one file with its time, on which its compiled form depends; a file that has vanished is skipped."""
    with contextlib.suppress(FileNotFoundError):
        shutil.copy2(file, target)


def write(target: Path, content: bytes) -> None:
    """Write a file of the copy and remove its compiled form."""
    target.write_bytes(content)
    for compiled in (target.parent / "__pycache__").glob(f"{target.stem}.*.pyc"):
        compiled.unlink()


@cache
def copy_of(root: Path) -> Copy:
    """The one copy of a tree."""
    return Copy(root)


def warm() -> None:
    """Import slow packages that are not edited once; the processes inherit them."""
    os.environ["OMP_NUM_THREADS"] = "1"  # a forked child of a process with threads could deadlock
    for name in ("hypothesis", "numpy", "pytest", "torch"):
        __import__(name)


def _child(root: Path, place: Path, work: Callable[[], Any], answer: Any) -> None:
    os.setsid()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    move(root, place)
    answer.send(work())


def move(root: Path, place: Path) -> None:
    """In the new process: use the copy as the project, also for programs that it starts."""
    ours = tuple(str(root / name) for name in OURS)
    for name, module in [*sys.modules.items()]:
        if name != "__main__" and (getattr(module, "__file__", None) or "").startswith(ours):
            del sys.modules[name]
    sys.path[:] = [
        str(place),
        *(path for path in sys.path if not path.startswith(ours) and path != str(root)),
    ]
    sys.dont_write_bytecode = True
    os.environ |= {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(place), "MPLBACKEND": "agg"}
    os.chdir(place)


# Tests, in such a process.


class Watcher:
    """A pytest plugin that notes how tests end. Skipped tests and expected failures do not count."""

    def __init__(self) -> None:
        self.passed = 0
        self.first = ""  # the id of the first that fails, or of a file that cannot be collected
        self.errors: list[BaseException] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.passed += report.when == "call" and report.passed and not hasattr(report, "wasxfail")
        self.first = self.first or (report.nodeid if report.failed else "")

    def pytest_collectreport(self, report: Any) -> None:
        self.first = self.first or (report.nodeid if report.failed else "")

    def pytest_exception_interact(self, node: Any, call: Any) -> None:
        self.errors.append(call.excinfo.value)


def first_failure(arguments: list[str]) -> str:
    """The first of these tests that fails; empty if all pass, or there is none."""
    import pytest

    watcher = Watcher()
    code = pytest.main([*QUIET, "-x", *arguments], plugins=[watcher])
    return watcher.first or ("" if code in (0, 5) else f"pytest ends with {int(code)}")
