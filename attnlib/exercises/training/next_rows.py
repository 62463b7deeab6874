"""The next rows of one of several workers

write · ★★ · 10 min · 05-training/6-train-your-own-gpt

Several workers read one text together. orders (rounds, n_rows) holds the order of the rows in each round (epoch), one
round after the other. The workers take turns: worker 0 reads the first row, worker 1 the second, and so on. When the
checkpoint was written, all workers together had read `came` rows. Now `workers` workers go on, perhaps more or fewer
than before, and worker 0 begins. Return the indices of the next b rows that the worker with the number `worker` reads,
an array (b,). They may reach into the next round.

1. Write all rounds into one list. At which position is the first row that has not been read?
2. From there on worker 0 takes the first, worker 1 the second, and after the last worker it is worker 0's turn again.
3. The worker's first position is that one plus its number; the others follow in steps of `workers`, across the end of
   a round.

Only `came` had to be stored, and the number of workers may change at a stop. With a position for each worker it could
not.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def next_rows(orders, came, workers, worker, b):
    """The next b rows of one worker; orders (rounds, n_rows)."""
    line = orders.reshape(-1)
    first = came + worker
    places = first + workers * np.arange(b)
    return line[places]


def by_turns(orders, came, workers, worker, b):
    n_rows, mine, turn = orders.shape[1], [], 0
    while len(mine) < b:
        which, i = divmod(came + turn, n_rows)
        if turn % workers == worker:
            mine.append(orders[which, i])
        turn += 1
    return np.array(mine)


def cases(rng):
    def read(rounds, n_rows, came, workers, worker, b):
        orders = np.stack([rng.permutation(n_rows) for _ in range(rounds)])
        return orders, came, workers, worker, b

    return {
        "two workers, in one round": read(3, 11, 3, 2, 1, 3),
        "over the end of a round": read(4, 7, 5, 3, 2, 4),
        "worker 0": read(5, 7, 6, 2, 0, 5),
        "one alone": read(4, 5, 8, 1, 0, 6),
        "nothing has come": read(4, 7, 0, 3, 1, 3),
        "all sizes equal": read(13, 3, 3, 3, 1, 3),
    }


VARIANTS = (by_turns, {"line[places]": "orders[places // orders.shape[1], places % orders.shape[1]]"})
MISTAKES = (
    Mistake("the data begin anew", "The rows from the beginning come again: `came` is not used.",
        {"first = came + worker": "first = worker"}),
    Mistake("a block for each worker", "Each worker takes b rows in a row here. They take turns.",
        {"first = came + worker": "first = came + worker * b", "workers * np.arange(b)": "np.arange(b)"}),
    Mistake("a position for each worker", "`came` counts the rows of all workers together.",
        {"first = came + worker": "first = came * workers + worker"}),
    Mistake("each has the same share of what came", "`came` counts the rows of all workers together; it is not to be "
        "divided.", {"first = came + worker": "first = came // workers + worker"}),
    Mistake("the first round for ever", "After the end of a round the next one follows, in another order.",
        {"return line[places]": "return orders[0, places % orders.shape[1]]"}),
    Mistake("the worker is forgotten", "These are the rows of worker 0.", {"first = came + worker": "first = came"}),
    Mistake("counted from one", "The worker with the number 0 takes the first row that has not been read.",
        {"first = came + worker": "first = came + worker + 1"}),
    Mistake("one too early", "The row with the number `came`, counted from 0, is the first that has not been read.",
        {"first = came + worker": "first = np.maximum(came - 1, 0) + worker"}),
    Mistake("positions, not rows", "These are positions in the list of rows. Return the rows at these positions.",
        {"return line[places]": "return places"}),
    Mistake("neighbours", "The rows of one worker are `workers` positions apart, not neighbours.",
        {"workers * np.arange(b)": "np.arange(b)"}),
    Mistake("a new round at a stop", "This begins with a whole round after the stop. The rest of the round before "
        "must come first.",
        {"first = came + worker": "first = -(-came // orders.shape[1]) * orders.shape[1] + worker"}),
    Mistake("workers counted from one", "Worker 0 takes the first row that has not come, so worker 1 takes the second.",
        {"first = came + worker": "first = came + worker - 1"}),
    Mistake("turns counted from the beginning", "The turns were counted from the first row of all. After the stop "
        "they begin again with worker 0.", {"first = came + worker": "first = came + (worker - came) % workers"}),
    Mistake("nothing after the end of a round", "The rows end with the round. After it the next one follows.",
        {"return line[places]":
             "return orders[came // orders.shape[1]][came % orders.shape[1] :][worker::workers][:b]"}),
    Mistake("rows by their numbers", "A worker took the rows whose number is its own, modulo `workers`. The turn "
        "counts, not the number.", {"return line[places]": "return line[came:][line[came:] % workers == worker][:b]"}),
    Mistake("all that is left", "These are all rows that are left for this worker. Return the next b.",
        {"return line[places]": "return line[first::workers]"}),
)  # fmt: skip
