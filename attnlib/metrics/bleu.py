"""How much of a translation stands in a right one, phrase by phrase: BLEU, in per cent.

Book: translation (eq-bleu). Papineni and others (2002) defined it for a whole corpus; the smoothings are those of Chen
and Cherry (2014), under the names that sacrebleu gives them. A sentence is its words, already separated.
"""

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from attnlib import rules

Words = Sequence[str]
SMOOTHINGS = ("none", "floor", "add-k", "exp")
FLOOR, ADDED = 0.1, 1.0


class Counts(NamedTuple):
    """What BLEU needs to know of a corpus; counts of sentences are added before anything is divided."""

    matches: Sequence[int]  # n-grams that were said and are right, n = 1, 2, ...
    totals: Sequence[int]  # n-grams that were said
    said: int  # words that were said
    right: int  # words of the right translations


def n_grams(words: Words, n: int) -> Counter[tuple[str, ...]]:
    """How often each n words in a row occur.

    >>> n_grams("le chat et le chat".split(), 2)[("le", "chat")]
    2
    """
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def clipped_matches(said: Words, references: Sequence[Words], n: int) -> int:
    """The n-grams said that are right, each at most as often as in the reference that has it most often.

    >>> clipped_matches("le le le".split(), ["le chat dort".split()], 1)
    1
    """
    allowed = Counter[tuple[str, ...]]()
    for reference in references:
        allowed |= n_grams(reference, n)
    return sum(min(count, allowed[gram]) for gram, count in n_grams(said, n).items())


def counts(said: Words, references: Sequence[Words], order: int = 4) -> Counts:
    """The counts of one sentence; the reference nearest in length (of two, the shorter) says how long it should be."""
    sizes = range(1, order + 1)
    matches = [clipped_matches(said, references, n) for n in sizes]
    totals = [max(len(said) - n + 1, 0) for n in sizes]
    right = min((len(reference) for reference in references), key=lambda n: (abs(n - len(said)), n))
    return Counts(matches, totals, len(said), right)


def brevity_penalty(said: int, right: int) -> float:
    """1 for what is long enough, else exp(1 - right / said): what was left out cannot be wrong, so it must cost.

    >>> brevity_penalty(10, 10), round(brevity_penalty(5, 10), 3), brevity_penalty(0, 10)
    (1.0, 0.368, 0.0)
    """
    if said >= right:
        return 1.0
    return math.exp(1 - right / said) if said else 0.0


def precisions(found: Counts, smoothing: str) -> list[float]:
    """The share of right n-grams for n = 1, 2, ..., up to the longest that was said.

    Where none is right, "exp" takes a half, a quarter, ... of a match, and "floor" a tenth. "add-k" adds one match and
    one n-gram to all n but the first.
    """
    shares, halved = [], 1.0
    for n, (matches, total) in enumerate(zip(found.matches, found.totals, strict=True)):
        added = ADDED if smoothing == "add-k" and n else 0.0
        if total + added == 0:
            break
        count = matches + added
        if count == 0 and smoothing == "exp":
            halved /= 2
            count = halved
        elif count == 0 and smoothing == "floor":
            count = FLOOR
        shares.append(count / (total + added))
    return shares


def bleu(found: Counts, smoothing: str = "exp", *, longest_said: bool = False) -> float:
    """The brevity penalty times the geometric mean of the precisions, in per cent (eq-bleu).

    longest_said    n runs only as far as there are n-grams, which is what a short sentence needs

    >>> round(bleu(Counts([3, 2, 1, 1], [4, 3, 2, 1], said=4, right=4)), 3)  # the fourth root of 3/4 x 2/3 x 1/2 x 1
    70.711
    """
    rules.one_of("bleu", "smoothing", smoothing, SMOOTHINGS)
    shares = precisions(found, smoothing)
    order = len(shares) if longest_said else len(found.matches)
    if not any(found.matches) or len(shares) < order or 0 in shares:
        return 0.0
    mean_log = sum(map(math.log, shares)) / order
    return 100 * brevity_penalty(found.said, found.right) * math.exp(mean_log)


def corpus_bleu(
    said: Sequence[Words], references: Sequence[Sequence[Words]], smoothing: str = "exp", order: int = 4
) -> float:
    """BLEU of a corpus: all counts added first. `references[k]` holds one right translation of sentence k, or several.

    >>> right = "la zone économique est grande".split()
    >>> corpus_bleu([right], [[right]]), round(corpus_bleu(["la zone est économique".split()], [[right]]), 1)
    (100.0, 29.6)
    """
    if len(said) != len(references) or not said:
        raise ValueError(
            "corpus_bleu: each sentence needs its list of right translations, and there must be one or more; "
            f"got {len(said)} sentences and {len(references)} lists."
        )
    found = [counts(words, right, order) for words, right in zip(said, references, strict=True)]
    matches, totals = (np.sum([getattr(one, key) for one in found], axis=0) for key in ("matches", "totals"))
    lengths = (sum(one.said for one in found), sum(one.right for one in found))
    return bleu(Counts(matches.tolist(), totals.tolist(), *lengths), smoothing)


def sentence_bleu(said: Words, references: Sequence[Words], smoothing: str = "exp", order: int = 4) -> float:
    """BLEU of one sentence, with n up to its own length: coarse, since a handful of n-grams decide it.

    >>> round(sentence_bleu("le chat".split(), ["le chat dort".split()]), 1)
    60.7
    """
    return bleu(counts(said, references, order), smoothing, longest_said=True)
