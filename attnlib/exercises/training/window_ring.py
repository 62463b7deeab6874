"""A ring with a window

write · ★★ · 10 min · 05-training/13-attention-across-workers

Each of p workers holds c tokens of a text, in order, and the keys go around a ring: at tick 0 each worker has its own,
and after each tick it passes the keys that it has to worker r + 1 (the last one to worker 0). A query attends to
itself and to the w - 1 tokens before it, and to no others. Return an array (ticks, p) with, at [t, r], the worker
whose keys worker r computes with at tick t, or -1 if none of its queries attends to any of the keys that it has. Leave
off the ticks at the end at which no worker has anything to compute.

1. At tick t worker r has the keys of worker r - t, counted around. What if that is below zero?
2. Those keys are later than all of its queries. Of the others, the last key of worker r - t is the nearest.
3. From the first query of worker r to that key it is (t - 1) c + 1 tokens back, which may be at most w - 1.

With a window the ring stops early: what is sent no longer grows with the text, and only the first workers have less to
do than the others. For a window of at most c + 1 tokens each worker gets the keys of only one neighbour.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def window_ring(p, c, w):
    """Whose keys each worker uses at each tick, -1 for none; (ticks, p)."""
    ticks = min(p, 1 + (w + c - 2) // c)
    t, r = np.arange(ticks)[:, None], np.arange(p)
    return np.where(t <= r, r - t, -1)


def token_by_token(p, c, w):
    table = np.full((p, p), -1)
    for i in range(p * c):
        for j in range(max(0, i - w + 1), i + 1):
            table[i // c - j // c, i // c] = j // c
    return table[(table >= 0).any(axis=1)]


def the_keys_behind_too(p, c, w):
    ticks = min(p, 1 + (w + c - 2) // c)
    return (np.arange(p) - np.arange(ticks)[:, None]) % p


def the_other_direction(p, c, w):
    found = window_ring(p, c, w)
    table = (np.arange(p) + np.arange(len(found))[:, None]) % p
    return np.where(table <= np.arange(p), table, -1)


def empty_ticks_too(p, c, w):
    found = window_ring(p, c, w)
    return np.concatenate([found, np.full((p - len(found), p), -1)])


def cases(rng):
    return {
        "a window of one tile and a bit": (4, 3, 5),
        "it reaches one token into the next tile but one": (5, 3, 5),
        "it ends where a tile ends": (5, 3, 4),
        "a window of one tile": (4, 2, 2),
        "each token sees itself": (3, 2, 1),
        "one token a worker": (4, 1, 3),
        "the window is the text": (3, 4, 12),
        "a window longer than the text": (3, 2, 9),
        "one worker": (1, 4, 3),
    }


VARIANTS = (
    token_by_token,
    {"1 + (w + c - 2) // c": "1 + int(np.ceil((w - 1) / c))"},
    {"np.where(t <= r, r - t, -1)": "np.maximum(r - t, -1)"},
)  # fmt: skip
MISTAKES = (
    Mistake("keys that are later", "Keys from the end of the text that have come around are later than all queries, "
        "and no query attends to them: -1.", the_keys_behind_too),
    Mistake("as many ticks as workers", "Beyond the window no worker computes anything; leave these ticks off.",
        {"ticks = min(p, 1 + (w + c - 2) // c)": "ticks = p"}),
    Mistake("empty ticks are kept", "Ticks at the end at which no worker computes are left off.", empty_ticks_too),
    Mistake("a tile too few", "The first query of a piece looks back w - 1 tokens beyond its own piece. Any tile that "
        "this touches counts, also by one token.", {"1 + (w + c - 2) // c": "(w + c - 1) // c"}),
    Mistake("the token itself not counted", "The token itself is one of the w, so a query looks back at w - 1 others.",
        {"(w + c - 2) // c": "(w + c - 1) // c"}),
    Mistake("the other direction of the ring", "Keys go to worker r + 1, so worker r meets those of r - 1 first.",
        the_other_direction, {"np.where(t <= r, r - t, -1)": "np.where(r + t < p, r + t, -1)"}),
    Mistake("counted from one", "The first worker is worker 0.",
        {"np.where(t <= r, r - t, -1)": "np.where(t <= r, r - t + 1, -1)"}),
    Mistake("its own keys are left out", "At the first tick each worker computes with its own keys.",
        {"np.arange(ticks)[:, None]": "np.arange(1, ticks)[:, None]"}),
    Mistake("the tick in place of the worker", "Return the worker whose keys it has.",
        {"np.where(t <= r, r - t, -1)": "np.where(t <= r, t + 0 * r, -1)"}),
    Mistake("which have to compute", "True and False show which workers compute. Return whose keys they compute with.",
        {"np.where(t <= r, r - t, -1)": "(t <= r)"}),
)  # fmt: skip
