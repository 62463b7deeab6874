"""A circuit with its layers the wrong way round

repair · ★★ · 12 min · 03-multi-head/4-a-circuit

Two heads with weights of zero and one should complete a pattern: `tokens` are whole numbers from 1 up, and the
result is for each position the token that came after the latest earlier occurrence of its own. Where there is none,
a position repeats its own token. As it stands it always repeats the token itself. Two things are wrong: an order, and
which occurrence.

1. Write down for `[5, 8, 5]` what each head writes, in the order in which they run.
2. What does the second head have to read that only the first one can have written?
3. The head that looks back comes first. Then try a token that has stood twice before, with different followers.

The head that needs the token before each key finds it only if another head has written it. Each head by itself did its
job: a circuit is heads *and* their order.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def complete(tokens):
    """For each position the token after the latest earlier occurrence of its own, or else its own token."""
    n = len(tokens)
    before, say = np.zeros(n, dtype=int), np.array(tokens)

    def look_back():
        before[1:] = tokens[:-1]

    def find():
        for i in range(n):
            places = [j for j in range(i + 1) if before[j] == tokens[i]]
            if places:
                say[i] = tokens[places[-1]]

    for head in (look_back, find):
        head()
    return say


def by_memory(tokens):
    say, behind = [], {}
    for i, token in enumerate(tokens):
        if i:
            behind[tokens[i - 1]] = token
        say.append(behind.get(token, token))
    return np.array(say)


def in_matrices(tokens):
    n = len(tokens)
    before = np.eye(n, k=-1, dtype=int) @ tokens
    match = np.tril(before == tokens[:, None])
    latest = n - 1 - match[:, ::-1].argmax(axis=1)
    return np.where(match.any(axis=1), tokens[latest], tokens)


def cases(rng):
    return {
        "one pattern": (np.array([5, 8, 3, 5]),),
        "twice the same, one after the other": (np.array([4, 4, 6, 2, 6]),),
        "two occurrences": (np.array([3, 7, 3, 9, 1, 3, 7]),),
        "nothing returns": (np.array([2, 5, 1, 4]),),
        "a long text": (rng.integers(1, 6, size=17),),
    }


GIVEN = ("nothing was fetched", "the earliest occurrence")
VARIANTS = (by_memory, in_matrices)
MISTAKES = (
    Mistake("nothing was fetched", "Each position repeats its own token. The token before a key can be found only "
        "once a head has written it; among the tokens themselves a token finds only itself.",
        {"(look_back, find)": "(find, look_back)"},
        {"say[i] = tokens[places[-1]]": "say[i] = before[places[-1]]"},
        {"before[j] == tokens[i]": "tokens[j] == tokens[i]"}),
    Mistake("the earliest occurrence", "It fetched from after the earliest occurrence. The latest is wanted.",
        {"places[-1]": "places[0]"}),
    Mistake("wraps around", "The first position has no token before it. Here the last one of the text stands there, as "
        "`np.roll` puts it.", {"before[1:] = tokens[:-1]": "before[:] = np.roll(tokens, 1)"}),
    Mistake("not at its own position", "If a token stands twice in a row, the position after the first is the "
        "second itself.", {"range(i + 1)": "range(i)"}),
    Mistake("looks ahead", "It fetched from a later occurrence. A position may attend to itself and to what came "
        "before it.", {"range(i + 1)": "range(n)"}),
    Mistake("one position too far", "It fetched from the position after the one that was found.",
        {"tokens[places[-1]]": "tokens[min(places[-1] + 1, n - 1)]"}),
)  # fmt: skip
