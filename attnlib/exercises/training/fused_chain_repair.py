"""What a fused chain moves

repair · ★★ · 8 min · 05-training/12-where-the-time-goes

A chain of k operations, number by number, on arrays of one size. Operation i reads the result before it (the first one
the input) and others[i] further arrays, and writes one result; needed (k,) is True where the backward pass needs that
result. The function should return how many numbers are moved to or from memory for each number of an array: first if
the operations run one by one, then if one loop does them all (a fused kernel). Both counts are too small. Two lines
are wrong; repair both.

1. Follow one number of an operation that runs alone: where does it come from, and where does its result go?
2. A loop keeps results in registers until the next operation has used them. Is that long enough for all of them?
3. One line forgets to write; another writes the last result alone.

So fusing saves most where no result in between is needed again: at inference, and where the backward pass recomputes
it.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def moved_numbers(others, needed):
    """Numbers moved one by one, and by one loop; others (k,), needed (k,)."""
    one_by_one = (others + 2).sum()
    written = needed[:-1].sum() + 1
    one_loop = 1 + others.sum() + written
    return np.array([one_by_one, one_loop])


def step_by_step(others, needed):
    alone, loop = 0, 1
    for i, more in enumerate(others):
        alone += 1 + more + 1
        loop += more + int(needed[i] or i == len(others) - 1)
    return np.array([alone, loop])


def cases(rng):
    return {
        "three operations": (np.array([0, 1, 0]), np.array([True, False, False])),
        "the last is needed": (np.array([1, 0, 2, 0]), np.array([False, True, True, True])),
        "nothing is needed": (np.array([0, 0, 1, 0, 1]), np.zeros(5, dtype=bool)),
        "all is needed": (np.array([1, 1, 0]), np.ones(3, dtype=bool)),
        "one operation": (np.array([2]), np.array([False])),
        "any": (rng.integers(0, 3, size=9), rng.random(9) < 0.4),
    }


GIVEN = ("alone, nothing is written", "the loop writes the last result alone")
VARIANTS = (step_by_step, {"written = needed[:-1].sum() + 1": "written = needed.sum() + (not needed[-1])"})
MISTAKES = (
    Mistake("alone, nothing is written", "An operation that runs alone writes its result to memory.",
        {"(others + 2)": "(others + 1)"}),
    Mistake("the loop writes the last result alone", "What the backward pass needs is written, too.",
        {"written = needed[:-1].sum() + 1": "written = 1"}),
    Mistake("the last result twice", "The last result is written once, whether the backward pass needs it or not.",
        {"written = needed[:-1].sum() + 1": "written = needed.sum() + 1"}),
    Mistake("the last result is not written", "The last result is what the chain is for: it is always written.",
        {"written = needed[:-1].sum() + 1": "written = needed.sum()"}),
    Mistake("only unneeded results are written", "The loop writes what the backward pass needs, and nothing else.",
        {"written = needed[:-1].sum() + 1": "written = (~needed[:-1]).sum() + 1"},
        {"written = needed[:-1].sum() + 1": "written = (~needed).sum()"}),
    Mistake("the further arrays are not read", "The loop saves what the operations pass on among themselves. Further "
        "arrays come from memory as before.", {"1 + others.sum() + written": "1 + written"}),
    Mistake("the two counts are exchanged", "First return the count one by one, then that of the loop.",
        {"[one_by_one, one_loop]": "[one_loop, one_by_one]"}),
    Mistake("the input is not read", "The loop reads its input once.",
        {"1 + others.sum() + written": "others.sum() + needed[:-1].sum() + 1"}),
    Mistake("written once more for the backward pass", "An operation that runs alone has written its result anyway.",
        {"(others + 2).sum()": "(others + 2).sum() + needed.sum()"}),
)  # fmt: skip
