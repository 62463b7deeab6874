"""Counting the words of large files, block by block, in several processes (book: Chapter 4).

Training a tokenizer needs how often each word occurs, and cutting the text into words takes most of its time. A file is
cut into blocks at borders that no word and no special token spans, so the counts of the blocks add up to those of the
file. Each process holds one block and the words that it has counted, whatever the size of the files.

    python -m attnlib.data.bpe.counting    what each process runs: it reads its blocks from standard input, as JSON
"""

import json
import os
import pickle
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from attnlib.data.bpe.pretokenize import word_list
from attnlib.data.bpe.special import pattern_of
from attnlib.data.bpe.tokenizer import Tokenizer
from attnlib.data.bpe.training import learn_merges

BLOCK = 1_000_000  # bytes between two borders: about 30 MB in memory while its words are counted
WINDOW = 1 << 16  # bytes in which a border is looked for at a time
# Before white space and after a visible character: a word may begin with a space, but never contains one after another
# character. Both are ASCII, so the border is no byte within a character.
BORDER = re.compile(rb"(?<=[!-~])(?=[ \t\r\n])")


class Block(NamedTuple):
    """The bytes of a file from `start` up to `end`."""

    file: str
    start: int
    end: int

    def read(self) -> bytes:
        """These bytes, and no others."""
        with open(self.file, "rb") as file:
            file.seek(self.start)
            return file.read(self.end - self.start)


def is_border(text: bytes, i: int, special: Sequence[bytes]) -> bool:
    """Whether the words of text[:i] and those of text[i:] are those of the text.

    >>> [i for i in range(1, 8) if is_border(b"a b  c d", i, [b"c d"])]
    [1, 3]
    """
    if not BORDER.match(text, i):
        return False
    return not any(token in text[max(0, i - len(token) + 1) : i + len(token) - 1] for token in special)


def first_border(file: Any, at: int, size: int, special: Sequence[bytes]) -> int:
    """The first border at or after a byte of an open file; the end of the file if there is none."""
    longest = max(map(len, special), default=1)
    while at < size:
        begin = max(0, at - longest)
        file.seek(begin)
        text = file.read(at - begin + WINDOW + longest)
        for found in BORDER.finditer(text, at - begin, min(len(text), at - begin + WINDOW)):
            if is_border(text, found.start(), special):
                return begin + found.start()
        at += WINDOW
    return size


def blocks_of(file: str | Path, special: Sequence[str] = (), size: int = BLOCK) -> Iterator[Block]:
    """The file in blocks of `size` bytes and a little more, each from border to border."""
    file = Path(file)
    names, whole, start = [token.encode() for token in special], file.stat().st_size, 0
    with file.open("rb") as opened:
        while start < whole:
            end = first_border(opened, start + size, whole, names)
            yield Block(str(file), start, end)
            start = end


def count_blocks(blocks: Sequence[Block], special: Sequence[str] = ()) -> Counter[bytes]:
    """How often each word occurs in the blocks; special tokens are left out."""
    pattern, words = pattern_of(special), Counter()
    for block in blocks:
        for part in pattern.split(_text(block)):
            words.update(word_list(part))
    return Counter({word.encode(): count for word, count in words.items()})


def _text(block: Block) -> str:
    try:
        return block.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"count_words_of_files: a file must be text in UTF-8; got {block.file}, where byte "
            f"{block.start + error.start} is not. Save it as UTF-8."
        ) from None


def count_words_of_files(
    files: Sequence[str | Path], special: Sequence[str] = (), *, processes: int = 1, block: int = BLOCK
) -> Counter[bytes]:
    """How often each word occurs in the files, exactly as `count_words` counts them in their texts.

    special      tokens that are left out, and that no border cuts
    processes    how many count side by side; each has every n-th block
    """
    blocks = [one for file in files for one in blocks_of(file, special, block)]
    processes = min(processes, len(blocks))
    if processes < 2:
        return count_blocks(blocks, special)
    running = [_started(blocks[i::processes], special) for i in range(processes)]
    words: Counter[bytes] = Counter()
    try:
        for process in running:
            words.update(_result_of(process))
    finally:
        for process in running:  # where one has failed, the others are not waited for
            process.kill()
            process.communicate()
    return words


def _started(blocks: Sequence[Block], special: Sequence[str]) -> subprocess.Popen[bytes]:
    """A process of Python alone, which loads this module and nothing else: no copy of what the caller holds."""
    package, path = str(Path(__file__).parents[3]), os.environ.get("PYTHONPATH")
    process = subprocess.Popen(
        [sys.executable, "-m", __name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": f"{package}{os.pathsep}{path}" if path else package},
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps([blocks, special]).encode())
    process.stdin.close()
    process.stdin = None
    return process


def _result_of(process: subprocess.Popen[bytes]) -> Counter[bytes]:
    assert process.stdout is not None
    try:
        found = pickle.load(process.stdout)
    except EOFError:
        raise RuntimeError(
            f"count_words_of_files: a process ended with code {process.wait()} before it had counted. "
            "Is there enough memory? Use fewer processes."
        ) from None
    if isinstance(found, str):
        raise ValueError(found)
    return found


def train_tokenizer_of_files(
    files: Sequence[str | Path], n_merges: int, special: Sequence[str] = (), *, processes: int = 1
) -> Tokenizer:
    """The tokenizer that `train_tokenizer` learns from the texts of the files, which are never whole in memory."""
    return Tokenizer(
        learn_merges(count_words_of_files(files, special, processes=processes), n_merges), special
    )


def main() -> None:
    """Count the blocks that standard input lists, and write the counts, or the sentence of an error."""
    blocks, special = json.load(sys.stdin)
    try:
        found: Any = count_blocks([Block(*one) for one in blocks], special)
    except ValueError as error:
        found = str(error)
    pickle.dump(found, sys.stdout.buffer, protocol=pickle.HIGHEST_PROTOCOL)


if __name__ == "__main__":
    main()
