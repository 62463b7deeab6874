"""Which noun a verb agrees with, in every English sentence of the corpus: a grammatical relation that is known exactly.

Book: heads-at-work. "The friend of the kings sees": the verb is singular because `friend` is, whatever
the `kings` that stand next to it are.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from attnlib.data.bilingual import Pair
from attnlib.data.lexicon import BE, DO, LEXICON


class Agreement(NamedTuple):
    """The positions of a verb and its subject; `between` is a noun of the other number before the verb, or None."""

    verb: int
    subject: int
    between: int | None
    plural: bool


@lru_cache(maxsize=1)
def finite_forms() -> tuple[frozenset[str], frozenset[str]]:
    """The singular and the plural forms that a finite verb can have.

    >>> singular, plural = finite_forms()
    >>> "sleeps" in singular, "sleep" in plural, "was" in singular, "do" in plural
    (True, True, True, True)
    """
    words = (*LEXICON.intransitive, *LEXICON.transitive, DO, BE)
    singular, plural = zip(*(word.english for word in words), strict=True)
    return frozenset(singular), frozenset(plural)


@lru_cache(maxsize=1)
def _plural_nouns() -> frozenset[str]:
    return frozenset(noun.english[1] for noun in LEXICON.noun)


def agreements(pair: Pair) -> list[Agreement]:
    """Every finite verb of a sentence of the corpus, with its subject: the first noun of its clause.

    >>> words = "the friend of the kings sees a dog".split()
    >>> kinds = "det noun prep det noun verb det noun".split()
    >>> agreements(Pair(tuple(words), (), (), (), tuple(kinds)))
    [Agreement(verb=5, subject=1, between=4, plural=False)]
    """
    if not pair.kinds:
        raise ValueError(
            "agreements: the pair must know its words' classes (kinds); got none. Take it from `corpus`."
        )
    found = []
    for start, end in _clauses(pair.kinds):
        nouns = [i for i in range(start, end) if pair.kinds[i] == "noun"]
        verb = next(i for i in range(start, end) if pair.kinds[i] in ("verb", "do", "be"))
        plurals = {i: pair.source[i] in _plural_nouns() for i in nouns}
        other = [i for i in nouns if i < verb and plurals[i] != plurals[nouns[0]]]
        found.append(Agreement(verb, nouns[0], other[0] if other else None, plurals[nouns[0]]))
    return found


def _clauses(kinds: Sequence[str]) -> list[tuple[int, int]]:
    """Start and end of each clause; clauses are separated by conjunctions."""
    borders = [-1, *(i for i, kind in enumerate(kinds) if kind == "conj"), len(kinds)]
    return [(a + 1, b) for a, b in zip(borders, borders[1:], strict=False)]
