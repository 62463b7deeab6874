"""By how much must a cosine be multiplied?

predict · ★★ · 6 min · 01-foundations/5-scoring-functions

A query points exactly where one of ten keys points. The nine others point elsewhere, each with the cosine 0.6. By
which number must the cosines be multiplied so that a softmax gives the right key nine tenths of the weight? Give it to
one decimal.

1. What is the weight of the right key, as a function of the factor?
2. Divide above and below by the exponential of its score. Only the gap between the scores is left.
3. The gap is four tenths of the factor. Nine times its exponential with a minus has to be one ninth.

Gaps count, not sizes, and the sharpness grows with the logarithm of the number of keys. A factor that is right for
ten keys is too small for a thousand, and so it is often learned.
"""

import math

from attnlib.exercises.engine.model import Mistake

OTHERS, SHARE, GAP = 9, 0.9, 0.4


def answer():
    return math.log(OTHERS * SHARE / (1 - SHARE)) / GAP


WITHIN = 0.05
MISTAKES = (
    Mistake("others at right angles", "The others have the cosine 0.6, not 0, so the gap is smaller.",
        math.log(OTHERS * SHARE / (1 - SHARE))),
    Mistake("ten others", "There are nine other keys; the right one is the tenth.",
        math.log((OTHERS + 1) * SHARE / (1 - SHARE)) / GAP),
    Mistake("one other", "That would do against one other key. There are nine.", math.log(SHARE / (1 - SHARE)) / GAP),
    Mistake("logarithm to base ten", "A softmax takes powers of e, so its inverse is the natural logarithm.",
        math.log10(OTHERS * SHARE / (1 - SHARE)) / GAP),
    Mistake("the gap multiplied", "The gap is the factor times 0.4, so what is wanted has to be divided by 0.4.",
        math.log(OTHERS * SHARE / (1 - SHARE)) * GAP),
    Mistake("the exponential alone", "That is what the exponential of the gap has to be; the factor is inside the "
        "exponent.", OTHERS * SHARE / (1 - SHARE)),
)  # fmt: skip
