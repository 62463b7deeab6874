"""Eight times the batch

predict · ★ · 5 min · 05-training/12-where-the-time-goes

A training with batches of 64 rows reaches some loss in 1,000 steps. Its noise scale is 256 rows and does not change.
With batches of B rows, take the number of steps to be proportional to 1 + 256 / B. How many steps do batches of 512
rows need for the same loss?

1. How many steps would a batch without limit need?
2. A batch of 64 rows needs 1 + 256 / 64 times as many as these.
3. Then use the same formula for 512.

Eight times the rows in a step, and less than a third of the steps: 153,600 rows are read in place of 64,000. Whether
that is a bargain depends on what is scarce, the time or the rows.
"""

from attnlib.exercises.engine.model import Mistake

NOISE, BEFORE, AFTER, STEPS = 256, 64, 512, 1000


def answer():
    fewest = STEPS / (1 + NOISE / BEFORE)
    return fewest * (1 + NOISE / AFTER)


WITHIN = 0.5
MISTAKES = (
    Mistake("as many rows in all", "That would be right far below the noise scale. 512 rows lie above it.",
        STEPS * BEFORE / AFTER),
    Mistake("the fewest", "That is for batches without limit. With 512 rows the factor is still 1 + 256 / 512.",
        STEPS / (1 + NOISE / BEFORE)),
    Mistake("the first factor forgotten", "The 1,000 steps are not the fewest: batches of 64 rows need more than "
        "these.", STEPS * (1 + NOISE / AFTER)),
    Mistake("divided by the second factor", "The smaller the batch, the more steps: first the fewest, then times the "
        "factor.", STEPS / (1 + NOISE / AFTER)),
    Mistake("a root", "The root belongs to the rate of some rules of thumb, not to the steps.",
        STEPS * (BEFORE / AFTER) ** 0.5),
    Mistake("nothing changes", "64 rows lie below the noise scale, so more rows help.", STEPS),
    Mistake("upside down", "The noise scale is divided by the batch, not the batch by the noise scale.",
        STEPS / (1 + BEFORE / NOISE) * (1 + AFTER / NOISE)),
    Mistake("rows in place of steps", "Give the number of steps.",
        STEPS / (1 + NOISE / BEFORE) * (1 + NOISE / AFTER) * AFTER),
    Mistake("no gain above the noise scale", "Above the noise scale more rows help, too, only less and less.",
        STEPS * BEFORE / NOISE),
    Mistake("at the noise scale", "That is for batches of 256 rows.", 2 * STEPS / (1 + NOISE / BEFORE)),
    Mistake("how many are saved", "That is how many steps are saved. How many are needed?",
        STEPS - STEPS / (1 + NOISE / BEFORE) * (1 + NOISE / AFTER)),
    Mistake("more steps", "More rows in a step need fewer steps, and not more.", STEPS * AFTER / BEFORE),
)  # fmt: skip
