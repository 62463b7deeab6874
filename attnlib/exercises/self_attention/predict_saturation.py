"""What a sure row still learns

predict · ★★ · 4 min · 02-self-attention/8-slopes-and-saturation

A row of weights is sure of one key, with weight 0.99. The derivative of that weight with respect to its own score is p
(1 - p). How many times smaller is it than at the point where it is largest? Give the nearest whole number.

1. Where is p (1 - p) largest, and how large is it there?
2. It is largest in the middle between 0 and 1.
3. Divide one quarter by 0.99 times 0.01.

At 0.99 the derivative has shrunk by a factor of 25, at 0.9999 by 2500. Sureness and learning are opposites
in a softmax, which is why scores are kept small at the start.
"""

from attnlib.exercises.engine.model import Mistake

WEIGHT = 0.99


def answer():
    return 0.25 / (WEIGHT * (1 - WEIGHT))


WITHIN = 0.3
MISTAKES = (
    Mistake("less than one", "It shrank, so the answer is larger than one: the largest derivative over the one at "
        "0.99.",
        WEIGHT * (1 - WEIGHT), WEIGHT * (1 - WEIGHT) / 0.25),
    Mistake("one hundred times", "That is 1 / (1 - p). Compare with the largest value of p (1 - p).", 100.0),
    Mistake("compared with one", "p (1 - p) is never one; its largest value is a quarter.",
        1 / (WEIGHT * (1 - WEIGHT))),
    Mistake("compared with a half", "At p = 1/2 the product is a half times a half.",
        0.5 / (WEIGHT * (1 - WEIGHT)), 0.5 / (1 - WEIGHT)),
    Mistake("p over 1 - p", "That compares the weight with what is left of the row. Compare the derivative with its "
        "largest value.", WEIGHT / (1 - WEIGHT)),
)  # fmt: skip
