"""Checks of merges, special tokens and token numbers, each with one clear error message."""

from collections.abc import Iterable, Mapping, Sequence

from attnlib.data.bpe.alphabet import BYTES, spelled
from attnlib.data.bpe.merging import Merge


def check_merges(merges: Sequence[Merge]) -> None:
    """Each half is a byte or was made by an earlier merge; no merge comes twice."""
    known, seen = set(BYTES), set()
    for rank, pair in enumerate(merges):
        if len(pair) != 2 or not all(isinstance(half, bytes) for half in pair):
            raise TypeError(
                f"Tokenizer: a merge must be a pair of bytes, as (b'h', b'e'); got {pair!r} at rank {rank}."
            )
        if pair in seen:
            raise ValueError(
                f"Tokenizer: each merge must come once; got {_shown(pair)} again at rank {rank}."
            )
        unknown = [half for half in pair if half not in known]
        if unknown:
            raise ValueError(
                f"Tokenizer: both halves of a merge must be bytes or made by an earlier merge; got {_shown(pair)} at "
                f"rank {rank}, and nothing before it makes {spelled(unknown[0])!r}. Keep the order of training."
            )
        seen.add(pair)
        known.add(pair[0] + pair[1])


def check_special(special: Sequence[str], tokens: Iterable[bytes]) -> None:
    """Special tokens are not empty, all different, and equal to no ordinary token."""
    ordinary = {spelled(token) for token in tokens}
    for token in special:
        if not token or special.count(token) > 1 or token in ordinary:
            raise ValueError(
                "Tokenizer: a special token must be a text that is not empty, comes once and is no ordinary token; got "
                f"{token!r}. Choose one that no text contains by chance, as '<|endoftext|>'."
            )


def check_numbers(numbers: Mapping[str, int], names: Sequence[str]) -> None:
    """Every token has its own number, from 0 without a gap."""
    missing = [name for name in names if name not in numbers]
    if missing:
        raise ValueError(
            f"Tokenizer: every byte, merge and special token must have a number; got none for {missing[0]!r}"
            f"{f' and {len(missing) - 1} others' if missing[1:] else ''}. Vocabulary and merges must come from one "
            "training."
        )
    whole = all(type(number) is int for number in numbers.values())
    if not whole or sorted(numbers.values()) != [*range(len(numbers))]:
        raise ValueError(
            f"Tokenizer: the numbers of {len(numbers)} tokens must be 0 to {len(numbers) - 1}, each once; got "
            f"{_wrong_number(numbers)}."
        )


def _wrong_number(numbers: Mapping[str, int]) -> str:
    seen: dict[object, str] = {}
    for name, number in numbers.items():
        if type(number) is not int or not 0 <= number < len(numbers):
            return f"{number!r} for {name!r}"
        if number in seen:
            return f"{number} for both {seen[number]!r} and {name!r}"
        seen[number] = name
    return "a gap"


def _shown(pair: Merge) -> str:
    return f"'{spelled(pair[0])} {spelled(pair[1])}'"
