"""Two thirds in eight bits

predict · ★ · 5 min · 05-training/5-small-numbers

A format of eight bits has one for the sign, four for the power of two and three for the digits after the leading one.
As which number is 2/3 stored, rounded to the nearest? (As a decimal number, exact.)

1. Between which two powers of two does 2/3 lie?
2. From 1/2 to 1 there are eight numbers. How far apart are they?
3. Count 2/3 in that spacing, round to a whole number, and go back.

Two thirds are 10.67 steps of 1/16, so 11/16 is stored: wrong by three percent. Formats of eight bits are used for
products all the same, because many such errors in one sum nearly cancel, and each array brings along a scale of
its own.
"""

import math

from attnlib.exercises.engine.model import Mistake

X, M = 2 / 3, 3
WITHIN = 1e-6


def answer():
    step = 2.0 ** (math.frexp(X)[1] - 1 - M)
    return round(X / step) * step


MISTAKES = (
    Mistake("rounded down", "2/3 is 10.67 steps of 1/16. The nearest whole number is above.", math.floor(X * 16) / 16),
    Mistake("more than three digits", "That has more than three digits after the leading one.",
        round(X * 32) / 32, round(X * 64) / 64, round(X * 128) / 128),
    Mistake("one digit", "That has one digit after the leading one. There are three.", round(X * 4) / 4),
    Mistake("the next power of two", "That is a power of two, without digits.",
        1.0, 0.5),
    Mistake("the smallest spacing", "That is a multiple of 2^-9, the spacing of the smallest numbers. At 2/3 they are "
        "further apart.", round(X * 512) / 512),
    Mistake("as it is", "2/3 has no end in binary digits, so no format holds it. The digits are binary: halves, "
        "quarters and eighths.",
        X, 0.66667, 0.6667, 0.6666, 0.667, 0.666, 0.67, 0.66),
    Mistake("the power of two is forgotten", "These are the leading one and its digits. The power of two halves them.",
        11 / 8),
    Mistake("the digits alone", "These are the three digits after the leading one, without it.", 3 / 8),
    Mistake("the error", "That is how far the stored number lies from 2/3.",
        X - 11 / 16, 11 / 16 - X),
    Mistake("the spacing", "That is the spacing at 2/3. Which multiple of it is nearest?", 1 / 16),
    Mistake("how many steps", "So many steps of 1/16. What number is that?", 11),
)  # fmt: skip
