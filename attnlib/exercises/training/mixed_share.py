"""Mixing until confidence equals accuracy

predict · ★ · 5 min · 05-training/10-calibration

A model chooses among 10 answers. Its likeliest answer has a probability of 0.98 on average, and is right in 0.85 of
the cases. Its probabilities p are mixed with equal ones: (1 - epsilon) p + epsilon / 10. Which epsilon brings its mean
confidence to its accuracy, to three decimals?

1. What does mixing make of a confidence c? How much does it take away?
2. It takes epsilon times the distance of c from 1/10, and 0.98 - 0.85 must be taken away.
3. It is 0.13 divided by 0.88.

Then the model is calibrated on average, in a single bin of all answers. Mixing takes most from the surest answers, and
never makes an answer that has 0.98 less probable than one that had 0.97: it does not separate right answers from wrong
ones.
"""

from attnlib.exercises.engine.model import Mistake

SAID, RIGHT, ANSWERS = 0.98, 0.85, 10


def answer():
    return (SAID - RIGHT) / (SAID - 1 / ANSWERS)


WITHIN = 0.001
MISTAKES = (
    Mistake("the gap itself", "The gap must be taken away, but a share epsilon takes only epsilon times (c - 1/10).",
        SAID - RIGHT),
    Mistake("the equal share is forgotten", "With a share epsilon, c becomes (1 - epsilon) c *plus* epsilon / 10.",
        1 - RIGHT / SAID),
    Mistake("as if the confidence were one", "The confidence was 0.98.", (1 - RIGHT) / (1 - 1 / ANSWERS)),
    Mistake("the share that stays", "That is the share that the model keeps.",
        1 - (SAID - RIGHT) / (SAID - 1 / ANSWERS), RIGHT / SAID),
    Mistake("from the accuracy", "Epsilon times the distance of 0.98 from 1/10 is taken away, and not that of 0.85.",
        (SAID - RIGHT) / (RIGHT - 1 / ANSWERS)),
    Mistake("divided by something else", "Epsilon times the distance of 0.98 from 1/10 is taken away, so divide by "
        "that.",
        (SAID - RIGHT) / (1 - 1 / ANSWERS), (SAID - RIGHT) / RIGHT, (SAID - RIGHT) / (SAID + 1 / ANSWERS)),
    Mistake("near", "That is near. Each of the 10 answers gets epsilon / 10, the likeliest one, too; and three "
        "decimals are needed.",
        0.15, (SAID - RIGHT) / (SAID - 1 / (ANSWERS - 1))),
    Mistake("a temperature", "That is no share: it lies above one.", SAID / RIGHT),
    Mistake("between the two", "That is the middle of confidence and accuracy.", (SAID + RIGHT) / 2),
)  # fmt: skip
