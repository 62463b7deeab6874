"""A staircase of slopes

predict · ★ · 5 min · 05-training/8-a-transformer-in-numpy-trained

A loss of about 3 is computed in float32, where neighbouring numbers between 2 and 4 are 2 to the power -22 apart. A
slope is measured by a central difference with the step 0.00001. Both losses are rounded to float32, so only some slopes
can come out: a staircase. How many stairs does it have between the slope 0 and the slope 1? (To the nearest number.)

1. The difference of two losses is a whole multiple of what?
2. It is divided by twice the step.
3. That is how high one stair is; one divided by it is how many there are.

A slope of 0.005 would come out as 0 or as 0.012, and neither says that a formula is wrong. A hundred times the step
has a hundred times as many stairs, but then the curve bends on the way. That is why slopes are checked in float64.
"""

from attnlib.exercises.engine.model import Mistake

STEP = 0.00001


def answer():
    return 1 / (2**-22 / (2 * STEP))


WITHIN = 0.6
MISTAKES = (
    Mistake("the step once", "Between the two losses the number has moved by twice the step.", STEP / 2**-22),
    Mistake("the spacing at one", "Between 2 and 4 the spacing is 2 to the power -22; between 1 and 2 it is half of "
        "that.", 2 * STEP / 2**-23),
    Mistake("the height of a stair", "That is how high one stair is. Asked is how many there are between 0 and 1.",
        2**-22 / (2 * STEP)),
    Mistake("the losses alone", "So many float32 numbers lie between two losses that are 1 apart. A slope is their "
        "difference divided by what was moved.", 2**22),
    Mistake("the spacing of float64", "That is the staircase in float64, which is too fine to be seen.",
        2 * STEP / 2**-51),
    Mistake("to the wrong side", "The nearest whole number is asked for.",
        83, 85),
    Mistake("a step ten times as long", "The step is 0.00001.",
        20 * STEP / 2**-22, 0.2 * STEP / 2**-22),
    Mistake("without the spacing", "That has the step alone in it. How high a stair is depends on the spacing of the "
        "losses.",
        1 / STEP, 0.5 / STEP),
    Mistake("times the loss", "The loss decides how far neighbouring numbers are apart, and comes in nowhere else.",
        6 * STEP / 2**-22, 2 * STEP / 2**-22 / 3),
)  # fmt: skip
