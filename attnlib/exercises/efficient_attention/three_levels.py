"""Tokens, paragraphs, chapters

write · ★★ · 9 min · 06-efficient-attention/8-hierarchies

A text of n tokens is cut into paragraphs of C tokens, and the paragraphs into chapters of G paragraphs; the last ones
may be shorter. A query attends to itself and the tokens before it in its paragraph, to one summary for each earlier
paragraph of its chapter, and to one for each earlier chapter. Return how many pairs there are for all n queries.

1. To how many tokens, paragraphs and chapters does the query at position i attend, counted from 0?
2. There are i // C paragraphs before its own. How many of them are in its own chapter?
3. Add the three numbers for each query, and then over all queries.

With C and G near the cube root of n these are about 1.5 times n to the power of 4/3; further levels save less and less.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def edges(n, C, G):
    """The number of pairs of a query and a token, paragraph or chapter that it attends to."""
    i = np.arange(n)
    tokens = i % C + 1
    paragraphs = i // C % G
    chapters = i // (C * G)
    return int((tokens + paragraphs + chapters).sum())


def query_by_query(n, C, G):
    total = 0
    for i in range(n):
        chapter, place = divmod(i, C * G)
        paragraph, token = divmod(place, C)
        total += chapter + paragraph + token + 1
    return total


def by_masks(n, C, G):
    i, j = np.arange(n)[:, None], np.arange(n)
    tokens = (j <= i) & (j // C == i // C)
    paragraphs = (j < i // C) & (j // G == i // (C * G))
    return int(tokens.sum() + paragraphs.sum() + (j < i // (C * G)).sum())


def cases(rng):
    return {"two chapters": (8, 2, 2), "three chapters": (27, 3, 3), "uneven": (30, 2, 5), "cut off": (23, 4, 2),
        "one chapter": (6, 3, 4)}  # fmt: skip


VARIANTS = (query_by_query, by_masks)
MISTAKES = (
    Mistake("paragraphs of earlier chapters too", "Earlier chapters have a summary each, so their paragraphs are not "
        "attended to one by one.", {"i // C % G": "i // C"}),
    Mistake("the query itself is not counted", "A query attends to itself, too.", {"i % C + 1": "i % C"}),
    Mistake("its own paragraph has a summary too", "The tokens of its own paragraph are read one by one. A summary of "
        "it would contain later ones.", {"i // C % G": "i // C % G + 1"}),
    Mistake("its own chapter has a summary too", "The own chapter is read in paragraphs. A summary of it would contain "
        "later tokens.", {"i // (C * G)": "i // (C * G) + 1"}),
    Mistake("a chapter of G tokens", "A chapter has G paragraphs, which is C times as many tokens.",
        {"i // (C * G)": "i // G"}),
    Mistake("no later token is left out", "A query attends to the tokens up to itself only.", {"i % C + 1": "C"}),
)  # fmt: skip
