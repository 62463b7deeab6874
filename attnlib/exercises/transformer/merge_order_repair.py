"""Merges out of order

repair · ★★ · 10 min · 04-transformer/1-from-text-to-vectors

With 50,000 merges it would be slow to go through the whole list for each word. This function joins one pair
at a time instead. word (n,) holds the numbers of the bytes; merges (m, 2) are pairs of numbers, best first, and the
pair in row r becomes the token 256 + r. Where a pair stands several times, the leftmost is joined first. Two things are
wrong; repair both.

1. Take a word in which two pairs can be joined and share a token. Which of them comes first, and why?
2. The row of a merge in the list and the number of its token in the vocabulary are two numbers.
3. Of all pairs of the word that are in the list, the one whose merge was learned first is next.

Any order ends with tokens of the vocabulary, and they spell the same word. But the model was trained on texts that
were cut in one way, so another cut is an input that it has hardly seen.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def encode(word, merges):
    """The numbers of a word's tokens, when no more pair can be joined."""
    ranks = {tuple(pair): rank for rank, pair in enumerate(merges.tolist())}
    parts = word.tolist()
    for _ in word:
        places = [i for i in range(len(parts) - 1) if (parts[i], parts[i + 1]) in ranks]
        if not places:
            break
        first = min(places, key=lambda i: ranks[parts[i], parts[i + 1]])
        parts[first : first + 2] = [256 + ranks[parts[first], parts[first + 1]]]
    return np.array(parts)


def through_the_list(word, merges):
    parts = [int(part) for part in word]
    for rank in range(len(merges)):
        joined = []
        for part in parts:
            if joined and joined[-1] == merges[rank, 0] and part == merges[rank, 1]:
                joined[-1] = 256 + rank
            else:
                joined.append(part)
        parts = joined
    return np.array(parts)


def with_masks(word, merges):
    """From left to right, also for a pair of equal tokens: of two overlapping matches the second is dropped."""
    parts = np.array(word)
    for rank, (left, right) in enumerate(merges):
        i = 0
        while i + 1 < len(parts):
            if parts[i] == left and parts[i + 1] == right:
                parts = np.concatenate([parts[:i], [256 + rank], parts[i + 2 :]])
            i += 1
    return parts


def one_place_each(word, merges):
    parts = word.tolist()
    for rank, pair in enumerate(merges.tolist()):
        for i in range(len(parts) - 1):
            if parts[i : i + 2] == pair:
                parts[i : i + 2] = [256 + rank]
                break
    return np.array(parts)


def cases(rng):
    a, b, c, d = rng.choice(np.arange(65, 91), size=4, replace=False)
    return {
        "two pairs share a token": (np.array([a, b, c, d]), np.array([[b, c], [a, b]])),
        "a merge of merges": (np.array([d, a, b, c, a, b]), np.array([[a, b], [b, c], [d, 256], [258, c]])),
        "the same three times": (np.array([b, a, a, a, c]), np.array([[a, a], [a, c], [b, a]])),
        "nothing to join": (np.array([c, a, d]), np.array([[a, b], [b, c]])),
        "a long word": (rng.choice([a, b, c], size=12), np.array([[a, b], [c, a], [256, c], [b, b], [b, c]])),
    }


GIVEN = ("merges applied in the order of the text", "the row, not the token")
VARIANTS = (through_the_list, with_masks)
MISTAKES = (
    Mistake("merges applied in the order of the text", "The first pair of the text that is in the list was joined. The "
        "list decides: the pair of lowest rank is next, wherever it is in the text.",
        {"min(places, key=lambda i: ranks[parts[i], parts[i + 1]])": "places[0]"}),
    Mistake("merges applied from the end of the text", "The last pair of the text that is in the list was joined. The "
        "list decides: the pair of lowest rank is next, wherever it is in the text.",
        {"min(places, key=lambda i: ranks[parts[i], parts[i + 1]])": "places[-1]"}),
    Mistake("the row, not the token", "A token got the number of its row in the list. The 256 bytes come before it.",
        {"= [256 + ranks": "= [ranks"}),
    Mistake("counted from one", "The token of the first merge is 256: the bytes have the numbers 0 to 255.",
        {"= [256 + ranks": "= [257 + ranks"}),
    Mistake("one position of each pair", "The list was gone through once, and of each pair only the first position was "
        "joined. It goes on until no pair of the word is in the list.", one_place_each),
    Mistake("one merge only", "The function returned after its first merge. It goes on until no pair is in the list.",
        {"= [256 + ranks[parts[first], parts[first + 1]]]": "= [256 + ranks[parts[first], parts[first + 1]]]; break"}),
)  # fmt: skip
