"""The cost of a text that grows

predict · ★★ · 6 min · 01-foundations/5-scoring-functions

A text of 1,000 tokens is written one token after the other. Each token's query gets an additive score with
every key so far, its own included. Queries and keys have 128 numbers, the hidden layer 32, and mapped keys are
kept. How many multiply-adds do all scores take together?

1. How often is each query mapped, and how often each key?
2. The first query meets one key, the last one a thousand. How many pairs are there?
3. Each token maps a query and a key, 128 times 32 each. Each of the 1000 · 1001 / 2 pairs costs 32.

Without the kept keys, mapping alone would cost 1000 · 1001 / 2 maps of keys: two billion in place of eight million.
"""

from attnlib.exercises.engine.model import Mistake

TOKENS, WIDTH, HIDDEN = 1000, 128, 32
PAIRS = TOKENS * (TOKENS + 1) // 2


def answer():
    return TOKENS * 2 * WIDTH * HIDDEN + PAIRS * HIDDEN


WITHIN = 0.5
MISTAKES = (
    Mistake("keys mapped anew", "That maps all keys again at every step. Mapped keys are kept, so each is mapped once.",
        TOKENS * WIDTH * HIDDEN + PAIRS * WIDTH * HIDDEN + PAIRS * HIDDEN),
    Mistake("all pairs", "A query meets the keys so far, not those that come later.",
        TOKENS * 2 * WIDTH * HIDDEN + TOKENS**2 * HIDDEN),
    Mistake("without its own key", "Each query meets its own key, too.",
        TOKENS * 2 * WIDTH * HIDDEN + (PAIRS - TOKENS) * HIDDEN),
    Mistake("without the pairs", "Those are the maps alone. Each pair costs one product for every hidden number.",
        TOKENS * 2 * WIDTH * HIDDEN),
    Mistake("without the maps", "Those are the pairs alone. Each token brings a query and a key to map.",
        PAIRS * HIDDEN),
    Mistake("one map for each token", "Each token brings two vectors to map, its query and its key.",
        TOKENS * WIDTH * HIDDEN + PAIRS * HIDDEN),
    Mistake("a dot product of the whole width", "After the maps the vectors have 32 numbers, and a pair costs 32.",
        TOKENS * 2 * WIDTH * HIDDEN + PAIRS * WIDTH),
    Mistake("the last step", "That is the cost of the last token alone.", 2 * WIDTH * HIDDEN + TOKENS * HIDDEN),
)  # fmt: skip
