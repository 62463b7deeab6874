"""BLEU with two right translations

write · ★★★ · 15 min · 04-transformer/16-beams-and-bleu

A sentence can have more than one right translation. `said` is a translation, `first` and `second` are two references,
all as arrays of word numbers. Return the BLEU of the translation in per cent, with n from 1 to 4 and without
smoothing (every n has a match). An n-gram counts at most as often as in the reference that has it more often. The
reference length is that of the reference nearer in length, and the shorter length if both are equally near.

1. Begin with one reference. Which share of the translation's n-grams is in it, if each counts at most as often as
   there?
2. Clip by the larger of the two counts, n-gram by n-gram.
3. Take the fourth root of the product of the four shares, times 100, times the brevity penalty. With the length c of
   the translation and the reference length r, the penalty is exp(1 - r / c) if c is less than r, otherwise 1.

Without clipping, repeating words that are surely right would raise the shares. Without the penalty, leaving out
uncertain words would raise them. A second reference usually raises BLEU, so values from test sets with different
references cannot be compared.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def bleu(said, first, second):
    """BLEU of one translation beside two references, in per cent; arrays of word numbers."""

    def grams(words, n):
        return [tuple(words[i : i + n].tolist()) for i in range(len(words) - n + 1)]

    product = 1.0
    for n in (1, 2, 3, 4):
        mine, one, other = grams(said, n), grams(first, n), grams(second, n)
        right = sum(min(mine.count(g), max(one.count(g), other.count(g))) for g in set(mine))
        product *= right / len(mine)
    near = sorted((abs(len(words) - len(said)), len(words)) for words in (first, second))
    length = near[0][1]
    penalty = 1.0 if len(said) >= length else np.exp(1 - length / len(said))
    return 100 * penalty * product**0.25


def reference(said, first, second):
    from attnlib.metrics.bleu import sentence_bleu

    return sentence_bleu(said.tolist(), [first.tolist(), second.tolist()], "none")


def by_windows(said, first, second):
    shares = []
    for n in (1, 2, 3, 4):
        a, b, c = (np.lib.stride_tricks.sliding_window_view(words, n) for words in (said, first, second))
        kinds, often = np.unique(a, axis=0, return_counts=True)
        allowed = np.maximum(*((kinds[:, None] == x).all(-1).sum(1) for x in (b, c)))
        shares.append(np.minimum(often, allowed).sum() / len(a))
    sizes = np.sort([len(first), len(second)])
    right = sizes[np.abs(sizes - len(said)).argmin()]
    return 100 * np.exp(np.mean(np.log(shares)) + min(0, 1 - right / len(said)))


def better_of_two(said, first, second):
    """Each reference by itself."""
    return max(bleu(said, first, first), bleu(said, second, second))


def mean_of_two(said, first, second):
    """Each reference by itself."""
    return (bleu(said, first, first) + bleu(said, second, second)) / 2


def cases(rng):
    def case(said, first, second):
        return tuple(np.array(words) for words in (said, first, second))

    def some(n):
        return rng.integers(5, 8, size=n).tolist()

    common = [1, 2, 3, 4]
    return {
        "five words": case([*common, 5], [*common, 6], [7, 2, 3, 4]),
        "a word repeated too often": case([*common, 1, 1, 1], [*common, 8, 9, 5], [1, *common, 6, 1]),
        "a part repeated too often": case(
            [*common, *common, 1, 2], [9, *common, 8, 9, 5, 9], [1, 2, *common, 5, 6]
        ),
        "too short for both": case(common, [*common, 5, 6, 7], [*common, 5, 6]),
        "much too short": case([*common, 5], [*common, *some(9)], [*some(4), *common, 5]),
        "between two lengths, nearer to the longer": case(
            [*common, 5, 6, 7], [*common, 7], [*common, *some(4)]
        ),
        "far from the shorter": case([*common, *some(6)], [*common, *some(8)], [*common, 5]),
        "between two lengths, nearer to the shorter": case(
            [*common, 5, 6], [*common, 7], [*common, *some(7)]
        ),
        "equally near": case([*common, 5, 6], [*common, 7, 8, 9, 9], [*common, 5, 9, 9, 9]),
        "equally near, the longer first": case([*common, *some(3)], [*common, *some(5)], [*common, 5]),
        "equally near, the shorter first": case([*common, *some(3)], [*common, 6], [*common, *some(5)]),
        "equally near, a short text": case([*common, 5, 6], [*common, 7, 8, 9], [*common, 5]),
        "longer than both": case([*common, *some(8)], [*common, 5], [9, *common]),
        "each reference has a part": case(
            [*common, 5, 6, 7, 8], [*common, 9, 9, 9, 9], [9, 9, 9, 9, 5, 6, 7, 8]
        ),
    }


VARIANTS = (by_windows, {"100 * penalty * product**0.25": "100 * penalty * np.exp(np.log(product) / 4)"})
MISTAKES = (
    Mistake("no clipping", "A repeated n-gram counts each time here. It counts at most as often as in the reference "
        "that has it more often.",
        {"sum(min(mine.count(g), max(one.count(g), other.count(g))) for g in set(mine))":
             "sum(g in one or g in other for g in mine)"}),
    Mistake("no brevity penalty", "A translation that is too short gets no penalty here.",
        {"penalty = 1.0 if len(said) >= length else np.exp(1 - length / len(said))": "penalty = 1.0"}),
    Mistake("only the first reference", "The n-grams of the second reference are right as well.",
        {"max(one.count(g), other.count(g))": "one.count(g)"}),
    Mistake("counts of both references added", "Clip by the larger of the two counts, not by their sum.",
        {"max(one.count(g), other.count(g))": "one.count(g) + other.count(g)"}),
    Mistake("always the shorter reference", "The reference length is that of the *nearer* reference.",
        {"length = near[0][1]": "length = min(len(first), len(second))"}),
    Mistake("always the longer reference", "The reference length is that of the *nearer* reference.",
        {"length = near[0][1]": "length = max(len(first), len(second))"}),
    Mistake("the longer of two equally near", "If both are equally near, the shorter one counts.",
        {"(abs(len(words) - len(said)), len(words))": "(abs(len(words) - len(said)), -len(words))",
         "length = near[0][1]": "length = -near[0][1]"}),
    Mistake("the ratio of the penalty inverted", "The exponent is one minus the reference length divided by the "
        "translation's. It is negative for a translation that is too short.",
        {"1 - length / len(said)": "1 - len(said) / length"},
        {"1.0 if len(said) >= length else np.exp(1 - length / len(said))": "min(1.0, np.exp(1 - len(said) / length))"}),
    Mistake("a penalty for long translations, too", "A translation that is too long has lower shares already. The "
        "penalty is at most 1.",
        {"penalty = 1.0 if len(said) >= length else np.exp(1 - length / len(said))":
             "penalty = np.exp(-abs(1 - length / len(said)))"}),
    Mistake("an arithmetic mean", "The mean is geometric: the fourth root of the product.",
        {"product = 1.0": "product = 0.0", "product *=": "product +=", "product**0.25": "product / 4"}),
    Mistake("no root", "The product of four shares is not their mean. Take its fourth root.",
        {"product**0.25": "product"}),
    Mistake("different n-grams counted once", "Each different n-gram was counted once, however often the translation "
        "has it.",
        {"sum(min(mine.count(g), max(one.count(g), other.count(g))) for g in set(mine))":
             "sum(g in one or g in other for g in set(mine))",
         "right / len(mine)": "right / len(set(mine))"},
        {"sum(min(mine.count(g), max(one.count(g), other.count(g))) for g in set(mine))":
             "sum(g in one or g in other for g in set(mine))"}),
    Mistake("divided by the reference", "This is the share of the reference that was found. BLEU is about the share "
        "of the *translation* that is right.",
        {"right / len(mine)": "right / max(len(one), len(other))"}, {"right / len(mine)": "right / len(one)"}),
    Mistake("n up to three", "n runs from 1 to 4.",
        {"(1, 2, 3, 4)": "(1, 2, 3)", "product**0.25": "product ** (1 / 3)"}),
    Mistake("not in per cent", "The number is right, but it is not in per cent: it is a hundred times too small.",
        {"return 100 * penalty": "return penalty"}),
    Mistake("one reference at a time", "Both references count at once: an n-gram is right if one of them has it.",
        better_of_two, mean_of_two),
    Mistake("the mean of the lengths", "The reference length is that of one reference, the nearer one.",
        {"length = near[0][1]": "length = (len(first) + len(second)) / 2"}),
    Mistake("the first of two equally near", "If both are equally near, the shorter one counts, whether it is the "
        "first or the second.",
        {"length = near[0][1]": "length = len(min((first, second), key=lambda words: abs(len(words) - len(said))))"}),
    Mistake("single words left out", "n runs from 1 to 4: single words count, too.",
        {"(1, 2, 3, 4)": "(2, 3, 4)", "product**0.25": "product ** (1 / 3)"}),
    Mistake("a plain ratio", "The penalty is an exponential of one minus a ratio, not the ratio itself.",
        {"np.exp(1 - length / len(said))": "len(said) / length"}),
    Mistake("one is added to the counts", "Nothing is added to the counts: every n has a match here.",
        {"right / len(mine)": "(right + 1) / (len(mine) + 1)"}),
)  # fmt: skip
