"""Reduce-scatter in the other direction

write · ★★ · 8 min · 05-training/8-many-workers

Each of p workers has a vector of p pieces, and the vectors are to be summed; held[r, k], of held (p, p, n), is piece k
as worker r holds it. The workers form a ring. In each of p - 1 steps all of them send at once: worker r sends a copy
of one piece to worker r - 1 (worker 0 to worker p - 1), which adds it to its own piece of the same number. In the
first step worker r sends piece r, in every later step the piece to which it has just added. Return held after all
steps.

1. To which piece has worker r just added, and which one does it therefore send next?
2. At step s worker r sends piece r + s, counted around, and worker r - 1 adds it to its own.
3. All send at once: take copies first, then add. Afterwards worker r holds all of piece r - 1.

The direction does not matter to the sum or to the bytes. Where the wires carry as much in each direction, libraries
run two rings in opposite directions at once, with half of the vector each.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def other_way(held):
    """Reduce-scatter, sending to worker r - 1; held (p, p, n)."""
    held, p = held.copy(), len(held)
    for step in range(p - 1):
        sent = [held[r, (r + step) % p].copy() for r in range(p)]
        for r in range(p):
            held[r - 1, (r + step) % p] += sent[r]
    return held


def from_the_start(held):
    p, out = len(held), np.empty_like(held)
    for r in range(p):
        for k in range(p):
            passed = [(r + i) % p for i in range((k - r) % p + 1)]
            out[r, k] = held[passed, k].sum(axis=0)
    return out


def complete_ones_alone(held):
    out = np.zeros_like(held)
    for r in range(len(held)):
        out[r, r - 1] = held[:, r - 1].sum(axis=0)
    return out


def open_ring(held):
    held, p = held.copy(), len(held)
    for step in range(p - 1):
        for r in range(1, p - step):
            held[r - 1, r + step] += held[r, r + step]
    return held


def cases(rng):
    return {
        name: tuple(drawn(rng, (p, p, n)))
        for name, (p, n) in {
            "three workers": (3, 2),
            "two workers": (2, 3),
            "four workers": (4, 1),
            "one worker": (1, 2),
        }.items()
    }


VARIANTS = (
    from_the_start,
    {"held[r - 1, (r + step) % p] += sent[r]": "held[(r + p - 1) % p, (r + step) % p] += 1 * sent[r]"},
)  # fmt: skip
MISTAKES = (
    Mistake("copied, not added", "The received piece replaced the worker's own. It is added to it.",
        {"+= sent": "= sent"}),
    Mistake("to the wrong neighbour", "Worker r sends to worker r - 1, not to worker r + 1.",
        {"held[r - 1,": "held[(r + 1) % p,"}),
    Mistake("the pieces of the other direction", "Worker r sends on the piece that it has received, and that is the "
        "next one.", {"(r + step) % p": "(r - step) % p"}),
    Mistake("the same piece in each step", "Each step sends the piece that has just grown, not the first one again.",
        {"(r + step) % p": "r"}),
    Mistake("one step too many", "After p - 1 steps each worker has a complete piece; one more spoils it.",
        {"range(p - 1)": "range(p)"}),
    Mistake("the whole sum on every worker",
        "That is the end of the whole all-reduce. After the adding steps only one piece of each worker is complete.",
        lambda held: np.broadcast_to(held.sum(axis=0), held.shape).copy()),
    Mistake("one piece later", "The first piece that worker r sends is its piece r.",
        {"(r + step) % p": "(r + step + 1) % p"}),
    Mistake("a sent piece is removed", "Sending copies a piece: a worker still holds what it has sent.",
        complete_ones_alone),
    Mistake("only the complete pieces", "Return all that each worker holds, complete or not.",
        lambda held: held.sum(axis=0)),
    Mistake("a mean", "The pieces are added, and not divided by the number of workers.",
        {"return held": "return held / p"}),
    Mistake("the axes exchanged", "The first axis of held is the worker, the second one the piece.",
        {"held[r, (r + step) % p]": "held[(r + step) % p, r]",
         "held[r - 1, (r + step) % p]": "held[(r + step) % p, r - 1]"}),
    Mistake("the ring is open", "Worker 0 sends, too: to the last worker. And after the last piece comes the first.",
        open_ring),
)  # fmt: skip
