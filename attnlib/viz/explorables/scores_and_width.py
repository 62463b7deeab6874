"""Scores and width: the spread of dot products of random vectors, and why they are divided by the root of d_k.

The book derives it in eq-dot-variance and eq-scaled-variance (Chapter 1). The page and Python draw the same random
numbers: the i-th depends only on the seed and on i.
"""

import math

import matplotlib.pyplot as plt
import numpy as np
import traitlets
from matplotlib.figure import Figure

from attnlib.reference.ops import softmax
from attnlib.shapes import Array, Float
from attnlib.viz.explorables.base import Explorable, script, style
from attnlib.viz.style import INK, PALETTE

ROWS, KEYS, WIDEST = 128, 6, 512
DIVISORS = {"none": lambda d_k: 1.0, "root": math.sqrt, "width": float}
EDGES = np.arange(-64, 65, 2)


def uniforms(seed: int, count: int) -> Float[Array, "count"]:
    """Numbers in (0, 1): a counter, hashed in 32 bits (the finaliser of mulberry32)."""
    counter = np.arange(1, count + 1, dtype=np.uint32)
    a = np.uint32(seed) + counter * np.uint32(0x6D2B79F5)
    t = (a ^ (a >> 15)) * (a | 1)
    t ^= t + (t ^ (t >> 7)) * (t | 61)
    return ((t ^ (t >> 14)).astype(np.float64) + 0.5) / 2**32


def normals(seed: int, count: int) -> Float[Array, "count"]:
    """Standard normal numbers, two from each pair of uniform ones (Box and Muller)."""
    u = uniforms(seed, count + count % 2)
    radius, angle = np.sqrt(-2 * np.log(u[::2])), 2 * math.pi * u[1::2]
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1).ravel()[:count]


class ScoresAndWidth(Explorable):
    """Random queries and keys whose width and scale can be chosen, with their scores and weights."""

    QUESTION = "Which division keeps the weights the same, however long the vectors are?"
    SIZE = (390, 590)
    _esm, _css = script("scores_and_width"), style("scores_and_width")

    d_k = traitlets.Int(1, min=1, max=WIDEST).tag(sync=True)
    scale = traitlets.Enum(list(DIVISORS), default_value="none").tag(sync=True)
    seed = traitlets.Int(0, min=0).tag(sync=True)

    def scores(self) -> Float[Array, "rows keys"]:
        """The dot products of each query with its keys, divided as chosen."""
        vectors = normals(self.seed, ROWS * (KEYS + 1) * WIDEST).reshape(ROWS, KEYS + 1, WIDEST)[
            :, :, : self.d_k
        ]
        dots = np.einsum("nd,nmd->nm", vectors[:, 0], vectors[:, 1:])
        return dots / DIVISORS[self.scale](self.d_k)

    def mean_weights(self) -> Float[Array, "keys"]:
        """The weights of each row from the largest to the smallest, on average over the rows."""
        return np.sort(softmax(self.scores()))[:, ::-1].mean(axis=0)

    def figure(self) -> Figure:
        S, P = self.scores(), self.mean_weights()
        fig, (left, right) = plt.subplots(1, 2, figsize=(7.0, 2.6), width_ratios=(2, 1))
        left.hist(np.clip(S.ravel(), EDGES[0], EDGES[-1] - 1e-9), EDGES, color=PALETTE[0])
        spread = math.sqrt((S**2).mean())
        left.set(
            xlabel="score", yticks=[], title=f"Scores at $d_k$ = {self.d_k}: they spread by {spread:.2f}"
        )
        right.bar(np.arange(1, KEYS + 1), P, color=PALETTE[1])
        right.axhline(1 / KEYS, color=INK, lw=0.8, ls=":")
        right.set(ylim=(0, 1), xticks=range(1, KEYS + 1), title="Weights, largest first")
        return fig
