"""How far ahead does it see?

write · ★★ · 10 min · 05-training/11-when-training-goes-wrong

S (n, vocab) are a model's scores at the n positions of a text. Then one token after the other was replaced:
changed[j], of changed (n, n, vocab), holds the scores of the text in which only the token at position j is different.
Return for each position i how far ahead it sees, n whole numbers: the largest k such that its scores depend on the
token at position i + k, and 0 where they depend on no later token. Differences of at most 1e-9 are rounding errors.

1. Make a table of True and False: did the scores at position i change when the token at position j was replaced?
2. The first axis of `changed` is the token j, the second the position i. A leak is a pair with j > i.
3. For each position the largest j - i among its pairs that changed; never less than 0.

A mask that is off by one gives ones and a 0 at the end, no mask n - 1, n - 2 down to 0, a right one zeros. A test that
replaces the last token alone misses a leak elsewhere in the text. n passes of an untrained model are cheap, so test
all positions.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def how_far_ahead(S, changed):
    """How many places ahead each place sees, (n,); S (n, vocab), changed (n, n, vocab)."""
    moved = np.abs(changed - S).max(axis=-1) > 1e-9
    token, place = np.indices(moved.shape)
    ahead = np.where(moved, token - place, 0)
    return np.maximum(ahead.max(axis=0), 0)


def pair_by_pair(S, changed):
    best = [0] * len(S)
    for j in range(len(S)):
        for i in range(j):
            if not np.allclose(changed[j, i], S[i], rtol=0, atol=1e-9):
                best[i] = max(best[i], j - i)
    return np.array(best)


def the_last_that_moves_it(S, changed):
    moved = (np.abs(changed - S) > 1e-9).any(axis=2).T
    n = len(S)
    last = np.where(moved.any(axis=1), n - 1 - moved[:, ::-1].argmax(axis=1), 0)
    return (last - np.arange(n)).clip(0)


def up_to_a_gap(S, changed):
    moved = np.abs(changed - S).max(axis=-1) > 1e-9
    return np.array([(np.cumprod(moved[i + 1 :, i]) > 0).sum() for i in range(len(S))])


def the_nearest(S, changed):
    moved = np.abs(changed - S).max(axis=-1) > 1e-9
    return np.array([moved[i + 1 :, i].argmax() + 1 if moved[i + 1 :, i].any() else 0 for i in range(len(S))])


def nearly_equal(S, changed):
    moved = ~np.isclose(changed, S).all(axis=-1)
    token, place = np.indices(moved.shape)
    return np.where(moved, token - place, 0).max(axis=0).clip(0)


def cases(rng):
    def seen(n, vocab, sees):
        """A text whose position i depends on token j where sees[i, j]; the other scores have rounding errors."""
        S, shift, rounding = drawn(rng, (n, vocab), (n, n, vocab), (n, n, vocab))
        return S, S + np.where(np.array(sees, dtype=bool).T[..., None], shift, 1e-13 * rounding)

    def mask(n, ahead, back=99):
        i, j = np.ogrid[:n, :n]
        return (j - i <= ahead) & (i - j <= back)

    one_pair = mask(6, 0)
    one_pair[1, 4] = True
    S, changed = seen(6, 5, mask(6, 1))
    for token, place, word in ((5, 2, 1), (5, 1, 0), (3, 0, 4), (4, 0, 2)):
        changed[token, place, word] += 0.5
    large, small = seen(6, 3, mask(6, 1))
    large, small = 800 + large, 800 + small
    small[[2, 3, 5], [0, 0, 2], 1] += 1e-4
    level, opposed = seen(5, 4, mask(5, 1))
    for token, place in ((2, 0), (4, 1)):
        opposed[token, place, :2] += 0.5, -0.5
        opposed[token, place, 2] = level[place, 2]
    lower = drawn(rng, (5, 3))[0]
    return {
        "off by one": seen(4, 3, mask(4, 1)),
        "honest": seen(5, 3, mask(5, 0)),
        "no mask": seen(5, 2, mask(5, 9)),
        "no leak, and not even its own token": seen(5, 3, mask(5, -1)),
        "two positions, in a short window": seen(7, 3, mask(7, 2, back=1)),
        "one position sees one token, three ahead": seen(6, 4, one_pair),
        "one score of a position changes": (S, changed),
        "small changes of large scores": (large, small),
        "changes of both signs": (level, opposed),
        "all scores fall": (lower, lower - mask(5, 2).T[..., None]),
        "nothing is seen at all": seen(3, 4, mask(3, -9)),
        "all sizes equal": seen(4, 4, mask(4, 1)),
    }


VARIANTS = (pair_by_pair, the_last_that_moves_it)
MISTAKES = (
    Mistake("for each token, not position",
        "For each token this is how far before it a position sees it. Return a number for each position.",
        {"return np.maximum(ahead.max(axis=0), 0)": "return np.maximum(ahead.max(axis=1), 0)"}),
    Mistake("both ways", "The distance counts in both directions here, so that looking back is counted, too.",
        {"token - place": "np.abs(token - place)"}),
    Mistake("every score must move", "One score that moves is enough.",
        {".max(axis=-1) > 1e-9": ".min(axis=-1) > 1e-9"}),
    Mistake("whether, not how far", "This is whether a position sees ahead. Return how far.",
        {"return np.maximum(ahead.max(axis=0), 0)": "return (ahead > 0).any(axis=0)"}),
    Mistake("the number of tokens, not the farthest",
        "These are how many later tokens a position sees. Return the distance of the farthest.",
        {"return np.maximum(ahead.max(axis=0), 0)": "return (ahead > 0).sum(axis=0)"}),
    Mistake("the farthest of all", "This is the farthest that any position sees. Return one number for each position.",
        {"return np.maximum(ahead.max(axis=0), 0)": "return np.full(len(S), ahead.max())"}),
    Mistake("its own token is a leak", "A position may see its own token; its distance is 0.",
        {"return np.maximum(ahead.max(axis=0), 0)":
             "return np.where(moved, token - place + 1, 0).max(axis=0).clip(0)"}),
    Mistake("the nearest", "These are the nearest later tokens that a position sees. Return the farthest.",
        the_nearest),
    Mistake("up to a gap", "A position may see a token although it does not see all of those before it.", up_to_a_gap),
    Mistake("a single score is compared", "Any of the scores at a position may change, not only a single one.",
        {".max(axis=-1) > 1e-9": "[..., 0] > 1e-9"}),
    Mistake("changes that cancel", "The changes were added up before they were compared with zero. Some go up and "
        "others go down.", {"np.abs(changed - S).max(axis=-1)": "np.abs((changed - S).sum(axis=-1))"}),
    Mistake("a border that grows with the scores", "`np.allclose` allows a share of the numbers compared. Here all "
        "above 1e-9 counts.", nearly_equal),
    Mistake("only the likeliest word is compared", "The likeliest word may stay the same while the scores change.",
        {"np.abs(changed - S).max(axis=-1) > 1e-9": "changed.argmax(axis=-1) != S.argmax(axis=-1)"}),
    Mistake("as far as without a mask",
        "This is how far a position sees without a mask. Compare the scores at each position before and after.",
        lambda S, changed: np.arange(len(S))[::-1]),
)  # fmt: skip
