"""One score rises by ln 2

predict · ★ · 3 min · 01-foundations/4-softmax-and-scale

Three scores are equal. Then the first one is raised by ln 2. What is its weight now?

1. By what factor does the first exponential grow?
2. The exponentials are in the ratio 2 to 1 to 1.
3. Divide the first by the sum of all three.

A difference of scores is a ratio of weights: ln 2 more means twice the weight of each other key.
"""

import math

from attnlib.exercises.engine.model import Mistake


def answer():
    return math.exp(math.log(2)) / (math.exp(math.log(2)) + 2)


WITHIN = 0.004
MISTAKES = (
    Mistake("twice its old weight", "Doubling 1/3 forgets that the sum grows too.", 2 / 3),
    Mistake("unchanged", "Only the same number added to all scores changes nothing.", 1 / 3),
    Mistake("ln 2 added to the weight", "Scores are added to, weights are not.", 1 / 3 + math.log(2)),
    Mistake("weights in the ratio of the scores", "The softmax takes the exponential of each score first.",
        (1 + math.log(2)) / (3 + math.log(2))),
)  # fmt: skip
