r"""What is left of the first word?

predict · ★ · 3 min · 01-foundations/1-the-bottleneck

A state keeps 0.9 of itself at every step: $h_t = 0.9 \, h_{t-1} + x_t$. The share of the first input that
is still in the state 99 steps later is $10^x$. What is $x$, to two decimals?

1. By which factor is the first input's share multiplied at one step, and by which after two?
2. A product of equal factors is a power, and the logarithm turns it into a multiplication.
3. Multiply 99 by the logarithm to base 10 of 0.9, and mind its sign.

Not even a thirty-thousandth is left. The gradient on its way back is multiplied by the same factors, so the
first word hardly teaches the network anything.
"""

import math

from attnlib.exercises.engine.model import Mistake

KEPT, STEPS = 0.9, 99


def answer():
    return STEPS * math.log10(KEPT)


WITHIN = 0.02
MISTAKES = (
    Mistake("the sign", "A share below one is a negative power of ten.", -STEPS * math.log10(KEPT)),
    Mistake("natural logarithm", "That is the power of e; the power of ten was wanted.", STEPS * math.log(KEPT)),
    Mistake("logarithm to base 2", "That is the power of 2; the power of ten was wanted.", STEPS * math.log2(KEPT)),
    Mistake("one step too many", "Between the first input and 99 steps later there are no more than 99 factors.",
        (STEPS + 1) * math.log10(KEPT)),
    Mistake("the share", "That is the share itself; $x$ is the power of ten that gives it.", KEPT**STEPS),
    Mistake("a tenth is kept", "That would be right if a tenth were kept at each step; here a tenth is lost.",
        STEPS * math.log10(1 - KEPT)),
)  # fmt: skip
