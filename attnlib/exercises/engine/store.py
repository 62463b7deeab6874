"""The learner's progress: one small JSON file, replaced as a whole, so that no crash can leave half of it.

It lies in the user's data directory; the environment variable ATTNLIB_PROGRESS names another file, or is "off". It is
locked before it is written, so several notebooks at once lose nothing. Where nothing can be written, progress lasts as
long as the session, and a notice appears once. A file that makes no sense is set aside, not overwritten. The book's
pages save the same records (book/_static/progress.js), with what was read and predicted; that is left as it is.
"""

import base64
import binascii
import contextlib
import json
import os
import sys
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

VERSION = 1
EMPTY: dict[str, Any] = {"attempts": 0, "passed": False, "hints": 0, "solution": False}
_memory: dict[str, dict[str, Any]] = {}  # what this session knows and could not write
_notices: list[str] = []
_shown: set[str] = set()
_here = threading.RLock()
_held: list[bool] = []  # one entry for each level of `locked` that this thread is in
_chosen: list[Path] = []  # a folder chosen in this session, such as Drive


def place() -> Path | None:
    """The file that holds the progress; None where it is switched off."""
    asked = os.environ.get("ATTNLIB_PROGRESS")
    if asked is not None:
        return Path(asked).expanduser() if asked.lower() not in ("", "off") else None
    return _chosen[-1] if _chosen else data_directory() / "attnlib" / "progress.json"


def data_directory() -> Path:
    """Where this system keeps the data of a user's programs."""
    if sys.platform == "darwin":
        return Path("~/Library/Application Support").expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path("~/AppData/Local").expanduser())
    return Path(os.environ.get("XDG_DATA_HOME") or Path("~/.local/share").expanduser())


def choose(path: Path) -> None:
    """Keep progress in this file from now on, together with what is known so far."""
    known = load()
    _chosen.append(path)
    merge(known)


def load() -> dict[str, dict[str, Any]]:
    """What is known of each exercise that was touched."""
    written = read(place())
    return {id: joined(written.get(id, EMPTY), _memory.get(id, EMPTY)) for id in [*written, *_memory]}


def read(path: Path | None) -> dict[str, dict[str, Any]]:
    """The records in a file; a file that makes no sense is set aside, and a notice says so."""
    if path is None:
        return {}
    try:
        data = path.read_bytes()
    except (OSError, RuntimeError):
        return {}
    try:
        return records(data)
    except Exception:  # whatever is wrong with it: no check may fail for it
        set_aside(path)
        return {}


def records(data: bytes) -> dict[str, dict[str, Any]]:
    """The records in the bytes of a file; none where a later version wrote it."""
    content = json.loads(data)
    if content["version"] > VERSION:
        return {}
    return {str(id): cleaned(record) for id, record in content["exercises"].items()}


def copied(path: Path) -> dict[str, dict[str, Any]]:
    """The records in a copy that the book's pages or another machine saved."""
    try:
        return records(path.expanduser().read_bytes())
    except OSError as error:
        raise ValueError(
            f"load_progress: the file must be there to be read; {path}: {error.strerror}."
        ) from None
    except Exception:
        raise ValueError(
            f"load_progress: the file must be one that the book or attnlib saved; {path} makes no sense."
        ) from None


def cleaned(record: dict[str, Any]) -> dict[str, Any]:
    """A record with all fields, each of the right type."""
    return {field: type(default)(record.get(field, default)) for field, default in EMPTY.items()}


def set_aside(path: Path) -> None:
    """Rename a file that cannot be read, and say so once."""
    number = 1
    while (other := path.with_name(f"{path.name}.unreadable-{number}")).exists():
        number += 1
    with contextlib.suppress(OSError):
        path.rename(other)
        notify(f"The progress file could not be read. It was set aside as {other}, and a new one was begun.")


@contextlib.contextmanager
def locked() -> Iterator[None]:
    """No other process writes meanwhile, in this session or another; without a lock where the system has none."""
    path = place()
    with _here, contextlib.ExitStack() as stack:
        if path is not None and not _held:
            with contextlib.suppress(OSError, RuntimeError):
                folder = real(path).parent
                folder.mkdir(parents=True, exist_ok=True)
                stack.enter_context(locked_folder(folder))
        _held.append(True)
        stack.callback(_held.pop)
        yield


@contextlib.contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """A lock on the folder itself leaves no file; Windows has none, so a file next to it serves there."""
    if sys.platform == "win32":
        import msvcrt

        with (folder / "progress.lock").open("w") as file:
            msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
            yield
        return
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def real(path: Path) -> Path:
    """The file that a link points to: it is replaced, and the link stays."""
    return Path(os.path.realpath(path))


