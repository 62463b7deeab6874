"""Everything given twice

predict · ★ · 4 min · 02-self-attention/2-permutation

A layer without a mask and without positions reads a sentence of four words, and then the same sentence written twice
in a row, eight words. What becomes of the output of the first word?

1. How many copies of each key are there now, and how do their scores compare?
2. The sum below the fraction doubles. What happens to the sum above it?
3. Each weight is halved, and each value comes twice.

The layer is a function of a bag in which it counts *shares*, not pieces. One word given twice moves the others, because
its share grows; everything given twice moves no word.
"""

from attnlib.exercises.engine.model import Mistake

CHOICES = (
    "it does not change",
    "it is halved",
    "it is doubled",
    "it moves towards the mean of all words",
)


def answer():
    return CHOICES[0]


CHOICES = CHOICES
MISTAKES = (
    Mistake("each weight is halved", "That is right, and every value is there twice: two halves are the whole.",
        CHOICES[1]),
    Mistake("each value is there twice", "That is right, and each copy gets half of the weight: the row still sums to "
        "one.", CHOICES[2]),
    Mistake("more keys, flatter weights", "Twice as many keys share the weight, but the ratios between different "
        "words are what they were.", CHOICES[3]),
)  # fmt: skip
