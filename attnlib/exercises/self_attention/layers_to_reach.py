"""How deep must a convolution be?

write · ★★ · 15 min · 02-self-attention/7-waiting-and-distance

Each output of a convolution layer reads `kernel` inputs: its own position and the kernel - 1 positions before it,
or, dilated, every kernel^l-th position in layer l = 0, 1, 2, ... How many layers does it take until the last
of `length` outputs can depend on the first input? (One self-attention layer does it for any length.)

1. One layer with kernel 3 reaches back two positions. And two layers?
2. Undilated, each layer adds the same number of positions. Dilated, layer l adds kernel^l times as many.
3. Undilated: the distance, length - 1, divided by kernel - 1, rounded up. Dilated: let the reach grow in a
   loop until it is as large as the length.

Linear for plain convolutions, logarithmic for dilated ones: after L dilated layers the reach is kernel^L. A
table that gives the logarithm for all convolutions is about the dilated ones.
"""

import math

import numpy as np

from attnlib.exercises.engine.model import Mistake


def layers_to_reach(length, kernel, dilated):
    """Layers until the last output can depend on the first of `length` inputs, with a kernel that looks back."""
    if length == 1:
        return 0
    if not dilated:
        return math.ceil((length - 1) / (kernel - 1))
    layers, reach = 0, 1
    while reach < length:
        reach += (kernel - 1) * kernel**layers
        layers += 1
    return layers


def by_walking(length, kernel, dilated):
    seen, layers = np.zeros(length, dtype=bool), 0
    seen[-1] = True
    while not seen[0]:
        step = kernel**layers if dilated else 1
        places = np.flatnonzero(seen)[:, None] - step * np.arange(kernel)
        seen[places[places >= 0]] = True
        layers += 1
        if places.min() < 0:
            break
    return layers


def cases(rng):
    return {
        "length 6, kernel 3": (6, 3, False),
        "length 5, kernel 3": (5, 3, False),
        "length 9, kernel 2": (9, 2, False),
        "dilated, length 6, kernel 3": (6, 3, True),
        "dilated, length 9, kernel 3": (9, 3, True),
        "dilated, length 10, kernel 3": (10, 3, True),
        "dilated, length 100, kernel 2": (100, 2, True),
        "dilated, length 27, kernel 3": (27, 3, True),
        "one token": (1, 3, False),
        "a kernel wider than the text": (3, 7, True),
        "length 100, kernel 4": (100, 4, False),
        "length 12, kernel 4": (12, 4, False),
        "dilated, length 125, kernel 5": (125, 5, True),
        "dilated, length 16807, kernel 7": (16807, 7, True),
    }


VARIANTS = (by_walking, {"math.ceil((length - 1) / (kernel - 1))": "-(-(length - 1) // (kernel - 1))"})
MISTAKES = (
    Mistake("each layer reaches back a whole kernel", "One of the positions that a kernel reads is its own: it reaches "
        "back kernel - 1.",
        {"(length - 1) / (kernel - 1)": "(length - 1) / kernel"},
        {"(length - 1) / (kernel - 1)": "(length - 1) / kernel", "(kernel - 1) * kernel": "kernel * kernel"}),
    Mistake("one position too many", "From the last to the first of `length` positions the distance is length - 1.",
        {"(length - 1) / (kernel - 1)": "length / (kernel - 1)"}),
    Mistake("rounded down", "What is left of the distance takes one more layer.",
        {"math.ceil((length - 1) / (kernel - 1))": "(length - 1) // (kernel - 1)"}),
    Mistake("a logarithm that was not exact", "Where the length is a power of the kernel, the quotient of logarithms "
        "can come out a hair too large, and rounding up makes a whole layer of it. Count with integers.",
        {"while reach < length": "while layers < math.ceil(math.log(length) / math.log(kernel))"}),
    Mistake("dilation was ignored", "Dilated layers reach farther and farther back.", {"if not dilated": "if True"}),
    Mistake("always dilated", "Without dilation each layer adds the same number of positions.",
        {"if not dilated": "if False"}),
    Mistake("dilated by the layer's number", "The step of layer l is kernel^l, not l + 1 or 2^l.",
        {"kernel**layers": "(layers + 1)"}, {"kernel**layers": "2**layers"}),
    Mistake("its own position was forgotten", "Before any layer an output reaches one position: its own. The reach "
        "starts with 1.", {"layers, reach = 0, 1": "layers, reach = 0, 0"}),
    Mistake("the first layer is dilated already", "Layer 0 reads neighbours: its step is kernel^0, which is 1.",
        {"kernel**layers": "kernel ** (layers + 1)"}),
)  # fmt: skip