def attempted(id: str, passed: bool) -> None:
    """Note one more attempt."""
    with locked():
        record = load().get(id, EMPTY)
        merge({id: {**record, "attempts": record["attempts"] + 1, "passed": passed}})


def update(id: str, **fields: Any) -> None:
    """Note something about one exercise."""
    with locked():
        merge({id: {**load().get(id, EMPTY), **fields}})


def merge(records: dict[str, dict[str, Any]]) -> None:
    """Add records to what is known: nothing that was reached is lost."""
    with locked():
        known = load()
        known.update({id: joined(known.get(id, EMPTY), record) for id, record in records.items()})
        save(known)


def forget(id: str | None) -> None:
    """Forget one exercise, or all of them."""
    with locked():
        known = load()
        _memory.clear()
        save({} if id is None else {other: record for other, record in known.items() if other != id})


def joined(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    return {field: max(one[field], other[field]) for field in EMPTY}


def save(records: dict[str, dict[str, Any]]) -> None:
    """Write all records to a new file and put it in place of the old one; keep them in memory if that fails."""
    path = place()
    newer = path is not None and is_newer(path)
    written = path is not None and not newer and write(real(path), records)
    _memory.clear()
    if not written:
        _memory.update(records)
        if path is not None and not newer:
            notify(f"Progress cannot be written to {path}; it lasts as long as this session.")


def write(path: Path, records: dict[str, dict[str, Any]]) -> bool:
    """Write a file beside it and rename that; its name is fixed, so what a crash left is written over."""
    content = beside(path) | {"version": VERSION, "exercises": records}
    text = json.dumps(content, indent=1, sort_keys=True) + "\n"
    temporary = path.with_name(path.name + ".tmp")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        return False
    return True


def beside(path: Path) -> dict[str, Any]:
    """What a file holds beside the exercises: in a copy from the book's pages, what was read and predicted."""
    try:
        return dict(json.loads(path.read_bytes()))
    except Exception:
        return {}


def is_newer(path: Path) -> bool:
    """Whether a later version of attnlib wrote this file; then it is left alone."""
    try:
        newer = json.loads(path.read_bytes())["version"] > VERSION
    except Exception:
        return False
    if newer:
        notify(
            f"{path} was written by a later attnlib; it is left as it is, and progress lasts for this session."
        )
    return newer


def notify(text: str) -> None:
    """Keep a sentence for the learner, the first time it comes up."""
    if text not in _shown:
        _shown.add(text)
        _notices.append(text)


def notices() -> list[str]:
    """What the learner should read, once."""
    texts = _notices.copy()
    _notices.clear()
    return texts


def encoded(ids: dict[str, bool]) -> str:
    """A short code for what was tried, and passed or not: two bytes for each exercise, and a check sum.

    >>> encoded({"foundations.softmax": True})
    'AEAYG-MQAXA'
    """
    parts = [
        b"".join(sorted(mark(id) for id, passed in ids.items() if passed is wanted))
        for wanted in (True, False)
    ]
    body = bytes([VERSION, len(parts[0]) // 2]) + parts[0] + parts[1]
    text = base64.b32encode(body + checksum(body)).decode().rstrip("=")
    return "-".join(text[i : i + 5] for i in range(0, len(text), 5))


def decoded(code: str, known: list[str]) -> tuple[dict[str, bool], int]:
    """The exercises in a code, passed or only tried, and how many of them this version does not know."""
    text = "".join(code.split()).replace("-", "").upper()
    try:
        data = base64.b32decode(text + "=" * (-len(text) % 8))
    except binascii.Error:
        data = b""
    body, sum_ = data[:-2], data[-2:]
    if len(body) < 2 or checksum(body) != sum_ or body[0] != VERSION:
        raise ValueError(
            f"load_progress: the code must be one that progress_code() printed; got {code!r}. Copy it whole."
        )
    marks = [body[i : i + 2] for i in range(2, len(body), 2)]
    names = {mark(id): id for id in known}
    found = {names[one]: i < body[1] for i, one in enumerate(marks) if one in names}
    return found, len(marks) - len(found)


def mark(id: str) -> bytes:
    """Two bytes that stand for an exercise; a test proves that no two exercises share them."""
    return (zlib.crc32(id.encode()) & 0xFFFF).to_bytes(2, "big")


def checksum(body: bytes) -> bytes:
    return (zlib.adler32(body) & 0xFFFF).to_bytes(2, "big")
