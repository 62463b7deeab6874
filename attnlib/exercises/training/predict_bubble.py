"""How many micro-batches?

predict · ★ · 4 min · 05-training/7-many-workers

A pipeline has 8 workers. What is the smallest number of micro-batches with which at most 5 percent of the time is
wasted?

1. The share that is wasted is (p - 1) / (m + p - 1).
2. With 8 workers the numerator is 7. How large must the denominator be?
3. At least 7 divided by 0.05, which is 140; and m is 7 less.

Each micro-batch needs at least one row. So a pipeline of 64 workers with as little waste would ask for a batch of
more than a thousand rows: the bubble, too, is paid with a larger batch.
"""

P, PERCENT = 8, 5


def answer():
    m = 1
    while PERCENT * (m + P - 1) < 100 * (P - 1):
        m += 1
    return m


WITHIN = 0
MISTAKES = """
the whole time | That is the number of all ticks one way, m + p - 1.
    = 100 * (P - 1) // PERCENT
the workers themselves | The last worker waits p - 1 ticks, not p.
    = 100 * P // PERCENT - P
over the work alone | Waiting is compared with the whole time, and not with the time of work.
    = 100 * (P - 1) // PERCENT + 1
one more than needed | At most 5 percent: exactly 5 is allowed.
    = 100 * (P - 1) // PERCENT - P + 2
"""
