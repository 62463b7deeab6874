"""Through five windows

predict · ★★ · 4 min · 02-self-attention/3-masks

Five layers of masked self-attention are stacked. In each of them a token may attend to itself and to the two
tokens before it. How many positions back is the furthest input that an output can depend on?

1. Through one layer: how far back is the furthest token that is read?
2. The input two positions back in the second layer has itself read two positions further back in the first.
3. Each layer adds the same number of positions.

A window of few tokens is no bound on what a deep model can read: information is passed from layer to layer. It also is
how a leak of one position in each layer becomes a leak of as many positions as there are layers.
"""

from attnlib.exercises.engine.model import Mistake

LAYERS, BACK = 5, 2


def answer():
    return LAYERS * BACK


WITHIN = 0.1
MISTAKES = (
    Mistake("one layer's window", "That is how far one layer looks. What is found there has itself read something "
        "further back.", BACK),
    Mistake("the token itself counted in each layer", "A window of three tokens reaches two positions *back*.",
        LAYERS * (BACK + 1)),
    Mistake("the last token counted", "That is how many inputs can be read, the token itself among them. The question "
        "is how far back the furthest stands.", LAYERS * BACK + 1),
    Mistake("multiplied from layer to layer", "Reaches add up: the windows of one layer lie beside each other, with "
        "no gaps to skip.",
        BACK**LAYERS, (BACK + 1) ** LAYERS),
    Mistake("one layer too few", "The first layer already reaches two positions back.", (LAYERS - 1) * BACK),
    Mistake("as many as layers", "Each layer reaches two positions back, not one.", LAYERS),
)  # fmt: skip
