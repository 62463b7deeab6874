"""Cutting text into words first, so that no token spans two words (book: Chapter 4).

The pattern is the one published with GPT-2. A word includes the space before it; joined, the words are the text.
"""

from collections import deque
from collections.abc import Iterator
from functools import cache
from typing import Any

PATTERN = (
    r"'(?:[sdmt]|ll|ve|re)"  #     the ends of English contractions: it's, we'll
    r"| ?\p{L}+"  #                letters, with the space before them
    r"| ?\p{N}+"  #                digits and other numbers
    r"| ?[^\s\p{L}\p{N}]+"  #      punctuation and other visible characters
    r"|\s+(?!\S)"  #               white space; its last character is left to a word that follows
    r"|\s+"
)


@cache
def _compiled() -> Any:
    try:
        import regex
    except ImportError:
        raise ImportError(
            "split_words: the published pattern needs the package `regex`, for letters of all scripts; it is not "
            "installed. Run: pip install 'attnlib[pretrained]'"
        ) from None
    return regex.compile(PATTERN)


def split_words(text: str) -> Iterator[str]:
    r"""The words of the text, in order; joined together they are the text.

    >>> list(split_words("Don't  stop at 12.\n"))
    ['Don', "'t", ' ', ' stop', ' at', ' 12', '.', '\n']
    """
    return (match[0] for match in _compiled().finditer(text))


def word_list(text: str) -> list[str]:
    """All words at once: more memory than one after the other, and less time."""
    return _compiled().findall(text)


def settled_words(text: str) -> Iterator[str]:
    """The words that cannot change if more text follows: all but the last two.

    The last may grow, and "'" before an l may become "'ll".

    >>> list(settled_words("a cat'l"))
    ['a', ' cat']
    """
    waiting: deque[str] = deque()
    for word in split_words(text):
        waiting.append(word)
        if len(waiting) > 2:
            yield waiting.popleft()
