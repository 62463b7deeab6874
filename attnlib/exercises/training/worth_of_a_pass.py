"""When is another pass not worth it?

predict · ★★ · 6 min · 05-training/7-compute-data-size

Take the rule of the page for text that is read again: U tokens read in 1 + R passes are worth as much as
U + U r (1 - exp(-R / r)) fresh ones, with r = 15.4. R need not be a whole number. After how many passes in all
is one more token worth a third of a fresh one? (One more token: the derivative with respect to the tokens read.)

1. How does the worth change when R grows a little?
2. Its derivative with respect to the tokens read, U R, is exp(-R / r).
3. Set exp(-R / r) to a third, solve for R, and do not forget the first pass.

At the fourth pass a token is still worth more than four fifths of a fresh one. The constant was fitted to models of at
most nine billion parameters; larger ones, which learn a text by heart sooner, may have a smaller one.
"""

import math

from attnlib.exercises.engine.model import Mistake

LASTS, WORTH = 15.4, 1 / 3


def repeats(of_all=False):
    """Where what was read again, or all together, is worth a third on average: R = (what it is worth) / (1 / 3)."""
    R = LASTS
    for _ in range(200):
        R = (LASTS * (1 - math.exp(-R / LASTS)) + of_all) / WORTH - of_all
    return R


def answer():
    return 1 + LASTS * math.log(1 / WORTH)


WITHIN = 0.1
MISTAKES = (
    Mistake("the first pass is forgotten", "R counts the passes after the first.", LASTS * math.log(1 / WORTH)),
    Mistake("all passes together", "On average all that was read is then worth a third of what it would be if it were "
        "fresh. The question is about the *next* token.", repeats(), 1 + repeats(), 1 + repeats(of_all=True)),
    Mistake("a third is left of the worth", "1 - exp(-R / r) is how much of the worth has been had. The worth of the "
        "next token is exp(-R / r).", 1 + LASTS * math.log(1 / (1 - WORTH))),
    Mistake("the first pass is forgotten, too", "The worth of the next token is exp(-R / r); and R counts the passes "
        "after the first.", LASTS * math.log(1 / (1 - WORTH))),
    Mistake("another base", "The logarithm belongs to the exponential: to the base e.",
        1 + LASTS * math.log10(1 / WORTH), LASTS * math.log10(1 / WORTH),
        1 + LASTS * math.log2(1 / WORTH), LASTS * math.log2(1 / WORTH)),
    Mistake("a third of the constant", "The worth falls as an exponential, not in proportion.",
        1 + LASTS * (1 - WORTH), LASTS * (1 - WORTH)),
    Mistake("three times the constant", "The worth falls by a factor of e in r passes, so to a third in r ln 3.",
        3 * LASTS, 1 + 3 * LASTS),
    Mistake("the constant", "After r passes the worth is 1 / e, which is more than a third.", LASTS, 1 + LASTS),
    Mistake("a negative number", "The logarithm of a third is negative: exp(-R / r) has a minus, too.",
        LASTS * math.log(WORTH), 1 + LASTS * math.log(WORTH)),
)  # fmt: skip
