"""One word from bytes to tokens: join the pair of lowest rank, everywhere, until no pair has one (book: Chapter 4).

A merge is a pair of tokens; its rank is its index in the list that training made. The pair of lowest rank is joined
first, wherever it is in the word: words are merged in the order in which training found the merges.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeVar

Merge = tuple[bytes, bytes]
T = TypeVar("T", int, bytes)


class Step(NamedTuple):
    """One merge of a word: its rank, the pair, and the tokens of the word after this merge."""

    rank: int
    pair: Merge
    parts: list[bytes]


def merge(parts: Sequence[T], pair: tuple[T, T], whole: T) -> list[T]:
    """Every occurrence of the pair becomes `whole`, from left to right.

    >>> merge([b"a", b"a", b"a", b"b"], (b"a", b"a"), b"aa")
    [b'aa', b'a', b'b']
    """
    merged, i = [], 0
    while i < len(parts):
        found = parts[i] == pair[0] and i + 1 < len(parts) and parts[i + 1] == pair[1]
        merged.append(whole if found else parts[i])
        i += 2 if found else 1
    return merged


def lowest_rank(parts: Sequence[bytes], ranks: Mapping[Merge, int]) -> Merge | None:
    """The pair of neighbours that is joined next; None if no pair has a rank.

    >>> lowest_rank([b"t", b"h", b"e"], {(b"h", b"e"): 0, (b"t", b"h"): 1})
    (b'h', b'e')
    """
    ranked = [pair for pair in pairwise(parts) if pair in ranks]
    return min(ranked, key=ranks.__getitem__, default=None)


def merge_steps(word: bytes, ranks: Mapping[Merge, int]) -> Iterator[Step]:
    """The merges of a word, one at a time.

    >>> for step in merge_steps(b"there", {(b"h", b"e"): 0, (b"t", b"he"): 1}):
    ...     print(step.rank, step.parts)
    0 [b't', b'he', b'r', b'e']
    1 [b'the', b'r', b'e']
    """
    parts = single_bytes(word)
    while pair := lowest_rank(parts, ranks):
        parts = merge(parts, pair, pair[0] + pair[1])
        yield Step(ranks[pair], pair, parts)


def merge_word(word: bytes, ranks: Mapping[Merge, int]) -> list[bytes]:
    """The tokens of a word: the parts that remain when no pair has a rank.

    >>> merge_word(b"there", {(b"h", b"e"): 0, (b"t", b"he"): 1})
    [b'the', b'r', b'e']
    """
    parts = single_bytes(word)
    for step in merge_steps(word, ranks):
        parts = step.parts
    return parts


def single_bytes(word: bytes) -> list[bytes]:
    """The word before any merge.

    >>> single_bytes("é".encode())
    [b'\\xc3', b'\\xa9']
    """
    return [bytes([byte]) for byte in word]
