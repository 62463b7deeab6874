r"""Which characters the tokenizer's pattern calls letters (\p{L}), numerals (\p{N}) and white space (\s).

Browsers know Unicode of their own year, and JavaScript's \s has U+FEFF but not U+0085. So the page gets the ranges that
the package `regex` knows, with which the merges were learned.
"""

from functools import cache

CLASSES = {"letter": r"\p{L}", "numeral": r"\p{N}", "space": r"\s"}
SURROGATES = range(0xD800, 0xE000)  # halves of characters: no class has them


@cache
def ranges_of(pattern: str) -> list[tuple[int, int]]:
    r"""The code points that match, as ranges with both ends.

    >>> ranges_of(r"\s")[:3]
    [(9, 13), (32, 32), (133, 133)]
    """
    import regex

    found = regex.finditer(f"{pattern}+", _all_characters())
    return [(ord(match[0][0]), ord(match[0][-1])) for match in found]


@cache
def _all_characters() -> str:
    return "".join(chr(code) for code in range(0x110000) if code not in SURROGATES)


def written(ranges: list[tuple[int, int]]) -> str:
    """The ranges in short: the gap before each one and its length, in base 36, for `tokenizer.js`.

    >>> written([(9, 13), (32, 32)])
    '9 4 j 0'
    """
    at, words = 0, []
    for first, last in ranges:
        words += [_base36(first - at), _base36(last - first)]
        at = last
    return " ".join(words)


def _base36(n: int) -> str:
    digits = ""
    while n or not digits:
        n, digit = divmod(n, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits
