"""Layers with different masks

write · ★★ · 10 min · 06-efficient-attention/1-who-attends-to-whom

masks (L, n, n) holds the mask of each layer, the first layer first, True where a query (row) may attend to a key.
Every layer has a residual connection, also where a mask hides a token from itself. Return the matrix (n, n) that is
True where the output of the last layer at position i can depend on the input at position j.

1. On which inputs can the output of the first layer at position k depend?
2. The last layer at position i depends on everything that one of its keys, or i itself, depends on.
3. Multiply the masks, with the last layer on the left, after adding the identity to each.

A model of windows with one full layer reaches everything in that one layer: it matters little which one it is.
"""

import functools

import numpy as np

from attnlib.exercises.engine.model import Mistake


def reach(masks):
    """(n, n), True where output i of the last layer can depend on input j of the first."""
    R = np.eye(masks.shape[-1], dtype=bool)
    for mask in masks:
        R = R + mask.astype(int) @ R > 0
    return R > 0


def by_sets(masks):
    n = masks.shape[-1]
    known = [{j} for j in range(n)]
    for mask in masks:
        known = [known[i].union(*(known[k] for k in range(n) if mask[i, k])) for i in range(n)]
    return np.array([[j in known[i] for j in range(n)] for i in range(n)])


def by_one_product(masks, kind=float):
    steps = [(mask | np.eye(masks.shape[-1], dtype=bool)).astype(kind) for mask in masks]
    return functools.reduce(lambda R, step: step @ R, steps) > 0


def through(masks):
    return functools.reduce(lambda R, mask: mask @ R, masks)


def first_without(masks):
    return functools.reduce(lambda R, mask: mask @ R | R, masks)


def cases(rng):
    def drawn(layers, n, share):
        return (np.tril(rng.random((layers, n, n)) < share),)

    return {
        "two layers, four tokens": (np.array([np.eye(4, k=-1), np.eye(4, k=-2)]).astype(bool),),
        "three layers": drawn(3, 6, 0.3),
        "one layer": drawn(1, 5, 0.4),
        "not causal": (rng.random((2, 5, 5)) < 0.25,),
        "nothing allowed": (np.zeros((2, 3, 3), dtype=bool),),
        "66 layers, four tokens": (np.ones((66, 4, 4), dtype=bool),),
    }


VARIANTS = (by_sets, by_one_product)
MISTAKES = (
    Mistake("the layers in the opposite order", "The last layer stands on the left of the product.",
        lambda masks: by_one_product(masks[::-1])),
    Mistake("no residual connection", "A position keeps what it has, also where its mask does not allow it to attend "
        "to itself.", lambda masks: through(masks)),
    Mistake("not every layer has its residual connection", "Each layer has one, so the identity belongs to the mask of "
        "each.", lambda masks: through(masks) | np.eye(len(masks[0]), dtype=bool),
        lambda masks: through([masks[0] | np.eye(len(masks[0]), dtype=bool), *masks[1:]]), first_without),
    Mistake("the number of paths overflows", "The number of paths grows with each layer until it fits no whole number. "
        "Keep only whether there is one.", lambda masks: by_one_product(masks, int)),
    Mistake("the same mask in each layer", "Each layer has its own mask: an edge belongs to one layer.",
        lambda masks: by_one_product(np.repeat(masks.any(axis=0)[None], len(masks), axis=0))),
    Mistake("later positions are left out", "A mask need not be causal, and then the output may depend on later "
        "inputs.", lambda masks: np.tril(by_one_product(masks))),
    Mistake("all layers have to allow it", "Paths lead through other positions, and a residual connection leads "
        "through a layer that allows nothing.", lambda masks: masks.all(axis=0) | np.eye(len(masks[0]), dtype=bool)),
    Mistake("the last layer alone", "What a key has collected in the layers before counts, too.",
        lambda masks: masks[-1] | np.eye(masks.shape[-1], dtype=bool)),
    Mistake("one layer is enough", "A path goes through all layers, one edge in each.",
        lambda masks: masks.any(axis=0) | np.eye(masks.shape[-1], dtype=bool)),
)  # fmt: skip
