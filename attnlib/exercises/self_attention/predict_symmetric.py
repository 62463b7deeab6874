r"""One map for both

predict · ★ · 4 min · 02-self-attention/1-a-sequence-attends-to-itself

Queries and keys share one matrix, $W_Q = W_K$, so *black* scores *cat* exactly as *cat* scores *black*. Must then
the *weights* be alike, $P_{ij} = P_{ji}$?

1. Which step comes between a score and a weight, and whose numbers does it use?
2. Both weights have the same numerator. Have they the same denominator?
3. Try scores (2, 0, 0), (0, 2, 2), (0, 2, 2): a row with fewer large scores gives each of them a larger weight.

The numerators are alike, and each is divided by the sum of its own row. A word with few large scores gives each of
them a larger weight than it gets back.
"""

from attnlib.exercises.engine.model import Mistake

CHOICES = (
    "yes, always",
    "only where both rows have the same sum of exponentials",
    "never, since a softmax is not linear",
    "yes, if the scores are small",
)


def answer():
    return CHOICES[1]


CHOICES = CHOICES
MISTAKES = (
    Mistake("like the scores", "The scores are symmetric. A weight is then divided by the sum of its own row, and two "
        "rows have two sums.", CHOICES[0]),
    Mistake("never", "They are alike if the two sums happen to be: two words alone, each scoring itself as high as "
        "the other does.", CHOICES[2]),
    Mistake("nearly is not equal", "Small scores make all weights nearly even, and so nearly alike; equal they become "
        "only with equal sums.", CHOICES[3]),
)  # fmt: skip
