"""A synthetic English-French corpus whose true word alignment is known, and the documents' sentences aligned by hand.

Book: the-bottleneck. Sentences come from `attnlib.data.grammar`, their French from `attnlib.data.french`; everything is
in lower case and split into words (the French elision l' is a word of its own).
"""

import hashlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from attnlib.data.french import CONTRACTED, ELIDED, french
from attnlib.data.grammar import Grammar, Leaf, english
from attnlib.data.lexicon import BE, DO, IN, LEXICON, NOT
from attnlib.data.vocab import Vocab

Links = tuple[tuple[int, int], ...]
SPLITS = ("train", "valid", "test")


class Pair(NamedTuple):
    """A sentence, its translation and the gold links (source position, target position).

    `sure` links are certain; `possible` holds them and the debatable ones; `kinds` is the class of each source word.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    sure: Links
    possible: Links
    kinds: tuple[str, ...] = ()


def translate(leaves: tuple[Leaf, ...]) -> Pair:
    """The sentence pair of one derivation of the grammar."""
    words = french(leaves)
    sure = tuple((j, i) for i, word in enumerate(words) for j in word.sure)
    maybe = tuple((j, i) for i, word in enumerate(words) for j in word.maybe)
    kinds = tuple(leaf.kind for leaf in leaves)
    return Pair(english(leaves), tuple(word.word for word in words), sure, tuple(sorted(sure + maybe)), kinds)


def _by_hand(source: str, target: str, links: str) -> Pair:
    sure = tuple((int(j), int(i)) for j, i in (link.split("-") for link in links.split()))
    return Pair(tuple(source.split()), tuple(target.split()), sure, tuple(sorted(sure)))


def economic_area() -> Pair:
    """The English-French sentence of D3 §17.2.2, aligned by hand. The noun phrase is reversed: "area" becomes "zone".

    >>> pair = economic_area()
    >>> [(pair.source[j], pair.target[i]) for j, i in pair.sure][4:7]
    [('area', 'zone'), ('economic', 'économique'), ('european', 'européenne')]
    """
    return _by_hand(
        "the agreement on the european economic area was signed in august 1992",
        "l' accord sur la zone économique européenne a été signé en août 1992",
        "0-0 1-1 2-2 3-3 6-4 5-5 4-6 7-7 7-8 8-9 9-10 10-11 11-12",
    )


def eating_bread() -> Pair:
    """The English-Spanish sentence of D3 §17.2, aligned by hand: "estamos" translates both "we" and "are".

    >>> eating_bread().sure
    ((0, 0), (1, 0), (2, 1), (3, 2))
    """
    return _by_hand("we are eating bread", "estamos comiendo pan", "0-0 1-0 2-1 3-2")


@lru_cache(maxsize=1)
def grammar() -> Grammar:
    """The grammar over the whole lexicon."""
    return Grammar()


def count(length: int) -> int:
    """How many sentences of exactly `length` English words the corpus is drawn from.

    >>> count(3), count(5)
    (2048, 1153536)
    """
    return grammar().count(length)


def enumerate_sentences(length: int) -> Iterator[Pair]:
    """All sentence pairs of exactly `length` English words, each once; `count` tells how many there are.

    >>> first = next(enumerate_sentences(3))
    >>> " ".join(first.source), " ".join(first.target), first.sure
    ('the cat sleeps', 'le chat dort', ((0, 0), (1, 1), (2, 2)))
    """
    return (translate(leaves) for leaves in grammar().enumerate(length))


def split_of(source: Sequence[str]) -> str:
    """The split of a sentence, by a hash of its words: train 80 %, valid 10 %, test 10 %.

    So no sentence is in two splits, whatever seeds and sizes are used. The documents' sentences are test sentences.

    >>> split_of(economic_area().source)
    'test'
    """
    if tuple(source) in (economic_area().source, eating_bread().source):
        return "test"
    digest = hashlib.blake2b(" ".join(source).encode(), digest_size=8).digest()
    return {0: "test", 1: "valid"}.get(int.from_bytes(digest, "big") % 10, "train")


def corpus(
    size: int, *, lengths: tuple[int, int] = (3, 24), split: str = "train", seed: int = 0
) -> list[Pair]:
    """`size` sentence pairs; each source length from `lengths[0]` to `lengths[1]` words is equally likely.

    >>> a, b = corpus(2, lengths=(3, 5), seed=1), corpus(2, lengths=(3, 5), seed=1)
    >>> a == b, {len(pair.source) for pair in a} <= {3, 4, 5}
    (True, True)
    """
    shortest, longest = lengths
    if split not in SPLITS:
        raise ValueError(f"corpus: split must be one of {', '.join(SPLITS)}; got {split!r}.")
    if not 3 <= shortest <= longest:
        raise ValueError(
            f"corpus: lengths must be (shortest, longest) with 3 <= shortest <= longest; got {lengths}."
        )
    rng = np.random.default_rng(seed)
    pairs: list[Pair] = []
    while len(pairs) < size:
        leaves = grammar().sample(rng, int(rng.integers(shortest, longest + 1)))
        if split_of(english(leaves)) == split:
            pairs.append(translate(leaves))
    return pairs


def source_vocab() -> Vocab:
    """Every English word of the corpus."""
    words = {"an"}.union(*(word.english for entries in vars(LEXICON).values() for word in entries))
    return Vocab(words.union(DO.english, NOT.english, BE.english, IN.english))


def target_vocab() -> Vocab:
    """Every French word of the corpus."""
    words = {"été"}.union(*(word.french for entries in vars(LEXICON).values() for word in entries))
    return Vocab(words.union(NOT.french, BE.french, IN.french, ELIDED.values(), CONTRACTED.values()))
