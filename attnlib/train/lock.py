"""One training in a folder at a time: a lock on a file, which the system takes from a process that dies."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows, which has no such locks
    fcntl = None

LOCK = "lock"


def _locked(folder: Path) -> int | None:
    """An open file that holds the lock; None if another process holds it."""
    assert fcntl is not None
    while True:
        handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return None
        with contextlib.suppress(FileNotFoundError):
            if os.stat(folder / LOCK).st_ino == os.fstat(handle).st_ino:
                return handle
        os.close(handle)  # the process that held it has deleted the file meanwhile: once more


@contextlib.contextmanager
def locked(folder: str | Path) -> Iterator[None]:
    """Make the folder and hold its lock; a folder in which nothing was written is gone afterwards."""
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"train: --folder must be a folder; got {folder}, which is a file. Choose another.")
    folder.mkdir(parents=True, exist_ok=True)
    handle = _locked(folder) if fcntl else -1
    if handle is None:
        raise ValueError(
            f"train: one training at a time works in a folder; got {folder}, where another one is running. "
            "Wait for its end, or choose another --folder."
        )
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            (folder / LOCK).unlink()  # while the lock is held
        with contextlib.suppress(OSError):
            folder.rmdir()  # fails where something is in it
        if handle >= 0:
            os.close(handle)
