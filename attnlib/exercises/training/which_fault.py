"""Which fault is it?

predict · ★ · 5 min · 05-training/11-when-training-goes-wrong

A GPT reads rows of 64 words, and all rows are full. Its output matrix is not tied to its embedding, and earlier
trainings on this text ended at a loss of 3.4 nats per word. The first loss was log V. After 2,000 steps the loop
prints 0.3, on held-out sentences as well. At the last position of a row the held-out loss is 3.9, at the position
before it 0.2. Which fault explains all of this?

1. Three of the four make a printed loss too small. At which positions?
2. What does the last position of a row lack that all others have?
3. A position that attends to the word on its right finds none at the end of the row.

At the last position there is no word on the right, so there the model has to predict, as in use. Without the shift,
the last position would be as easy as the others. Full rows have no padding. The loss at each position costs nothing
more, and shows more than their mean.
"""

from attnlib.exercises.engine.model import Mistake

CHOICES = (
    "the scores see the words behind them: no mask",
    "the target is the input: no shift",
    "padding counts in the mean",
    "the same batches come again and again",
)


def answer():
    return CHOICES[0]


CHOICES = CHOICES
MISTAKES = (
    Mistake("no shift", "Then the input at each position is the answer, at the last one as well.", CHOICES[1]),
    Mistake("padding", "Padding makes a mean small, not the loss at a position. And full rows have none.", CHOICES[2]),
    Mistake("the same batches", "Then the held-out loss would be larger than that on the training sentences.",
        CHOICES[3]),
)  # fmt: skip
