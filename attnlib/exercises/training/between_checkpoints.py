"""How many layers between two checkpoints?

write · ★★ · 10 min · 05-training/5-small-numbers

A model has `layers` equal layers. What enters one takes `entering` bytes, and a layer keeps `inside` bytes beside
that for its backward pass. The layers are put into groups of k, where k divides `layers`. Only what enters each group
is kept. When the backward pass comes to a group, it is run again, and for that time what its k layers keep is there,
too: their insides, and what enters each of them but the first. Return the k with the smallest peak, and that peak in
bytes; of several that are as good, the largest k.

1. How many groups are there, and how many inputs are kept from the forward pass?
2. While a group is worked on: k insides, and k - 1 inputs more.
3. The peak is layers / k · entering + k · inside + (k - 1) · entering. Try each k that divides.

If a layer keeps nothing but what enters it, the best k is near the root of the number of layers: so the rule of the
textbooks. A layer of a transformer keeps a dozen or more times what enters it, and then the best group is one layer.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake

RETURNS = ("layers in a group", "bytes at the peak")


def best_group(layers, entering, inside):
    """The group with the smallest peak, and the peak."""
    peaks = {
        k: layers // k * entering + k * inside + (k - 1) * entering
        for k in range(1, layers + 1)
        if layers % k == 0
    }
    least = min(peaks.values())
    return max(k for k in peaks if peaks[k] == least), least


def from_the_largest(layers, entering, inside):
    best, least = 0, float("inf")
    for k in range(layers, 0, -1):
        peak = (layers / k + k - 1) * entering + k * inside
        if layers % k == 0 and peak < least:
            best, least = k, peak
    return best, least


def as_arrays(layers, entering, inside):
    k = np.arange(layers, 0, -1)
    k = k[layers % k == 0]
    peak = layers / k * entering + k * (inside + entering) - entering
    return int(k[peak.argmin()]), float(peak.min())


def by_the_root(layers, entering, inside):
    k = round(layers**0.5)
    return k, layers / k * entering + k * inside + (k - 1) * entering


def cases(rng):
    return {
        "a small model": (12, 1.0, 3.0),
        "as much inside as enters": (36, 10.0, 10.0),
        "a transformer": (24, 2.0, 34.0),
        "little inside": (30, 100.0, 1.0),
        "one layer": (1, 5.0, 7.0),
        "two that are as good": (2, 4.0, 0.0),
        "thirteen": (13, 8.0, 3.0),
        "nothing inside": (16, 4.0, 0.0),
        "nothing inside, and two as good": (12, 4.0, 0.0),
        "many": (60, 7.0, 2.0),
    }


VARIANTS = (from_the_largest, as_arrays)
MISTAKES = (
    Mistake("the insides of all layers", "What a layer keeps inside is there only while its own group is worked on.",
        {"k * inside + (k - 1) * entering": "layers * inside + (layers - layers // k) * entering"}),
    Mistake("inputs inside the group are forgotten", "While a group is worked on, what enters its second to last "
        "layer is there, too.", {"+ (k - 1) * entering": ""}),
    Mistake("the first input twice", "What enters the first layer of a group is there already, from the forward pass.",
        {"(k - 1) * entering": "k * entering"}),
    Mistake("an input for each layer", "Only what enters each group is kept, not what enters each layer.",
        {"layers // k * entering": "layers * entering"}),
    Mistake("groups that do not divide", "The groups have k layers each, so k must divide the number of layers.",
        {"if layers % k == 0": "if layers"},
        {"layers // k * entering": "-(-layers // k) * entering", "if layers % k == 0": "if layers"}),
    Mistake("the smallest of equals", "Of groups that are as good, the largest is asked for: it keeps fewer inputs.",
        {"return max(k for k": "return min(k for k"}),
    Mistake("one input more in the group", "What enters the second, the third and so on to the last layer of the "
        "group is there: k - 1 inputs, not one.",
        {"layers // k * entering + k * inside + (k - 1) * entering":
             "entering * (layers // k) + k * inside + entering"}),
    Mistake("groups for layers", "k is how many layers a group has, and not how many groups there are.",
        {"layers // k * entering + k * inside + (k - 1) * entering":
             "k * entering + inside * (layers // k) + (layers // k - 1) * entering"}),
    Mistake("the root of the layers", "That rule holds where nothing is kept inside a layer, and its k need not "
        "divide.", by_the_root),
    Mistake("all layers in one group are left out", "One group of all layers is a choice, too.",
        {"range(1, layers + 1)": "range(1, max(layers, 2))"}),
)  # fmt: skip
