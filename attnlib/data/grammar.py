"""The English sentences of the corpus: count those of a length, list them all, or draw some at random.

Book: the-bottleneck. The grammar is unambiguous (each sentence has one derivation), so counting derivations counts
sentences. `attnlib.data.french` translates a derivation.
"""

import itertools
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from attnlib.data.lexicon import BE, DO, IN, LEXICON, NOT, Lexicon, Word


class Leaf(NamedTuple):
    """One word of a derivation: its class, its entry, and whether it is plural."""

    kind: str
    word: Word
    plural: bool


Stack = tuple[str, ...]

# "#" stands for singular (.s) or plural (.p), the same throughout one rule, so that subject and verb agree. A symbol
# that has a row of its own is expanded by it; every other symbol is a class of words.
RULES = """
S         -> CLAUSE | CLAUSE conj S
CLAUSE    -> NP.s VP.s | NP.p VP.p
NP        -> NP.s | NP.p
NP.#      -> CORE.# | CORE.# prep CORE
CORE      -> CORE.s | CORE.p
CORE.#    -> det.# noun.# | det.# pre noun.# | det.# ADJ noun.# | det.# pre ADJ noun.#
ADJ       -> post | two_posts
VP.#      -> intransitive.# | transitive.# NP
VP.#      -> do.# not intransitive.# | do.# not transitive.# NP
VP.#      -> be.# participle | be.# participle in month year
"""


def _read_rules(text: str) -> dict[str, list[Stack]]:
    rules: dict[str, list[Stack]] = {}
    for line in text.strip().splitlines():
        for number in ("s", "p") if "#" in line else ("",):
            left, right = line.replace("#", number).split(" -> ")
            rules.setdefault(left.strip(), []).extend(tuple(option.split()) for option in right.split(" | "))
    return rules


def _read_words(lexicon: Lexicon) -> dict[str, list[tuple[Leaf, ...]]]:
    """The words that a class of words may become: single words, or two different adjectives for two_posts."""
    words: dict[str, list[tuple[Leaf, ...]]] = {}

    def add(symbol: str, kind: str, entries: tuple[Word, ...], plural: bool = False) -> None:
        words[symbol] = [(Leaf(kind, word, plural),) for word in entries]

    for plural, number in ((False, "s"), (True, "p")):
        add(f"det.{number}", "det", lexicon.det, plural)
        add(f"noun.{number}", "noun", lexicon.noun, plural)
        add(f"intransitive.{number}", "verb", lexicon.intransitive, plural)
        add(f"transitive.{number}", "verb", lexicon.transitive, plural)
        add(f"do.{number}", "do", (DO,), plural)
        add(f"be.{number}", "be", (BE,), plural)
    for kind in ("pre", "post", "prep", "participle", "month", "year", "conj"):
        add(kind, kind, getattr(lexicon, kind))
    add("not", "not", (NOT,))
    add("in", "in", (IN,))
    words["two_posts"] = [(*a, *b) for a, b in itertools.permutations(words["post"], 2)]
    return words


class Grammar:
    """All sentences over one lexicon.

    >>> from attnlib.data.lexicon import LEXICON
    >>> tiny = Grammar(LEXICON.shortened(1))  # the, cat, small, economic, of, sleep, see, signed, august 1992, and
    >>> [english(leaves) for leaves in tiny.enumerate(3)]
    [('the', 'cat', 'sleeps'), ('the', 'cats', 'sleep')]
    >>> [tiny.count(length) for length in (2, 3, 4, 5)]
    [0, 2, 6, 12]
    """

    def __init__(self, lexicon: Lexicon = LEXICON) -> None:
        self.lexicon = lexicon
        self._rules = _read_rules(RULES)
        self._words = _read_words(lexicon)
        self._ways = lru_cache(maxsize=None)(self._count_ways)
        self._choices = lru_cache(maxsize=None)(self._cumulated_choices)

    def count(self, length: int) -> int:
        """How many different sentences have exactly `length` English words."""
        return self._ways(("S",), length, True)

    def count_patterns(self, length: int) -> int:
        """How many different sequences of word classes the sentences of this length have."""
        return self._ways(("S",), length, False)

    def enumerate(self, length: int) -> Iterator[tuple[Leaf, ...]]:
        """All sentences with `length` English words, each once."""
        return self._expand(("S",), length)

    def sample(self, rng: np.random.Generator, length: int) -> tuple[Leaf, ...]:
        """One sentence: all patterns of this length are equally likely, then all words of each class."""
        if not self.count(length):
            raise ValueError(f"Grammar.sample: no sentence has {length} words; take 3 words or more.")
        leaves: list[Leaf] = []
        stack: Stack = ("S",)
        while stack:
            head, tail = stack[0], stack[1:]
            if head in self._words:
                words = self._words[head]
                leaves.extend(words[int(rng.random() * len(words))])
                stack = tail
            else:
                cumulated = self._choices(stack, length - len(leaves))
                chosen = bisect_right(cumulated, rng.random() * cumulated[-1])
                stack = self._rules[head][chosen] + tail
        return tuple(leaves)

    def _count_ways(self, stack: Stack, length: int, words: bool) -> int:
        """The number of ways in which `stack` becomes `length` words; without `words`, of sequences of word classes."""
        if not stack or len(stack) > length:
            return int(not stack and length == 0)
        head, tail = stack[0], stack[1:]
        if head in self._words:
            options = self._words[head]
            if not options:
                return 0
            return (len(options) if words else 1) * self._ways(tail, length - len(options[0]), words)
        return sum(self._ways(right + tail, length, words) for right in self._rules[head])

    def _cumulated_choices(self, stack: Stack, length: int) -> list[int]:
        ways = [self._ways(right + stack[1:], length, False) for right in self._rules[stack[0]]]
        return list(itertools.accumulate(ways))

    def _expand(self, stack: Stack, length: int) -> Iterator[tuple[Leaf, ...]]:
        if not self._ways(stack, length, True):
            return
        if not stack:
            yield ()
            return
        head, tail = stack[0], stack[1:]
        if head in self._words:
            for leaves in self._words[head]:
                for rest in self._expand(tail, length - len(leaves)):
                    yield leaves + rest
        else:
            for right in self._rules[head]:
                yield from self._expand(right + tail, length)


def english(leaves: tuple[Leaf, ...]) -> tuple[str, ...]:
    """The English words of a derivation. A verb after "not" has its base form; "a" becomes "an" before a vowel."""
    words = [leaf.word.english[leaf.plural] for leaf in leaves]
    for i, leaf in enumerate(leaves):
        if leaf.kind == "verb" and i > 0 and leaves[i - 1].kind == "not":
            words[i] = leaf.word.english[1]
    for i in range(len(words) - 1):
        if words[i] == "a" and words[i + 1][0] in "aeiou" and not words[i + 1].startswith("eu"):
            words[i] = "an"
    return tuple(words)
