"""How many layers until they meet?

predict · ★ · 4 min · 06-efficient-attention/1-who-attends-to-whom

In every layer of a causal model each token attends to itself and to the 15 tokens before it. A text has 1,000 tokens.
How many layers must the model have at least, so that the output at the last token can depend on the first token?

1. How many tokens further back does one more layer reach?
2. The first token lies 999 tokens before the last one.
3. Divide, and round up: a part of a layer does not exist.

Real models have far wider windows, and some layers without one: a single layer that attends to everything is one hop.
"""

import math

from attnlib.exercises.engine.model import Mistake

N, BEFORE = 1000, 15


def answer():
    return math.ceil((N - 1) / BEFORE)


WITHIN = 0.01
MISTAKES = (
    Mistake("the token itself is counted", "A window of 16 tokens reaches only 15 tokens back: one of them is the "
        "token itself.", math.ceil(N / (BEFORE + 1)), (N - 1) / (BEFORE + 1), N / (BEFORE + 1), N // (BEFORE + 1)),
    Mistake("rounded down", "After so many layers the first token is still out of reach.", (N - 1) // BEFORE),
    Mistake("a part of a layer", "A model has a whole number of layers.", (N - 1) / BEFORE, N / BEFORE),
    Mistake("one layer more", "The first layer reaches 15 tokens back already.", math.ceil((N - 1) / BEFORE) + 1),
    Mistake("each layer doubles the reach", "The second layer adds as many tokens as the first.",
        math.ceil(math.log2(N / BEFORE)), math.ceil(math.log2(N / BEFORE)) + 1, math.ceil(math.log2(N))),
    Mistake("each layer multiplies the reach", "One more layer adds 15 tokens to the reach. It does not multiply it.",
        math.ceil(math.log(N, BEFORE + 1)), math.log(N, BEFORE + 1), math.log(N, BEFORE)),
    Mistake("one token for each layer", "Each layer reaches 15 tokens further back, and not one.", N - 1, N),
    Mistake("tokens, not layers", "So many tokens lie beyond the reach of one layer. The question is how many layers "
        "reach them.", N - BEFORE, N - 1 - BEFORE),
    Mistake("one layer is enough", "In one layer the last token gets nothing from tokens further back than 15.", 1),
)  # fmt: skip
