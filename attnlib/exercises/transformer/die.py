"""The loss on throws of a die

predict · ★★ · 5 min · 04-transformer/4-a-gpt-in-one-sitting

The tokens of a text are throws of a fair die with six faces. A GPT is trained on windows of 8 tokens and predicts the
next throw at each of the 8 positions. But its causal mask is missing. Which loss, in nats and as a mean over the 8
positions, is the least that it can reach? Give it to two decimals.

1. What is the least loss at one position if nothing is known of the next throw?
2. Without the mask each position sees the whole window. For how many of the 8 is the next throw in it?
3. The target of the last position is the token after the window, which no position has read.

Seven positions read their answer, the last one must guess: ln 6 / 8 = 0.22. With the mask no model gets below ln 6 =
1.79. Data whose lowest loss is known is a good test of a training loop: a loss below it shows a leak.
"""

import math

from attnlib.exercises.engine.model import Mistake

WINDOW, FACES = 8, 6


def answer():
    return math.log(FACES) / WINDOW


WITHIN = 0.005
MISTAKES = (
    Mistake("nothing is left", "Seven of the eight read their answer. The target of the last one is after the window.",
        0.0),
    Mistake("as with the mask", "That is the least with the mask. Without it a position sees the next throw, if it is "
        "in the window.", math.log(6)),
    Mistake("in bits", "This is the loss in bits. In nats the logarithm is the natural one.", math.log2(6) / 8),
    Mistake("seven positions guess", "It is the other way round: seven read their answer, and one guesses.",
        7 * math.log(6) / 8),
    Mistake("one in six", "Guessing right has the probability 1/6; the loss of a guess is its logarithm, with a minus.",
        1 / 48),
    Mistake("a mean over seven", "The mean is over all eight positions.", math.log(6) / 7),
)  # fmt: skip
