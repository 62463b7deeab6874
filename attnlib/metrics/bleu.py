"""BLEU, in per cent: the share of a translation's words and phrases that also stand in a reference translation.

Book: encoder-decoder-translation (eq-bleu), beams-and-bleu. Papineni and others (2002) defined it for a whole corpus;
the smoothings are those of Chen and Cherry (2014), under the names that sacrebleu gives them. A sentence is a sequence
of words. As in the paper, the translation that is judged is the *candidate*.
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
    """What BLEU needs to know of a corpus: the counts of its sentences are summed first, and divided once."""

    matches: Sequence[int]  # n-grams of the candidates that are in a reference, n = 1, 2, ...
    totals: Sequence[int]  # all n-grams of the candidates
    candidate_length: int  # words of the candidates
    reference_length: int  # words of the references


def n_grams(words: Words, n: int) -> Counter[tuple[str, ...]]:
    """How often each n words in a row occur.

    >>> n_grams("le chat et le chat".split(), 2)[("le", "chat")]
    2
    """
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def clipped_matches(candidate: Words, references: Sequence[Words], n: int) -> int:
    """How many n-grams of the candidate are in a reference; each counts at most as often as in one reference.

    >>> clipped_matches("le le le".split(), ["le chat dort".split()], 1)
    1
    """
    allowed = Counter[tuple[str, ...]]()
    for reference in references:
        allowed |= n_grams(reference, n)
    return sum(min(count, allowed[gram]) for gram, count in n_grams(candidate, n).items())


def counts(candidate: Words, references: Sequence[Words], order: int = 4) -> Counts:
    """The counts of one sentence; of several references the one nearest in length gives `reference_length`."""
    sizes = range(1, order + 1)
    matches = [clipped_matches(candidate, references, n) for n in sizes]
    length = len(candidate)
    totals = [max(length - n + 1, 0) for n in sizes]
    nearest = min((len(reference) for reference in references), key=lambda n: (abs(n - length), n))
    return Counts(matches, totals, length, nearest)


def brevity_penalty(candidate_length: int, reference_length: int) -> float:
    """1 for a candidate that is long enough, else exp(1 - reference / candidate).

    Precision alone would reward a candidate for leaving out whatever might be wrong.

    >>> brevity_penalty(10, 10), round(brevity_penalty(5, 10), 3), brevity_penalty(0, 10)
    (1.0, 0.368, 0.0)
    """
    if candidate_length >= reference_length:
        return 1.0
    return math.exp(1 - reference_length / candidate_length) if candidate_length else 0.0


def precisions(found: Counts, smoothing: str) -> list[float]:
    """The share of n-grams that match, for n = 1, 2, ..., up to the candidate's length.

    If none matches for some n, "exp" counts a half, a quarter, ... of a match instead, and "floor" a tenth. "add-k"
    adds one match and one n-gram for each n but the first.
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


def bleu(found: Counts, smoothing: str = "exp", *, effective_order: bool = False) -> float:
    """The brevity penalty times the geometric mean of the precisions, in per cent (eq-bleu).

    effective_order    stop at the largest n for which the candidate has an n-gram, as short sentences need

    >>> round(bleu(Counts([3, 2, 1, 1], [4, 3, 2, 1], 4, 4)), 3)  # the fourth root of 3/4 x 2/3 x 1/2 x 1
    70.711
    """
    rules.one_of("bleu", "smoothing", smoothing, SMOOTHINGS)
    shares = precisions(found, smoothing)
    order = len(shares) if effective_order else len(found.matches)
    if not any(found.matches) or len(shares) < order or 0 in shares:
        return 0.0
    mean_log = sum(map(math.log, shares)) / order
    return 100 * brevity_penalty(found.candidate_length, found.reference_length) * math.exp(mean_log)


def corpus_bleu(
    candidates: Sequence[Words],
    references: Sequence[Sequence[Words]],
    smoothing: str = "exp",
    order: int = 4,
) -> float:
    """BLEU of a corpus, from summed counts. `references[k]` holds the references of sentence k, one or several.

    >>> reference = "la zone économique est grande".split()
    >>> corpus_bleu([reference], [[reference]])
    100.0
    >>> round(corpus_bleu(["la zone est économique".split()], [[reference]]), 1)
    29.6
    """
    if len(candidates) != len(references) or not candidates:
        raise ValueError(
            "corpus_bleu: each sentence needs its list of reference translations, and there must be one or more; "
            f"got {len(candidates)} sentences and {len(references)} lists."
        )
    found = [counts(one, right, order) for one, right in zip(candidates, references, strict=True)]
    matches, totals = (np.sum([getattr(one, key) for one in found], axis=0) for key in ("matches", "totals"))
    lengths = (sum(one.candidate_length for one in found), sum(one.reference_length for one in found))
    return bleu(Counts(matches.tolist(), totals.tolist(), *lengths), smoothing)


def sentence_bleu(
    candidate: Words, references: Sequence[Words], smoothing: str = "exp", order: int = 4
) -> float:
    """BLEU of one sentence, with n at most its length: a coarse measure, since a handful of n-grams decide it.

    >>> round(sentence_bleu("le chat".split(), ["le chat dort".split()]), 1)
    60.7
    """
    return bleu(counts(candidate, references, order), smoothing, effective_order=True)
