"""What is left of two numbers?

predict · ★★ · 4 min · 04-transformer/12-norms-depth-and-rank

Layer normalisation, without gain and shift and with an eps too small to matter, is applied to vectors of *two*
different numbers. How many different vectors can it return?

1. Take the mean away. What do you know about the two numbers that are left?
2. They are a and -a. Now divide by the standard deviation.
3. The standard deviation of a and -a is the size of a, so each becomes one or minus one.

All that is left of two numbers is which one is larger. Of d numbers a norm keeps d - 2 degrees of freedom, and for
d = 2 nothing but a sign remains.
"""

import itertools

import numpy as np

from attnlib.exercises.engine.model import Mistake


def answer():
    found = set()
    for pair in itertools.permutations((-3.0, 0.5, 2.0, 10.0), 2):
        x = np.array(pair)
        found.add(tuple(((x - x.mean()) / x.std()).round(9)))
    return len(found)


MISTAKES = (
    Mistake("one", "The larger number may come first or second, and the norm keeps that.", 1),
    Mistake("four", "The mean of the output is zero, so both cannot have the same sign.", 4),
    Mistake("three", "Two equal numbers would give zeros, but the two are different.", 3),
    Mistake("as many as there are vectors", "Multiplying by a number, or adding one, does not change the output. Try "
        "two pairs.", 1000),
)  # fmt: skip
