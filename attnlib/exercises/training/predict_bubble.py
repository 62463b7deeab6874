"""How many micro-batches?

predict · ★ · 4 min · 05-training/8-many-workers

A pipeline of 8 workers, each with an eighth of the layers, splits a batch into micro-batches, which take one tick per
worker. A worker is idle until the first micro-batch reaches it, and after its last one. What is the smallest number of
micro-batches with which each worker is idle for at most 5 percent of the ticks?

1. With p workers and m micro-batches the idle share is (p - 1) / (m + p - 1).
2. With 8 workers the numerator is 7. How large must the denominator be?
3. At least 7 divided by 0.05, which is 140; and m is 7 less.

Each micro-batch needs at least one row. So a pipeline of 64 workers with as little idle time needs a batch of more
than a thousand rows.
"""

from attnlib.exercises.engine.model import Mistake

P, PERCENT = 8, 5


def answer():
    m = 1
    while PERCENT * (m + P - 1) < 100 * (P - 1):
        m += 1
    return m


WITHIN = 0
MISTAKES = (
    Mistake("the ticks of the work alone", "That is 7 over 0.05. The waste is compared with all ticks, m + p - 1, and "
        "not with the m ticks of work alone.",
        100 * (P - 1) // PERCENT, 100 * (P - 1) // PERCENT + 1),
    Mistake("the workers themselves", "The last worker waits p - 1 ticks, not p.",
        100 * P // PERCENT - P, 100 * P // PERCENT),
    Mistake("one too few", "With that many, 7 of 139 ticks are wasted: a little more than 5 percent.",
        100 * (P - 1) // PERCENT - P),
    Mistake("as many as workers", "With 8 micro-batches, 7 of 15 ticks are wasted.", P),
    Mistake("one tick is wasted", "The last worker waits 7 ticks, and not one.",
        100 // PERCENT, 100 // PERCENT - 1),
    Mistake("forward and backward added",
        "The backward pass has the same idle share as the forward pass, so the share does not change.",
        200 * (P - 1) // PERCENT - 2 * (P - 1)),
    Mistake("one more than needed", "At most 5 percent: exactly 5 is allowed.", 100 * (P - 1) // PERCENT - P + 2),
)  # fmt: skip
