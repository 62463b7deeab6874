"""A pattern with a gap

write · ★★ · 12 min · 03-multi-head/4-a-circuit · after multi-head.circuit-repair

An induction head completes a pattern: after "A B" and, later, "A" it predicts B. Here the pattern has a gap: after "A
x B" and, later, "A y" it must predict B, whatever x and y are. So the head at a position i attends to the positions j
for which the token *two* before j equals the token *one* before i. For the tokens (n) return its weights (n, n):
equal weights on all such positions j up to i, and a row of zeros where there is none.

1. For i = 5, which token is "A"? For which j is tokens[j - 2] the same?
2. Compare all pairs at once: one axis for the queries, one for the keys.
3. Positions 0 and 1 have no token two before, position 0 none one before. Then j <= i, and divide each row by its sum.

Each token needs one more thing written by a first layer: the token two before. What the second layer needs is
now itself something that a first layer wrote: queries are composed here as well as keys.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def gap_weights(tokens):
    """The weights (n, n) of a head that looks where the token two before is the one before its own position."""
    n = len(tokens)
    match = np.zeros((n, n))
    match[1:, 2:] = tokens[:-1, None] == tokens[None, :-2]
    match = np.tril(match)
    return match / np.maximum(match.sum(axis=1, keepdims=True), 1)


def place_by_place(tokens):
    n = len(tokens)
    P = np.zeros((n, n))
    for i in range(1, n):
        found = [j for j in range(2, i + 1) if tokens[j - 2] == tokens[i - 1]]
        for j in found:
            P[i, j] = 1 / len(found)
    return P


def with_indices(tokens):
    i, j = np.indices((len(tokens), len(tokens)))
    match = (tokens[j - 2] == tokens[i - 1]) & (j >= 2) & (i >= 1) & (j <= i)
    return match / match.sum(axis=1, keepdims=True).clip(min=1)


def cases(rng):
    return {
        "A x B, then A y": (np.array([5, 1, 8, 3, 5, 2]),),
        "two positions to attend to": (np.array([4, 1, 7, 4, 2, 9, 4, 3]),),
        "nothing to find": (np.array([1, 2, 3, 4]),),
        "the same all the time": (np.array([6, 6, 6, 6, 6]),),
        "a long text": (rng.integers(4, size=13),),
    }


VARIANTS = (place_by_place, with_indices)
MISTAKES = (
    Mistake("no gap", 'These are the weights for "A B ... A": one before the key is compared with the token of '
        "the query.",
        {"match[1:, 2:] = tokens[:-1, None] == tokens[None, :-2]":
             "match[:, 1:] = tokens[:, None] == tokens[None, :-1]"}),
    Mistake("compares its own token", "The token at the position itself is y, which may be anything. The one before it "
        "is A.", {"match[1:, 2:] = tokens[:-1, None]": "match[:, 2:] = tokens[:, None]"}),
    Mistake("one before the key", "B comes two after A: the token two before has to be the same.",
        {"match[1:, 2:] = tokens[:-1, None] == tokens[None, :-2]":
             "match[1:, 1:] = tokens[:-1, None] == tokens[None, :-1]"}),
    Mistake("two before both", "It compared the token two before with the token two before. Of the query, "
        "the token before counts.", {"match[1:, 2:] = tokens[:-1, None] ==": "match[2:, 2:] = tokens[:-2, None] =="}),
    Mistake("wraps around", "The first positions have no token one or two before them. Here the last tokens of the "
        "text stand there, as `np.roll` and negative indices put them.",
        {"match[1:, 2:] = tokens[:-1, None] == tokens[None, :-2]":
             "match = 1.0 * (np.roll(tokens, 1)[:, None] == np.roll(tokens, 2))"},
        {"match[1:, 2:] = tokens[:-1, None] == tokens[None, :-2]":
             "match[1:] = tokens[:-1, None] == np.roll(tokens, 2)"}),
    Mistake("looks ahead", "A position may attend to itself and to what came before it.",
        {"match = np.tril(match)": "match = match"}),
    Mistake("not at its own position", 'In "A A B" the position of B is one that fits, also for B itself.',
        {"np.tril(match)": "np.tril(match, k=-1)"}),
    Mistake("nothing divided by nothing", "Where no position fits, a row of zeros was divided by its sum, and 0 / 0 is "
        "nan. Such a row stays zeros.",
        {"np.maximum(match.sum(axis=1, keepdims=True), 1)": "match.sum(axis=1, keepdims=True)"}),
    Mistake("equal weights where nothing fits", "Where no position fits, the row is zeros. Here all positions share "
        "the weight there.",
        {"return match / np.maximum(match.sum(axis=1, keepdims=True), 1)":
             "match[match.sum(axis=1) == 0] = 1; return match / match.sum(axis=1, keepdims=True)"}),
    Mistake("the latest alone", "Only the latest position that fits has weight. All that fit share it.",
        {"return match / np.maximum(match.sum(axis=1, keepdims=True), 1)":
             "return match * (np.cumsum(match[:, ::-1], axis=1)[:, ::-1] == 1)"}),
    Mistake("not shared out", "The rows do not sum to one: the weight is shared evenly among the positions that fit.",
        {"return match / np.maximum(match.sum(axis=1, keepdims=True), 1)": "return match"}),
)  # fmt: skip
