r"""How much could one vector hold?

predict · ★ · 4 min · 01-foundations/1-the-bottleneck

A state has 64 numbers of 32 bits each. Suppose that every bit could be used. How many digits from 0 to 9, each
equally likely, could it hold at most? Give a whole number.

1. How many bits does the state have, and how many different states are there?
2. n digits can be one of $10^n$ rows, and each needs a state of its own.
3. Divide the bits of the state by the bits of a digit, the logarithm of 10 to base 2, and round down.

Hundreds, while the small trained models of this chapter begin to fail at a dozen. So the bits do not run out: what is
hard is to learn how to pack them, and how to find each digit again when its turn comes.
"""

import math

from attnlib.exercises.engine.model import Mistake

NUMBERS, BITS, DIGITS = 64, 32, 10


def answer():
    return math.floor(NUMBERS * BITS / math.log2(DIGITS))


WITHIN = 0
MISTAKES = (
    Mistake("four bits a digit", "Four bits have sixteen values; a digit has ten, so it takes a little less.",
        NUMBERS * BITS // 4),
    Mistake("a digit a number", "That is one digit for each number of the state; but one number of 32 bits has "
        "billions of values.", NUMBERS),
    Mistake("ten bits a digit", "Ten is the number of digits; the bits that ten values need are its logarithm to base "
        "2.", NUMBERS * BITS // DIGITS),
    Mistake("natural logarithm", "Bits are counted with the logarithm to base 2; this is the natural one.",
        math.floor(NUMBERS * BITS / math.log(DIGITS))),
    Mistake("all bits", "That is the number of bits; a digit takes more than one of them.", NUMBERS * BITS),
    Mistake("bits of one number", "That is what one number of the state holds; there are 64 of them.",
        math.floor(BITS / math.log2(DIGITS))),
    Mistake("multiplied by the bits of a digit", "Each digit takes some bits, so there are fewer digits than bits: "
        "divide.", NUMBERS * BITS * math.log2(DIGITS), math.floor(NUMBERS * BITS * math.log2(DIGITS))),
    Mistake("whole digits in each number", "So many fit when each of the 64 numbers holds its own. The bits that are "
        "left over in each of them can be used together.", NUMBERS * math.floor(BITS / math.log2(DIGITS))),
    Mistake("rounded up", "One more does not fit any more.", math.ceil(NUMBERS * BITS / math.log2(DIGITS))),
)  # fmt: skip
