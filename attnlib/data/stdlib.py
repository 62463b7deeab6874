"""Real text without a download: the source of the standard library of the Python that runs (book: Chapter 4).

About 12 MB of code on every machine, read where it lies and never copied. `stdlib.txt` lists the modules of
CPython 3.11 that the course's own model was trained on or tested with, each with a digest of its text; another version
of Python has a few other modules, and `missing` and `changed` say which.
"""

import hashlib
import os
import sysconfig
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Literal

LISTED = Path(__file__).with_name("stdlib.txt")
NO_LIBRARY = {"test", "tests", "idle_test", "site-packages", "dist-packages", "__pycache__"}
HELD_OUT = 6  # of 16 parts that a digest makes: a twentieth of the text, with modules of many kinds
OF_ONE_MACHINE = "_sysconfigdata"  # written when Python was built
Split = Literal["train", "held out"]


def library() -> Path:
    """Where the standard library lies."""
    return Path(sysconfig.get_path("stdlib"))


def source_files() -> dict[str, Path]:
    """Every module that is no test, by its path inside the library."""
    root, found = library(), []
    for folder, inside, names in os.walk(root):
        inside[:] = [name for name in inside if name not in NO_LIBRARY]  # not even walked through
        found += [Path(folder, name) for name in names if name.endswith(".py")]
    return {
        path.relative_to(root).as_posix(): path
        for path in sorted(found)
        if not path.name.startswith(OF_ONE_MACHINE)
    }


def split_of(name: str) -> Split:
    """Whether a file is trained on. A package goes as a whole, so that no held-out file has a brother in training.

    >>> split_of("email/message.py") == split_of("email/utils.py")
    True
    """
    module = name.split("/")[0].removesuffix(".py")
    return "held out" if hashlib.sha256(module.encode()).digest()[1] % 16 == HELD_OUT else "train"


def digest(text: str) -> str:
    """The first twelve letters of the SHA-256."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@cache
def listed() -> dict[str, str]:
    """The digest of each module of the list."""
    lines = LISTED.read_text(encoding="utf-8").splitlines()
    return {name: mark for mark, name in (line.split(" ", 1) for line in lines)}


def texts(split: Split) -> Iterator[tuple[str, str]]:
    """Name and text of each listed module of a split that this Python has, in the order of the list."""
    files = source_files()
    for name in listed():
        if split_of(name) == split and name in files:
            yield name, files[name].read_text(encoding="utf-8", errors="replace")


def missing() -> list[str]:
    """The listed modules that this Python has not."""
    files = source_files()
    return [name for name in listed() if name not in files]


def changed() -> list[str]:
    """The listed modules whose text is another one in this Python."""
    return [
        name
        for split in ("train", "held out")
        for name, text in texts(split)
        if digest(text) != listed()[name]
    ]
