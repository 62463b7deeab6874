"""A gradient in coarse steps

predict · ★ · 5 min · 05-training/9-a-transformer-in-numpy-trained

A loss of about 3 is computed in float32, where neighbouring numbers between 2 and 4 are 2 to the power -22 apart. A
derivative is measured by a central difference with the step 0.00001. Both losses are rounded to float32, so the result
can only be a multiple of some smallest value. How many times does this smallest value fit into 1? (To the nearest
whole number.)

1. The difference of two losses is a whole multiple of what?
2. It is divided by twice the step.
3. That is the smallest value; divide one by it.

A derivative of 0.005 comes out as 0 or as 0.012, and neither shows that a formula is wrong. A step a hundred times as
long gives values a hundred times as fine, but then the curvature of the loss adds an error. So gradients are checked
in float64.
"""

from attnlib.exercises.engine.model import Mistake

STEP = 0.00001


def answer():
    return 1 / (2**-22 / (2 * STEP))


WITHIN = 0.6
MISTAKES = (
    Mistake("the step once", "Between the two losses the number has changed by twice the step.", STEP / 2**-22),
    Mistake("the spacing at one", "Between 2 and 4 the spacing is 2 to the power -22; between 1 and 2 it is half of "
        "that.", 2 * STEP / 2**-23),
    Mistake("the smallest value", "That is the smallest value. How often does it fit into 1?",
        2**-22 / (2 * STEP)),
    Mistake("the losses alone", "So many float32 numbers lie between two losses that are 1 apart. The derivative is "
        "their difference divided by twice the step.", 2**22),
    Mistake("the spacing of float64", "That is the number in float64.",
        2 * STEP / 2**-51),
    Mistake("to the wrong side", "Give the nearest whole number.",
        83, 85),
    Mistake("a step ten times as long", "The step is 0.00001.",
        20 * STEP / 2**-22, 0.2 * STEP / 2**-22),
    Mistake("without the spacing", "That has the step alone in it. The smallest value depends on the spacing of the "
        "losses, too.",
        1 / STEP, 0.5 / STEP),
    Mistake("times the loss", "The loss decides how far neighbouring numbers are apart, and is not used otherwise.",
        6 * STEP / 2**-22, 2 * STEP / 2**-22 / 3),
)  # fmt: skip
