"""How often should a checkpoint be written?

predict · ★★ · 6 min · 05-training/6-train-your-own-gpt

Writing a checkpoint takes 20 seconds, during which training stops. The machine fails every 4 hours on average. What
was computed since the last checkpoint, on average half an interval, is then computed again. With how many seconds of
training between two checkpoints is the least time lost? Give it to the nearest ten seconds.

1. Of each second of training, which share goes to writing, if T seconds lie between two checkpoints?
2. Which share is computed again, if a failure comes every M seconds and costs T / 2?
3. Make C / T + T / (2 M) as small as it can be: its derivative in T is zero where both terms are equal.

Both losses are then equal, here 2.6 % each. It is Young's rule of 1974, the root of 2 C M. Ten times as many machines
fail ten times as often, and need checkpoints three times as often.
"""

import math

from attnlib.exercises.engine.model import Mistake

WRITING, BETWEEN_FAILURES = 20, 4 * 3600


def answer():
    return math.sqrt(2 * WRITING * BETWEEN_FAILURES)


WITHIN = 6
MISTAKES = (
    Mistake("the two is missing", "Only half an interval is lost on average, so the interval may be longer, by the "
        "root of 2.", math.sqrt(WRITING * BETWEEN_FAILURES)),
    Mistake("in minutes", "That is the interval in minutes. Give it in seconds.",
        math.sqrt(2 * WRITING * BETWEEN_FAILURES) / 60),
    Mistake("in hours", "That is the interval in hours. Give it in seconds.",
        math.sqrt(2 * WRITING * BETWEEN_FAILURES) / 3600),
    Mistake("half of the time between failures",
        "A checkpoint halfway between two failures loses an hour at each of them, to save "
        "seconds of writing.", BETWEEN_FAILURES / 2),
    Mistake("one checkpoint between failures", "Then about half of everything is computed twice.", BETWEEN_FAILURES),
    Mistake("without a pause", "Then half of the time goes to writing.", WRITING),
    Mistake("no root", "That is the square of the interval.", 2 * WRITING * BETWEEN_FAILURES),
    Mistake("the root of half", "The two is on the wrong side: T² = 2 C M.",
        math.sqrt(WRITING * BETWEEN_FAILURES / 2)),
    Mistake("two units", "Seconds and minutes, or seconds and hours, were multiplied with each other.",
        math.sqrt(2 * WRITING * BETWEEN_FAILURES / 60)),
    Mistake("the number of writings between failures", "That is how many writings fit between two failures.",
        BETWEEN_FAILURES / WRITING),
    Mistake("the number of checkpoints in four hours", "That is the number of checkpoints between two failures.",
        BETWEEN_FAILURES / math.sqrt(2 * WRITING * BETWEEN_FAILURES)),
    Mistake("with the writing", "That is from one checkpoint to the next, with the writing. Give the seconds of "
        "training in between.", math.sqrt(2 * WRITING * BETWEEN_FAILURES) + WRITING),
    Mistake("the share that is lost", "That is the share of the time that is lost, with the best interval.",
        math.sqrt(2 * WRITING / BETWEEN_FAILURES),
        100 * math.sqrt(2 * WRITING / BETWEEN_FAILURES),
        math.sqrt(2 * WRITING / BETWEEN_FAILURES) / 2),
)  # fmt: skip
