"""What `attnlib train` reads: a file, or the text files of a folder, piece by piece; and what it leaves out.

A folder is read with all folders in it, but for hidden ones, installed packages and folders that a training has
written. Each file that is left out, because of its name or because it is not text, is counted.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

from attnlib import rules
from attnlib.data.bpe.counting import blocks_of

END, SUFFIXES = "<|endoftext|>", (".txt", ".md", ".py")
INSTALLED = ("site-packages", "dist-packages", "node_modules", "__pycache__")  # code of other projects
HELD_OUT_FILE = "held-out.npy"  # a folder with it was written by a training
LEAST = 10_000  # bytes that a text must have
NAMED = 5  # so many files are named that are left out


class NotText(ValueError):
    """A file is not UTF-8."""


class Texts(NamedTuple):
    """The files that are read, and what is known of their texts, which are never whole in memory."""

    files: list[Path]
    checksum: str
    characters: int
    n_bytes: int
    left_out: list[str]  # a line for each reason


def pieces_of(file: str | Path) -> Iterator[str]:
    """The text of a file in pieces that no word spans; the error for a file that is not text names it."""
    rules.must(Path(file).stat().st_size > 0, "train", f"a text must not be empty; got {file}.")
    for block in blocks_of(file, [END]):
        try:
            text = block.read().decode("utf-8")
        except UnicodeDecodeError:
            text = "\0"
        if "\0" in text:
            then = "Is it binary? Else save it as UTF-8."
            raise NotText(f"train: a text must be UTF-8; got {file}, which is not. {then}")
        yield text


def matches(name: str, patterns: Sequence[str]) -> bool:
    """Whether a pattern fits the path, or one of the names in it.

    >>> matches("src/tests/a.py", ["tests"]), matches("src/a.py", ["*.md", "lib/*"]), matches("src/a.py", ["src/*"])
    (True, False, True)
    """
    return any(fnmatch(one, pattern) for pattern in patterns for one in (name, *name.split("/")))


def files_of(path: str | Path, exclude: Sequence[str] = ()) -> tuple[list[Path], Counter[str]]:
    """The text files of a folder by their names, and how many files are left out for which reason."""
    path, files, left_out = Path(path), [], Counter()
    for one in sorted(path.rglob("*")):
        if not one.is_file() or (one.parent / HELD_OUT_FILE).is_file():
            continue
        name = one.relative_to(path).as_posix()
        folders = name.split("/")
        if any(part.startswith(".") for part in folders):
            left_out["hidden"] += 1
        elif any(part in INSTALLED for part in folders):
            left_out["of installed packages"] += 1
        elif matches(name, exclude):
            left_out["excluded"] += 1
        elif one.suffix not in SUFFIXES:
            left_out["with other endings"] += 1
        elif not one.stat().st_size:
            left_out["empty"] += 1
        else:
            files.append(one)
    return files, left_out


def described(count: int, what: str, names: Sequence[str] = ()) -> str:
    """A line of what is left out.

    >>> described(2, "not UTF-8", ["a.txt", "b.md"]), described(1, "hidden")
    ('2 files not UTF-8: a.txt, b.md', '1 file hidden')
    """
    listed = ", ".join(names[:NAMED]) + (f" and {count - NAMED} more" if count > NAMED else "")
    return f"{count:,} file{'s' * (count != 1)} {what}" + (f": {listed}" if names else "")


def texts_of(path: str | Path, exclude: Sequence[str] = ()) -> Texts:
    """The text of a file, or of all files in a folder that end in .txt, .md or .py; at least 10,000 bytes.

    exclude    patterns of names and of paths below the folder, such as "tests" and "*.md", that are not read
    """
    path = Path(path)
    rules.must(path.exists(), "train", f"there must be a file or a folder; got {path}, which is not there.")
    found, left_out = files_of(path, exclude) if path.is_dir() else ([path], Counter())
    came = f"got {path}, where there is none."
    rules.must(len(found) > 0, "train", f"a folder must have files that end in {', '.join(SUFFIXES)}; {came}")
    files, no_text = [], []
    checksum, characters, n_bytes = hashlib.sha256(), 0, 0
    for file in found:
        before = checksum.copy(), characters, n_bytes
        checksum.update(b"\0" if files else b"")
        try:
            for text in pieces_of(file):
                checksum.update(data := text.encode())
                characters, n_bytes = characters + len(text), n_bytes + len(data)
            files.append(file)
        except NotText:
            if not path.is_dir():
                raise
            no_text.append(str(file.relative_to(path)))
            checksum, characters, n_bytes = before
    came = f"got {n_bytes:,} in {path}. Take more text."
    rules.must(n_bytes >= LEAST, "train", f"there must be {LEAST:,} bytes of text or more; {came}")
    reasons = [described(count, what) for what, count in left_out.items()]
    reasons += [described(len(no_text), "not UTF-8", no_text)] if no_text else []
    return Texts(files, checksum.hexdigest(), characters, n_bytes, reasons)
