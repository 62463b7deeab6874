"""How many texts fit?

predict · ★★ · 6 min · 04-transformer/9-what-it-costs

A model has 8 billion parameters, 32 layers, and in each of them 32 heads of 128 numbers for queries and 8 heads of
128 numbers for keys and values. A GPU has 80 GB (80 · 10⁹ bytes), and every number takes 2 bytes. The parameters
are in its memory. For how many texts of 8,192 tokens is there room for the caches?

1. How many bytes do the parameters leave free?
2. One token leaves, in each layer, a key and a value for each head of keys and values.
3. Multiply for one text; divide what is free by it, and round down.

Heads share keys and values for this reason: with 32 heads of keys and values a quarter as many texts would fit, and
each step would read four times as many bytes of cache.
"""

from attnlib.exercises.engine.model import Mistake

MEMORY, PARAMETERS, LAYERS, HEADS, KV_HEADS, WIDTH, TOKENS, BYTES = 80e9, 8e9, 32, 32, 8, 128, 8192, 2


def answer():
    free = MEMORY - BYTES * PARAMETERS
    return int(free // (2 * LAYERS * KV_HEADS * WIDTH * TOKENS * BYTES))


WITHIN = 0.5
MISTAKES = (
    Mistake("heads of queries", "Queries are used once and not kept. Count the heads of keys and values.",
        (MEMORY - BYTES * PARAMETERS) // (2 * LAYERS * HEADS * WIDTH * TOKENS * BYTES)),
    Mistake("half a cache", "A token leaves a key *and* a value, of two bytes a number. This is the count without one "
        "of these twos.", (MEMORY - BYTES * PARAMETERS) // (LAYERS * KV_HEADS * WIDTH * TOKENS * BYTES)),
    Mistake("one layer only", "Every layer keeps its own keys and values.",
        (MEMORY - BYTES * PARAMETERS) // (2 * KV_HEADS * WIDTH * TOKENS * BYTES)),
    Mistake("the memory of the parameters is forgotten",
        "The parameters are in the same memory: they leave less than 80 GB free.",
        MEMORY // (2 * LAYERS * KV_HEADS * WIDTH * TOKENS * BYTES)),
    Mistake("a byte for each parameter", "Two bytes for each of 8 billion parameters are 16 GB.",
        (MEMORY - PARAMETERS) // (2 * LAYERS * KV_HEADS * WIDTH * TOKENS * BYTES)),
    Mistake("one head only", "Every head of keys and values keeps its own.",
        (MEMORY - BYTES * PARAMETERS) // (2 * LAYERS * WIDTH * TOKENS * BYTES)),
    Mistake("rounded up", "The last text would not fit as a whole.",
        (MEMORY - BYTES * PARAMETERS) // (2 * LAYERS * KV_HEADS * WIDTH * TOKENS * BYTES) + 1),
)  # fmt: skip
