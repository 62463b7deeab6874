"""When a window is no longer cheap

predict · ★★ · 4 min · 02-self-attention/4-what-it-costs

A layer of self-attention of width 512 with its four projections. Each word looks at 256 words only, those before it.
From how many words on does the mixing (scores and weighted means) cost more multiply-adds than the projections?

1. With a window each word has 256 scores, however long the text is. How does the mixing grow with n?
2. Both costs have a factor n. What is left of each for one word?
3. 2 · 256 · d for the mixing, 4 d² for the projections: compare.

Without a window the square wins at n = 2 d. With a window of r words both costs are linear in n, and their ratio is
r / 2 d at every length: here a quarter.
"""

from attnlib.exercises.engine.model import Mistake

CHOICES = ("from 256 words on", "from 1,024 words on", "from 4,096 words on", "never")


def answer():
    return CHOICES[3]


CHOICES = CHOICES
MISTAKES = (
    Mistake("where the window is full", "From there on each word has 256 scores and no more. What do they cost, "
        "beside its four projections?", CHOICES[0]),
    Mistake("as without a window", "That is where the square takes over if all look at all. Here no word "
        "has more than 256 scores.", CHOICES[1]),
    Mistake("the window shifts the crossing", "Both costs grow with n now, so their ratio stays what it is.",
        CHOICES[2]),
)  # fmt: skip
