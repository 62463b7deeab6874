"""A first loss that is too high

predict · ★ · 5 min · 05-training/3-how-fast

A GPT has the width 256 and a vocabulary of 5,000 tokens. After its last norm each vector has mean zero and
variance one, and the weights of the output matrix are drawn with the standard deviation 0.05, independently.
Which loss, in nats, do you expect for the first batch, to two decimals?

1. With scores that are all alike it would be the logarithm of how many tokens?
2. A score is a sum of 256 products. What is its variance?
3. Add half of that variance to the logarithm.

The squared length of each vector is 256, so a score has the variance 256 · 0.05² = 0.64, and costs 0.32 above
log 5,000. If the first loss were 12 instead, you would look for an output matrix that was drawn too large, or a
norm that is missing.
"""

import math

from attnlib.exercises.engine.model import Mistake

WIDTH, TOKENS, SPREAD = 256, 5000, 0.05
WITHIN = 0.006


def answer():
    return math.log(TOKENS) + WIDTH * SPREAD**2 / 2


MISTAKES = (
    Mistake("scores that are all alike", "That is the loss if all scores are the same. These differ a little, and "
        "that costs a little.", math.log(TOKENS)),
    Mistake("the whole variance", "Half of the variance is added.", math.log(TOKENS) + WIDTH * SPREAD**2),
    Mistake("half the standard deviation", "Half of the variance is added, which is the square of the standard "
        "deviation.", math.log(TOKENS) + math.sqrt(WIDTH) * SPREAD / 2),
    Mistake("the standard deviation", "Half of the variance is added, and this is the standard deviation itself.",
        math.log(TOKENS) + math.sqrt(WIDTH) * SPREAD),
    Mistake("in bits, not nats", "Give nats: natural logarithms.",
        (math.log(TOKENS) + WIDTH * SPREAD**2 / 2) / math.log(2)),
    Mistake("half the variance is taken away", "Random scores raise the loss: half of the variance is added.",
        math.log(TOKENS) - WIDTH * SPREAD**2 / 2),
    Mistake("the variance alone", "The cost of the scores is added to the loss of equal scores.",
        WIDTH * SPREAD**2 / 2),
    Mistake("the root of the width", "The variance of a sum of 256 products is 256 times that of one.",
        math.log(TOKENS) + math.sqrt(WIDTH) * SPREAD**2 / 2),
    Mistake("the width for the tokens", "The prediction is among 5,000 tokens; 256 is the width of the vectors.",
        math.log(WIDTH) + WIDTH * SPREAD**2 / 2),
    Mistake("a logarithm to ten", "Nats are natural logarithms.",
        math.log10(TOKENS) + WIDTH * SPREAD**2 / 2, (math.log(TOKENS) + WIDTH * SPREAD**2 / 2) / math.log(10)),
    Mistake("a perplexity", "That is the perplexity, the exponential of the loss.",
        TOKENS * math.exp(WIDTH * SPREAD**2 / 2), TOKENS),
    Mistake("standard deviations added", "Of independent numbers the variances are added, and 0.05 is a standard "
        "deviation.",
        math.log(TOKENS) + WIDTH * SPREAD / 2, math.log(TOKENS) + WIDTH * SPREAD),
)  # fmt: skip
