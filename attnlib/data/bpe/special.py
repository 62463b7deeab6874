"""Special tokens, such as `<|endoftext|>`: found before the text is cut into words (book: Chapter 4)."""

import re
from collections.abc import Iterable


def pattern_of(special: Iterable[str]) -> re.Pattern[str]:
    """A pattern that finds the special tokens in a text; of two that begin alike it finds the longer.

    >>> pattern_of(["<end>", "<end>s"]).findall("a<end>b<end>s")
    ['<end>', '<end>s']
    >>> pattern_of([]).findall("abc")
    []
    """
    longest_first = sorted(special, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)) or "(?!)")
