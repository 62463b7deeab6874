"""Which fault is it?

predict · ★ · 5 min · 05-training/10-when-training-goes-wrong

A GPT reads rows of 64 words, and all rows are full. Its table of scores is its own, not the embedding's, and a word of
this text costs 3.4 nats in earlier trainings. The first loss was log V. After 2,000 steps the loop prints 0.3, on
sentences held out as well. At the last place of a row alone the held-out loss is 3.9, at the place before it 0.2.
Which fault explains all of this?

1. Three of the four make a printed loss too small. At which places?
2. What does the last place of a row lack that all others have?
3. Who looks at the word to its right finds none behind the last place.

At the last place nothing stands to the right, so there the model has to foretell, as it will have to in use. Without
the shift, the last place would be as easy as the others. Padding would not be asked for in full rows. One loss for each
place costs nothing, and tells more than the mean of them.
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
    Mistake("no shift", "Then the answer stands at the place itself, at the last one as well.", CHOICES[1]),
    Mistake("padding", "Padding makes a mean small, not the loss at a place. And full rows have none.", CHOICES[2]),
    Mistake("the same batches", "Then sentences held out would cost more than those that are trained on.", CHOICES[3]),
)  # fmt: skip
