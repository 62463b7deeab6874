"""The control that is missing

predict · ★★ · 4 min · 03-multi-head/1-why-several-heads

A report on a trained layer of eight heads states: "For each head we took the offset that gets the most of its weight.
The eight heads have six different offsets, so training has made the heads specialise." Which measurement is missing
most?

1. Which part of the sentence is about training?
2. Take a layer that has learned nothing. Has each of its heads an offset that gets most?
3. What would the same count give there?

Something always comes out on top. Eight heads of random parameters have eight nearly even rows, each with a largest
number somewhere, and mostly not at the same position. What training has changed is how *much* the first offset gets,
and the report leaves that out.
"""

from attnlib.exercises.engine.model import Mistake

CHOICES = (
    "the same count for the layer before training",
    "the same count with more texts",
    "the same count for a layer of sixteen heads",
    "the share of right answers",
)


def answer():
    return CHOICES[0]


CHOICES = CHOICES
MISTAKES = (
    Mistake("more texts", "They make the count of six more certain. They do not show what the count would be without "
        "training.",
        CHOICES[1]),
    Mistake("more heads", "Another trained layer has the same gap: nothing to compare the count with.", CHOICES[2]),
    Mistake("the answers", "It shows whether the layer has learned, but not whether the count of offsets does.",
        CHOICES[3]),
)  # fmt: skip
