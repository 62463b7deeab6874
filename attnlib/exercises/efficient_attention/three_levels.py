"""Tokens, paragraphs, chapters

write · ★★ · 9 min · 06-efficient-attention/8-hierarchies

A text of n tokens is cut into paragraphs of C tokens, and the paragraphs into chapters of G paragraphs; the last ones
may be shorter. A query attends to itself and the tokens before it in its paragraph, to one summary for each earlier
paragraph of its chapter, and to one for each earlier chapter. Return an array (n,): to how many each query attends.

1. To how many tokens, paragraphs and chapters does the query at position i attend, counted from 0?
2. There are i // C paragraphs before its own. How many of them are in its own chapter?
3. Add the three numbers for each query. A remainder and a quotient are all that is needed.

With C and G near the cube root of n, these are about 1.5 times n to the power of 4/3 pairs for all queries together.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def edges(n, C, G):
    """(n,), for each query the number of tokens, paragraphs and chapters that it attends to."""
    i = np.arange(n)
    tokens = i % C + 1
    paragraphs = i // C % G
    chapters = i // (C * G)
    return tokens + paragraphs + chapters


def query_by_query(n, C, G):
    found = []
    for i in range(n):
        chapter, within = divmod(i, C * G)
        paragraph, token = divmod(within, C)
        found.append(chapter + paragraph + token + 1)
    return np.array(found)


def by_masks(n, C, G):
    i, j = np.arange(n)[:, None], np.arange(n)
    tokens = (j <= i) & (j // C == i // C)
    paragraphs = (j < i // C) & (j // G == i // (C * G))
    return np.hstack([tokens, paragraphs, j < i // (C * G)]).sum(axis=1)


def cases(rng):
    return {"two chapters": (8, 2, 2), "three chapters": (27, 3, 3), "uneven": (30, 2, 5), "cut off": (23, 4, 2),
        "one chapter": (6, 3, 4)}  # fmt: skip


VARIANTS = (query_by_query, by_masks)
MISTAKES = (
    Mistake("paragraphs of earlier chapters too", "Earlier chapters have a summary each, so their paragraphs are not "
        "attended to one by one.", {"i // C % G": "i // C"}),
    Mistake("the query itself is not counted", "A query attends to itself, too.", {"i % C + 1": "i % C"}),
    Mistake("its own paragraph, or its own chapter, has a summary too", "What a query is in the middle of has no "
        "summary for it: that would contain later tokens.", {"i // C % G": "i // C % G + 1"},
        {"i // C % G": "i // C % G + 2"}),
    Mistake("the last C tokens", "A query attends to the tokens of its own paragraph alone: those before are in a "
        "summary.", {"i % C + 1": "np.minimum(i + 1, C)"}),
    Mistake("the last G paragraphs", "Paragraphs of an earlier chapter are in the summary of that chapter.",
        {"i // C % G": "np.minimum(i // C, G)"}),
    Mistake("paragraphs, and no chapters", "An earlier chapter is one summary, however many paragraphs it has.",
        {"i // C % G": "i // C", "+ chapters": ""}),
    Mistake("all tokens of the chapter", "Of an earlier paragraph only the summary is attended to.",
        {"i // C % G": "i % (C * G)"}),
    Mistake("no later token is left out", "A query attends to the tokens up to itself only.",
        {"i % C + 1": "C + 0 * i"}),
)  # fmt: skip
