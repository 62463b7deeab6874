"""Short English texts and their French, as software writes them: dates, distances in time, quantities, lists of names.

Book: encoder-decoder-translation. The patterns are those of the Unicode CLDR, which operating systems and browsers use,
stored from Babel by `tools/locale_patterns.py`.
"""

import datetime
import json
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from attnlib.data.vocab import Vocab
from attnlib.shapes import Number, checked

Language = Literal["en", "fr"]
FIRST_YEAR, LAST_YEAR = 1980, 2029
PIECE = re.compile(r"\w+(?:[-’]\w+)*|[^\w\s]")  # a word, a number or a mark


class Texts(NamedTuple):
    """An English text and its French, as words."""

    source: tuple[str, ...]
    target: tuple[str, ...]


@cache
def patterns() -> dict[str, Any]:
    """The stored patterns of both languages, and where they come from."""
    return json.loads(Path(__file__).with_name("locales.json").read_text(encoding="utf-8"))


def words_of(text: str) -> tuple[str, ...]:
    """A text cut into words, numbers and marks.

    >>> words_of("Thursday, August 20, 1992"), words_of("1,5 kilomètre")
    (('Thursday', ',', 'August', '20', ',', '1992'), ('1', ',', '5', 'kilomètre'))
    """
    return tuple(PIECE.findall(text))


def form(language: Language, amount: float) -> str:
    """Which form goes with an amount: English has the singular for 1 alone, French for all below 2.

    >>> form("en", 1.5), form("fr", 1.5)
    ('other', 'one')
    """
    return "one" if (amount == 1 if language == "en" else amount < 2) else "other"


def date(language: Language, day: datetime.date) -> str:
    """A date with its weekday.

    >>> date("en", datetime.date(1992, 8, 20)), date("fr", datetime.date(1992, 8, 20))
    ('Thursday, August 20, 1992', 'jeudi 20 août 1992')
    """
    known = patterns()[language]
    parts = {"EEEE": known["weekdays"][day.weekday()], "MMMM": known["months"][day.month - 1]}
    return known["date"] % {**parts, "d": day.day, "y": day.year}


def from_now(language: Language, period: str, amount: int) -> str:
    """A distance in time, backwards if the amount is negative.

    >>> from_now("en", "day", -3), from_now("fr", "day", -3)
    ('3 days ago', 'il y a 3 jours')
    """
    pattern = patterns()[language]["periods"][period]["past" if amount < 0 else "future"]
    return pattern[form(language, abs(amount))].format(abs(amount))


def quantity(language: Language, unit: str, amount: float) -> str:
    """An amount with its unit.

    >>> quantity("en", "length-kilometer", 1.5), quantity("fr", "length-kilometer", 1.5).split()
    ('1.5 kilometers', ['1,5', 'kilomètre'])
    """
    known = patterns()[language]
    return known["units"][unit][form(language, amount)].format(f"{amount:g}".replace(".", known["decimal"]))


def names(language: Language, codes: Sequence[str]) -> str:
    """The names of two or more countries in a row.

    >>> names("en", ["DE", "FR", "KR"]), names("fr", ["DE", "FR", "KR"])
    ('Germany, France, and South Korea', 'Allemagne, France et Corée du Sud')
    """
    known = patterns()[language]
    *first, last = (known["names"][code] for code in codes)
    return known["list"]["2" if len(first) == 1 else "end"].format(", ".join(first), last)


def pair(write: Any, *given: Any) -> Texts:
    """The same text in both languages; `write` is one of the four functions above."""
    return Texts(words_of(write("en", *given)), words_of(write("fr", *given)))


@cache
def _drawn(size: int, seed: int) -> tuple[Texts, ...]:
    """Different texts, in equal parts of the four kinds as far as there are so many."""
    rng = np.random.default_rng(seed)
    known = patterns()["en"]
    first = datetime.date(FIRST_YEAR, 1, 1)
    days = (datetime.date(LAST_YEAR + 1, 1, 1) - first).days
    draws = (
        lambda: pair(date, first + datetime.timedelta(days=int(rng.integers(days)))),
        lambda: pair(from_now, str(rng.choice([*known["periods"]])), int(rng.choice([-1, 1]) * rng.integers(1, 32))),
        lambda: pair(quantity, str(rng.choice([*known["units"]])), float(rng.integers(0, 63)) / 2),
        lambda: pair(names, rng.choice([*known["names"]], rng.integers(2, 4), replace=False).tolist()),
    )  # fmt: skip
    return tuple(dict.fromkeys(draws[i % len(draws)]() for i in range(size)))


@checked
def locale_texts(
    size: Number[int, "4.."] = 6000, held_out: Number[float, "0..1"] = 0.1, seed: int = 0
) -> tuple[list[Texts], list[Texts]]:
    """Pairs for training, and held-out pairs: none of them is a training pair, all their words occur in training.

    Of `size` pairs that are drawn, those that were drawn before are left out.

    >>> train, test = locale_texts()
    >>> len(train), len(test), set(train) & set(test)
    (3800, 421, set())
    """
    texts = _drawn(size, seed)
    order = np.random.default_rng(seed + 1).permutation(len(texts))
    n = round(held_out * len(texts))
    train, test = [texts[i] for i in order[n:]], [texts[i] for i in order[:n]]
    known = {word for text in train for word in text.source + text.target}
    new = [text for text in test if not known.issuperset(text.source + text.target)]
    return train + new, [text for text in test if text not in new]


def locale_vocabularies(texts: Sequence[Texts]) -> tuple[Vocab, Vocab]:
    """The English words of some pairs, and the French ones."""
    return (
        Vocab(word for text in texts for word in text.source),
        Vocab(word for text in texts for word in text.target),
    )
