"""A pair that is missed

predict · ★ · 5 min · 05-training/14-what-to-train-on

A pipeline takes 112 minima of each text, in 14 bands of 8 rows, and calls two texts duplicates if a band is equal. Two
texts have three quarters of their shingles in common (Jaccard similarity 0.75). With which probability is this pair
missed? Two decimals.

1. With which probability is one band equal?
2. With which probability is none of 14 equal?
3. (1 - 0.75^8)^14.

So about one such pair in four is missed, and the curve is steep there: at 0.8 it is one in thirteen. A setting is often
named by one similarity, "75 %", but it has no sharp border.
"""

from attnlib.exercises.engine.model import Mistake

S, BANDS, ROWS = 0.75, 14, 8


def answer():
    return (1 - S**ROWS) ** BANDS


WITHIN = 0.006
MISTAKES = (
    Mistake("found, not missed", "That is the probability that the pair is found.", 1 - (1 - S**ROWS) ** BANDS),
    Mistake("one band", "That is for a single band. There are 14, and one equal band is enough.", 1 - S**ROWS),
    Mistake("one equal band", "That is the probability that one given band is equal.", S**ROWS),
    Mistake("the similarity", "That would be one minimum that differs. A band needs 8 that agree, and there are 14.",
        1 - S),
    Mistake("rows and bands exchanged", "A band has 8 rows, and there are 14 bands, not the other way round.",
        (1 - S**BANDS) ** ROWS),
    Mistake("all minima", "It is enough that one band is equal; not all 112 minima have to be.",
        1 - S ** (BANDS * ROWS)),
    Mistake("above the named border", "0.75 is where the curve is steep, not where it jumps from 0 to 1.", 0.0),
    Mistake("a half", "The curve passes one half at a smaller similarity.", 0.5),
)  # fmt: skip
