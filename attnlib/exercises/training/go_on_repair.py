"""A resumed training that ends elsewhere

repair · ★★ · 8 min · 05-training/6-train-your-own-gpt

A training was stopped after `done` of its `steps` steps (counted from 0); w (d,) and its momentum m (d,) were kept.
Step i moves w towards rows[i % len(rows)], of rows (n, d), with momentum and a rate that falls linearly to zero at the
end. This function should make the remaining steps exactly as an uninterrupted training would. Its result differs. Two
things are wrong; repair both.

1. Which numbers does step i need, beside the parameters?
2. Two of them have the values of the very first step of a training.
3. One line throws away what was kept of the momentum; one counts the rows from the stop instead of from the beginning.

Neither fault raises an error, and the loss falls all the same. So compare with an uninterrupted training, to the last
bit, rather than look at the curve.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def go_on(w, m, done, rows, steps, lr, beta):
    """The parameters after all steps; w, m (d,) were kept, rows (n, d)."""
    w, m = w.copy(), m.copy()
    for i in range(done, steps):
        g = w - rows[i % len(rows)]
        m = beta * m + g
        w = w - lr * (1 - i / steps) * m
    return w


def rolled(w, m, done, rows, steps, lr, beta):
    ahead = np.roll(rows, -(done % len(rows)), axis=0)
    for k in range(steps - done):
        m = beta * m + (w - ahead[k % len(rows)])
        w = w - lr * (steps - done - k) / steps * m
    return w


def cases(rng):
    def stopped(n, d, done, steps):
        w, m, rows = drawn(rng, d, d, (n, d))
        return w, m, done, rows, steps, 0.2, 0.8

    return {
        "two steps are left": stopped(5, 3, 3, 5),
        "the rows come a second time": stopped(4, 2, 7, 12),
        "nothing is left": stopped(3, 2, 4, 4),
        "before the first step": stopped(3, 4, 0, 5),
        "all sizes equal": stopped(3, 3, 2, 6),
    }


GIVEN = ("the momentum begins anew", "the data begin anew")
VARIANTS = (rolled, {"m = beta * m + g": "m = g + m * beta", "(1 - i / steps)": "(steps - i) / steps"})
MISTAKES = (
    Mistake("the momentum begins anew", "This goes on with a momentum of zero: a checkpoint without the state of the "
        "optimiser.", {"w, m = w.copy(), m.copy()": "w, m = w.copy(), np.zeros_like(m)"}),
    Mistake("the data begin anew", "The rows are counted from the stop, so the first ones come again and others never "
        "do.", {"rows[i % len(rows)]": "rows[(i - done) % len(rows)]"}),
    Mistake("a schedule for what is left", "The rate falls from its largest to zero over the steps that are left. It "
        "must go on where it was.", {"(1 - i / steps)": "(1 - (i - done) / (steps - done))"}),
    Mistake("one step twice", "The last step before the stop is made a second time.",
        {"range(done, steps)": "range(max(done - 1, 0), steps)"}),
    Mistake("one step is left out", "The step with the number `done` has not been made yet.",
        {"range(done, steps)": "range(done + 1, steps)"}),
    Mistake("one row further", "Step i reads row i, counted from 0.",
        {"rows[i % len(rows)]": "rows[(i + 1) % len(rows)]"}),
    Mistake("no momentum", "The step follows the momentum, not the gradient alone.",
        {"- lr * (1 - i / steps) * m": "- lr * (1 - i / steps) * g"}),
    Mistake("a mean in place of the momentum", "The gradient came in with the share 1 - beta. This momentum adds it "
        "whole.", {"m = beta * m + g": "m = beta * m + (1 - beta) * g"}),
    Mistake("away from the rows", "The step leads away from the rows, and should lead towards them.",
        {"g = w - rows[i % len(rows)]": "g = rows[i % len(rows)] - w"}),
    Mistake("the steps before the stop", "These are the steps before `done`, once more. Those from `done` on are left.",
        {"range(done, steps)": "range(done)"}),
)  # fmt: skip
