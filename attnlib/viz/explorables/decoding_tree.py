"""A tree of eight texts: greedy decoding, beam search and sampling with the same probabilities.

Chapter 4 derives it (what-to-say-next); the numbers are those of `attnlib.beam`.
"""

import math
from collections.abc import Sequence
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import traitlets
from matplotlib.figure import Figure

from attnlib.beam import Hypothesis, beam_search, exact_search
from attnlib.reference.ops import softmax_with_temperature
from attnlib.shapes import Array, Float
from attnlib.viz.explorables.base import Explorable, script, style
from attnlib.viz.style import INK, PALETTE

STEPS = 3
TEXTS = list(product((0, 1), repeat=STEPS))  # at each step 0, the upper word, or 1, the lower


def place(node: Sequence[int]) -> int:
    """The index of a node's probability in the list: level by level, from the top."""
    return 2 ** len(node) - 1 + sum(bit << i for i, bit in enumerate(reversed(node)))


class DecodingTree(Explorable):
    """Two words at each of three steps; the probability of the upper one can be dragged."""

    QUESTION = "When does the likeliest next word not belong to the likeliest text?"
    SIZE = (402, 703)
    _esm, _css = script("decoding_tree"), style("decoding_tree")

    words = traitlets.List(traitlets.List(traitlets.Unicode())).tag(sync=True)
    upper = traitlets.List(traitlets.Float()).tag(sync=True)
    width = traitlets.Int(2, min=1, max=4).tag(sync=True)
    temperature = traitlets.Float(1.0).tag(sync=True)

    def __init__(
        self,
        words: Sequence[Sequence[str]],
        upper: Sequence[float],
        width: int = 2,
        temperature: float = 1.0,
    ) -> None:
        if [len(pair) for pair in words] != [2] * STEPS or len(upper) != 2**STEPS - 1:
            raise ValueError(
                f"DecodingTree: there must be {STEPS} pairs of words and {2**STEPS - 1} probabilities; "
                f"got {len(words)} and {len(upper)}."
            )
        super().__init__(
            words=[list(pair) for pair in words],
            upper=[float(p) for p in upper],
            width=width,
            temperature=float(temperature),
        )

    def next_log_probs(self, prefix: Array) -> Float[Array, "b 2"]:
        """The log-probabilities of the upper and the lower word; the first token of a prefix is ignored."""
        upper = np.array([self.upper[place(row[1:])] for row in prefix.tolist()])
        return np.log(np.stack([upper, 1 - upper], axis=1))

    def text(self, node: Sequence[int]) -> str:
        return " ".join(self.words[step][bit] for step, bit in enumerate(node))

    def said(self, width: int) -> Hypothesis:
        """The text that beam search finds; with width 1 it is greedy decoding."""
        return beam_search(self.next_log_probs, np.zeros((1, 1), int), width=width, max_new_tokens=STEPS)[0][
            0
        ]

    def best(self) -> Hypothesis:
        """The likeliest text."""
        return exact_search(self.next_log_probs, np.zeros((1, 1), int), max_new_tokens=STEPS)[0]

    def probabilities(self, temperature: float = 1.0) -> Float[Array, "8"]:
        """The probabilities of the eight texts if each word is sampled at this temperature."""
        P = [
            softmax_with_temperature(self.next_log_probs(np.array([[0, *text[:step]]]))[0], temperature)[bit]
            for text in TEXTS
            for step, bit in enumerate(text)
        ]
        return np.array(P).reshape(-1, STEPS).prod(axis=1)

    def figure(self) -> Figure:
        fig, (ax, bars) = plt.subplots(
            1, 2, figsize=(7.4, 3.2), width_ratios=(2.4, 1), sharey=True, layout="constrained"
        )
        greedy, found = self.said(1).tokens, self.said(self.width).tokens
        nodes = [node for n in range(1, STEPS + 1) for node in product((0, 1), repeat=n)]
        for node in nodes:
            x, y, before = len(node), height(node), height(node[:-1])
            p = math.exp(self.next_log_probs(np.array([[0, *node[:-1]]]))[0, node[-1]])
            start = x - 1 + (0.46 if x > 1 else 0.03)
            if found[:x] == node:
                ax.plot((start, x - 0.04), (before, y), color=PALETTE[1], lw=9, alpha=0.35)
            color = PALETTE[0] if greedy[:x] == node else INK
            ax.plot((start, x - 0.04), (before, y), color=color, lw=0.6 + 2.5 * p)
            ax.text(x, y, f"{self.words[x - 1][node[-1]]} {p:.2f}", va="center", fontsize=9)
        P = self.probabilities(self.temperature)
        places = [height(text) for text in TEXTS]
        bars.barh(places, P, height=0.6, color=PALETTE[0])
        for y, p in zip(places, P, strict=True):
            bars.text(p + 0.01, y, f"{p:.3f}", va="center", fontsize=9)
        ax.set(xlim=(-0.05, STEPS + 0.5))
        ax.axis("off")
        bars.set(xlim=(0, 1.35 * max(P)), xticks=[], title="drawn as often as")
        bars.tick_params(left=False)
        bars.spines[:].set_visible(False)
        return fig


def height(node: Sequence[int]) -> float:
    """The vertical coordinate of a node: the middle of the texts that begin with it, the first on top."""
    size = 2 ** (STEPS - len(node))
    first = size * sum(bit << i for i, bit in enumerate(reversed(node)))
    return -(first + (size - 1) / 2)
