"""`vocab.json` and `merges.txt`, the two files in which GPT-2's tokenizer was published (book: Chapter 4).

The first has the number of each token, the second the merges, best rank first. What is neither a byte nor made by a
merge is a special token.
"""

import json
from pathlib import Path
from typing import Any

from attnlib.data.bpe.alphabet import BYTES, spelled, unspelled
from attnlib.data.bpe.merging import Merge
from attnlib.data.bpe.tokenizer import Tokenizer

HEADER = "#version: 0.2"


def save_tokenizer(tokenizer: Tokenizer, folder: str | Path) -> None:
    """Write both files into a folder."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    lines = [HEADER, *(f"{spelled(left)} {spelled(right)}" for left, right in tokenizer.merges), ""]
    (folder / "merges.txt").write_text("\n".join(lines), encoding="utf-8", newline="\n")
    (folder / "vocab.json").write_text(json.dumps(tokenizer.numbers, ensure_ascii=False), encoding="utf-8")


def load_tokenizer(folder: str | Path) -> Tokenizer:
    """The tokenizer that both files describe; a broken file gets a clear error message."""
    vocab, merges = Path(folder) / "vocab.json", Path(folder) / "merges.txt"
    numbers, pairs = _read_vocab(vocab), _read_merges(merges)
    ordinary = {spelled(token) for token in [*BYTES, *(left + right for left, right in pairs)]}
    special = [name for name in numbers if name not in ordinary]
    try:
        return Tokenizer(pairs, special, numbers=numbers)
    except ValueError as error:
        raise ValueError(f"load_tokenizer: {vocab} and {merges.name} do not fit. {error}") from None


def _read_vocab(file: Path) -> dict[str, Any]:
    try:
        numbers = json.loads(_text(file))
    except json.JSONDecodeError as error:
        raise ValueError(
            f"load_tokenizer: {file} must be JSON; line {error.lineno} is not ({error.msg}). Is it whole?"
        ) from None
    if not isinstance(numbers, dict):
        raise ValueError(
            f'load_tokenizer: {file} must be one JSON object, as {{"!": 0, "the": 256}}; got '
            f"a {type(numbers).__name__}."
        )
    return numbers


def _read_merges(file: Path) -> list[Merge]:
    lines = [line.removesuffix("\r") for line in _text(file).split("\n")]
    if lines[-1] == "":
        lines.pop()
    first = 1 if lines and lines[0].startswith("#version") else 0
    return [_merge(line, f"{file}, line {number}") for number, line in enumerate(lines[first:], first + 1)]


def _merge(line: str, origin: str) -> Merge:
    halves = line.split(" ")
    if len(halves) != 2 or not all(halves):
        raise ValueError(
            f"load_tokenizer: a merge must be two tokens with one space between; got {line!r} in {origin}."
        )
    try:
        return unspelled(halves[0]), unspelled(halves[1])
    except ValueError as error:
        raise ValueError(f"load_tokenizer: {origin}: {error}") from None


def _text(file: Path) -> str:
    if not file.is_file():
        raise ValueError(
            f"load_tokenizer: vocab.json and merges.txt must lie side by side; there is no {file}. Pass their folder."
        )
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"load_tokenizer: {file} must be text in UTF-8; byte {error.start} is not. Is it whole?"
        ) from None
