"""Bits a byte by hand

predict · ★ · 4 min · 04-transformer/15-inside-a-gpt

A text of 8 bytes is cut into 4 tokens. Before it reads each of them, a model gives it the probabilities 1/2, 1/8,
1/4 and 1/16. What does the text cost in bits a byte?

1. How many bits is a probability of 1/8?
2. The bits of all tokens are added.
3. Divide by the bytes, so that models with other tokens can be compared.

A model with other tokens may need more of them, each cheaper. Bits a token would prefer the one with more tokens;
bits a byte do not care how the text was cut.
"""

import math

from attnlib.exercises.engine.model import Mistake

P, BYTES = (1 / 2, 1 / 8, 1 / 4, 1 / 16), 8


def answer():
    return sum(-math.log2(p) for p in P) / BYTES


WITHIN = 0.005
MISTAKES = (
    Mistake("bits a token", "That is the mean over the tokens. The text has eight bytes.",
        sum(-math.log2(p) for p in P) / len(P)),
    Mistake("bits of the text", "That is the cost of the whole text. Divide by its bytes.",
        sum(-math.log2(p) for p in P)),
    Mistake("nats", "That is in natural logarithms. One bit is a factor of two.",
        sum(-math.log(p) for p in P) / BYTES),
    Mistake("bits of the mean", "That is the surprise of the mean probability, shared out over the tokens' bytes. "
        "Surprises are added, not probabilities.", -math.log2(sum(P) / len(P)) * len(P) / BYTES),
)  # fmt: skip
