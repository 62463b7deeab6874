"""Real text without a download: the source code of the running Python's standard library (book: Chapter 4).

It is about 12 MB of code, read from the installation and never copied. `stdlib.txt` lists the modules of
CPython 3.11 that the course's own model was trained on or tested with, each with a digest of its text. Another
version of Python differs in a few modules; `missing` and `changed` list them.
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
HELD_OUT = 6  # the part, of 16 by digest, that is held out: a twentieth of the text, many kinds of modules
OF_ONE_MACHINE = "_sysconfigdata"  # a generated module whose name begins so differs on every machine
Split = Literal["train", "held out"]


def library() -> Path:
    """The folder of the standard library."""
    return Path(sysconfig.get_path("stdlib"))


def source_files() -> dict[str, Path]:
    """The path of every module that is not a test, by its name relative to the library."""
    root, found = library(), []
    for folder, inside, names in os.walk(root):
        inside[:] = [name for name in inside if name not in NO_LIBRARY]  # os.walk then skips these folders
        found += [Path(folder, name) for name in names if name.endswith(".py")]
    return {
        path.relative_to(root).as_posix(): path
        for path in sorted(found)
        if not path.name.startswith(OF_ONE_MACHINE)
    }


def split_of(name: str) -> Split:
    """The split of a file. All files of a package are in one split, so no held-out file has a relative in training.

    >>> split_of("email/message.py") == split_of("email/utils.py")
    True
    """
    module = name.split("/")[0].removesuffix(".py")
    return "held out" if hashlib.sha256(module.encode()).digest()[1] % 16 == HELD_OUT else "train"


def digest(text: str) -> str:
    """The first twelve hexadecimal digits of the SHA-256."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@cache
def listed() -> dict[str, str]:
    """The digest of each module in `stdlib.txt`."""
    lines = LISTED.read_text(encoding="utf-8").splitlines()
    return {name: mark for mark, name in (line.split(" ", 1) for line in lines)}


def texts(split: Split) -> Iterator[tuple[str, str]]:
    """Name and text of the listed modules of a split that this Python has, in the order of the list."""
    files = source_files()
    for name in listed():
        if split_of(name) == split and name in files:
            yield name, files[name].read_text(encoding="utf-8", errors="replace")


def missing() -> list[str]:
    """The listed modules that this Python does not have."""
    files = source_files()
    return [name for name in listed() if name not in files]


def changed() -> list[str]:
    """The listed modules whose text differs in this Python."""
    return [
        name
        for split in ("train", "held out")
        for name, text in texts(split)
        if digest(text) != listed()[name]
    ]
