"""Which memory was that?

predict · ★ · 4 min · 03-multi-head/3-memory

A team trains a model of 32 heads with the plain program, which keeps all attention weights for the backward pass. To
have room for texts three times as long, the 32 heads now share the keys and values of 8. Then it trains on the long
texts. By which factor does the memory of the attention weights change? (1 would mean no change.)

1. Which of the two kinds of memory does training need?
2. Does the number of key heads appear in it?
3. How does it grow with the length of a text?

The tables grow ninefold, as if nothing had been shared; each of the 32 heads still has its own. What sharing pays for
is the cache of a model that writes: with both changes it has three quarters of its size.
"""

from attnlib.exercises.engine.model import Mistake

LONGER, HEADS, KV_HEADS = 3, 32, 8


def answer():
    return float(LONGER**2)


MISTAKES = (
    Mistake("the sharing was paid out", "Each query head keeps a table of its own, however many share its keys.",
        LONGER**2 * KV_HEADS / HEADS),
    Mistake("the cache", "That is the cache, n times g. The weights are n² for each query head.",
        LONGER * KV_HEADS / HEADS),
    Mistake("linear in the text", "The fused operator would keep so much. The plain program keeps a number for each "
        "pair of tokens.", LONGER),
    Mistake("the wrong way round", "It becomes more, not less.",
        1 / LONGER**2, KV_HEADS / HEADS),
)  # fmt: skip
