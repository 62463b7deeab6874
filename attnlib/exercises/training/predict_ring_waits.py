"""Eight workers, in order

predict · ★ · 5 min · 05-training/13-attention-across-workers

Ring attention with a causal mask: a text is cut into 8 equal pieces, worker r holds piece r, and the keys and values
go around the ring in 8 ticks. At each tick a worker computes the tile of its queries and the keys that it has. A tile
that the mask hides is skipped. A tile on the diagonal takes half as long as a whole one. Each tick lasts until the
slowest worker has finished. Which share of the time does a worker wait, on average over the eight? Give it to two
decimals.

1. How much longer does it take than if the work were shared evenly? For p workers the factor is 2 - 1/p.
2. If it takes f times as long, the workers compute in 1/f of the time on average.
3. f is 2 - 1/8.

The more workers, the nearer to one half: this split loses the half of the work that the mask saves.
"""

from attnlib.exercises.engine.model import Mistake

P = 8


def answer():
    return 1 - 1 / (2 - 1 / P)


WITHIN = 0.005
MISTAKES = (
    Mistake("the share of work", "This is the share of the time in which they work.",
        1 / (2 - 1 / P), (P + 1) / (2 * P)),
    Mistake("the hidden half", "Half of all tiles is skipped, but at the first tick every worker has half a tile, so "
        "it is a little less than one half.", 0.5),
    Mistake("worker 0 alone", "Worker 0 waits for so long; the others less.", 1 - 0.5 / (P - 0.5)),
    Mistake("how much longer", "That is how much longer it takes than with even shares. Compare the waiting with the "
        "whole time.",
        1 - 1 / P),
    Mistake("the first tick as long as the others", "At the first tick all workers have a tile on the diagonal, which "
        "takes half as long.", (P - 1) / (2 * P)),
    Mistake("ticks in place of a share", "That is how many ticks a worker waits. Give the share of the time.",
        (P - 1) / 2),
)  # fmt: skip
