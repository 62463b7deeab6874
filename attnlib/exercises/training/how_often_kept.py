"""How often is it kept?

predict · ★★ · 6 min · 05-training/6-train-your-own-gpt

Writing a checkpoint takes 20 seconds, in which nothing is learned. Every 4 hours, on the mean, the machine fails; what
was computed since the last checkpoint, half an interval on the mean, is computed again. With how many seconds of
training between two checkpoints is the least time lost?

1. Of each second of training, which share goes to writing, if T seconds lie between two checkpoints?
2. Which share is computed again, if a failure comes every M seconds and costs T / 2?
3. Make C / T + T / (2 M) as small as it can be: its slope in T is zero where both terms are equal.

Both losses are then equal, here 2.6 % each. It is Young's rule of 1974, the root of 2 C M. Ten times as many machines
fail ten times as often, and want checkpoints three times as often.
"""

import math

from attnlib.exercises.engine.model import Mistake

WRITING, BETWEEN_FAILURES = 20, 4 * 3600


def answer():
    return math.sqrt(2 * WRITING * BETWEEN_FAILURES)


WITHIN = 6
MISTAKES = (
    Mistake("the two is missing", "Only half an interval is lost on the mean, so the interval may be longer, by the "
        "root of 2.", math.sqrt(WRITING * BETWEEN_FAILURES)),
    Mistake("in minutes", "That is the interval in minutes. Asked for are seconds.",
        math.sqrt(2 * WRITING * BETWEEN_FAILURES) / 60),
    Mistake("in hours", "That is the interval in hours. Asked for are seconds.",
        math.sqrt(2 * WRITING * BETWEEN_FAILURES) / 3600),
    Mistake("half a failure", "A checkpoint halfway between two failures loses an hour at each of them, to save "
        "seconds of writing.", BETWEEN_FAILURES / 2),
    Mistake("once a failure", "Then about half of everything is computed twice.", BETWEEN_FAILURES),
    Mistake("without a pause", "Then half of the time goes to writing.", WRITING),
    Mistake("no root", "That is the square of the interval.", 2 * WRITING * BETWEEN_FAILURES),
    Mistake("the root of half", "The two is on the wrong side: T² = 2 C M.",
        math.sqrt(WRITING * BETWEEN_FAILURES / 2)),
    Mistake("two units", "Seconds and minutes, or seconds and hours, were multiplied with each other.",
        math.sqrt(2 * WRITING * BETWEEN_FAILURES / 60)),
    Mistake("the time of one writing in a failure's", "That is how many writings fit between two failures.",
        BETWEEN_FAILURES / WRITING),
    Mistake("how many in four hours", "That is the number of checkpoints between two failures.",
        BETWEEN_FAILURES / math.sqrt(2 * WRITING * BETWEEN_FAILURES)),
    Mistake("with the writing", "That is from one checkpoint to the next, with the writing. Asked for are the seconds "
        "of training between.", math.sqrt(2 * WRITING * BETWEEN_FAILURES) + WRITING),
    Mistake("the share that is lost", "That is the share of the time that is lost, with the best interval.",
        math.sqrt(2 * WRITING / BETWEEN_FAILURES),
        100 * math.sqrt(2 * WRITING / BETWEEN_FAILURES),
        math.sqrt(2 * WRITING / BETWEEN_FAILURES) / 2),
)  # fmt: skip
