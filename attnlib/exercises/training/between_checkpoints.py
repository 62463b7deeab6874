"""How many layers between two checkpoints?

write · ★★ · 10 min · 05-training/5-small-numbers

A model of `layers` equal layers is trained with checkpoints. The input of a layer takes `entering` bytes, and what the
layer keeps beside its input for its backward pass takes `inside` bytes. The layers are put into groups of k, where k
divides `layers`. The forward pass keeps only the input of each group. When the backward pass comes to a group, the
group is run again. During that time memory also holds what its k layers keep: k times `inside`, and the inputs of all
its layers but the first. Return the k with the smallest peak of memory, and that peak in bytes. Where several k have
that peak, return the largest.

1. How many groups are there, and how many inputs are kept from the forward pass?
2. During the backward pass of a group: k times `inside`, and k - 1 inputs more.
3. The peak is layers / k · entering + k · inside + (k - 1) · entering. Try each k that divides.

If a layer keeps nothing but what enters it, the best k is near the root of the number of layers: this is the rule of
the textbooks. A layer of a transformer keeps a dozen or more times what enters it, and then the best group is one
layer.
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
    Mistake("`inside` of all layers", "The `inside` bytes of a layer are in memory only during the backward pass of "
        "its own group.",
        {"k * inside + (k - 1) * entering": "layers * inside + (layers - layers // k) * entering"}),
    Mistake("inputs inside the group are forgotten", "During the backward pass of a group, the inputs of its second to "
        "its last layer are in memory, too.", {"+ (k - 1) * entering": ""}),
    Mistake("the first input twice", "The input of a group's first layer is kept by the forward pass already.",
        {"(k - 1) * entering": "k * entering"}),
    Mistake("the input of one group is forgotten", "The forward pass keeps the input of every group, the first and the "
        "last among them.", {"layers // k * entering": "(layers // k - 1) * entering"}),
    Mistake("an input for each layer", "Only the input of each group is kept, not that of each layer.",
        {"layers // k * entering": "layers * entering"}),
    Mistake("groups that do not divide", "The groups have k layers each, so k must divide the number of layers.",
        {"if layers % k == 0": "if layers"},
        {"layers // k * entering": "-(-layers // k) * entering", "if layers % k == 0": "if layers"}),
    Mistake("the smallest of equals", "Where several k have the smallest peak, return the largest: it keeps fewer "
        "inputs.",
        {"return max(k for k": "return min(k for k"}),
    Mistake("only one input more in the group",
        "The inputs of the second to the last layer of the group are in memory: k - "
        "1 inputs, not one.",
        {"layers // k * entering + k * inside + (k - 1) * entering":
             "entering * (layers // k) + k * inside + entering"}),
    Mistake("number of groups, not of layers", "k is how many layers a group has, and not how many groups there are.",
        {"layers // k * entering + k * inside + (k - 1) * entering":
             "k * entering + inside * (layers // k) + (layers // k - 1) * entering"}),
    Mistake("the root of the layers", "That rule holds where nothing is kept inside a layer, and its k need not "
        "divide.", by_the_root),
    Mistake("groups of one layer are left out", "A group may be a single layer.",
        {"range(1, layers + 1)": "range(min(2, layers), layers + 1)"}),
    Mistake("all layers in one group are left out", "One group of all layers is a choice, too.",
        {"range(1, layers + 1)": "range(1, max(layers, 2))"}),
)  # fmt: skip
