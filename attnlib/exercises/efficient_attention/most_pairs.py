"""More than this cannot be recalled

predict · ★ · 5 min · 06-efficient-attention/3-what-a-state-can-keep

The state of one head has 64 rows and 64 columns of numbers with 16 bits each. The keys are known beforehand and need
not be kept. Each value is one of 4,096 words. What is the largest number of pairs for which all values can still be
recalled, whatever they are?

1. How many bits has the state, and how many different states are there?
2. How many different sequences of n words are there? Each of them needs a state of its own.
3. A word has log2(4,096) = 12 bits.

Memories that add up pairs stay far below this: it is the limit of any way to write and read.
"""

import math

from attnlib.exercises.engine.model import Mistake

NUMBERS, BITS, WORDS = 64 * 64, 16, 4096


def answer():
    return math.floor(NUMBERS * BITS / math.log2(WORDS))


WITHIN = 0.4
MISTAKES = (
    Mistake("one pair for each row", "So many pairs with perpendicular keys a sum can return exactly. A word needs "
        "less than exact numbers.", 64),
    Mistake("one pair for each number", "A number of 16 bits can tell more words apart than 4,096.", NUMBERS),
    Mistake("the words are counted, not their bits", "A word is one of 4,096: that takes 12 bits, not 4,096.",
        NUMBERS * BITS / WORDS),
    Mistake("one bit for each word", "One bit tells two words apart. A word of 4,096 has 12 bits.", NUMBERS * BITS),
    Mistake("natural logarithm", "A bit tells two states apart, so the logarithm has base 2.",
        NUMBERS * BITS / math.log(WORDS), math.floor(NUMBERS * BITS / math.log(WORDS))),
    Mistake("rounded up", "With one pair more the state has too few bits.",
        math.ceil(NUMBERS * BITS / math.log2(WORDS))),
    Mistake("one bit for each number", "Each number has 16 bits.", NUMBERS / math.log2(WORDS), NUMBERS // 12),
    Mistake("the keys are kept, too", "The keys are known beforehand, so they need no bits of the state.",
        NUMBERS * BITS / math.log2(WORDS) / 2, NUMBERS * BITS // 24),
    Mistake("one row of the state", "The state has 64 rows, and each of them has 64 numbers.",
        64 * BITS / math.log2(WORDS), 64 * BITS // 12),
    Mistake("13 bits for a word", "4,096 words have the numbers 0 to 4,095: the largest has twelve binary digits.",
        NUMBERS * BITS / 13, NUMBERS * BITS // 13),
    Mistake("bytes for bits", "The numbers have 16 bits each, which are 2 bytes. A word has 12 bits.",
        NUMBERS * 2 / math.log2(WORDS), math.floor(NUMBERS * 2 / math.log2(WORDS))),
)  # fmt: skip
