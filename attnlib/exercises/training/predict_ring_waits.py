"""Eight workers, in order

predict · ★ · 5 min · 05-training/12-attention-across-workers

A text is read causally, and lies on 8 workers, in order. Its pieces are long, tiles that nobody sees are skipped,
half a tile takes half as long, and each tick lasts until the busiest worker has finished. Which share of the time
does a worker wait, on average over the eight?

1. How much longer than a fair share does it take? The page has a formula for it.
2. If it takes f times the fair share, then all workers together work 1/f of the time.
3. f is 2 - 1/8.

The more workers, the nearer to one half: the split in order throws away just what the mask could have saved.
"""

from attnlib.exercises.engine.model import Mistake

P = 8


def answer():
    return 1 - 1 / (2 - 1 / P)


WITHIN = 0.005
MISTAKES = (
    Mistake("the share of work", "This is the share of the time in which they work.",
        1 / (2 - 1 / P), (P + 1) / (2 * P)),
    Mistake("the half that nobody sees", "Half of all tiles is skipped, but the first tick is half a tile for "
        "everybody, so it is a little less than one half.", 0.5),
    Mistake("worker 0 alone", "Worker 0 waits for so long; the others less.", 1 - 0.5 / (P - 0.5)),
    Mistake("how much longer", "By so much it is longer than the fair share; compare with the whole time instead.",
        1 - 1 / P),
    Mistake("the first tick as long as the others", "At the first tick all have the tile on the diagonal, of which "
        "half is seen: it takes half as long.", (P - 1) / (2 * P)),
    Mistake("ticks in place of a share", "So many ticks a worker waits. Asked for is the share of the time.",
        (P - 1) / 2),
)  # fmt: skip
