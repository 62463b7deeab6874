"""Label smoothing: the loss of one token as a function of its confidence, and its minimum.

The book derives it in eq-smoothed-target and eq-gap (Chapter 5).
"""

import math

import matplotlib.pyplot as plt
import numpy as np
import traitlets
from matplotlib.figure import Figure

from attnlib.reference.losses import smoothed_cross_entropy
from attnlib.viz.explorables.base import Explorable, script, style
from attnlib.viz.style import INK, PALETTE

MOST = 4  # the largest loss that is shown, in nats


class LabelSmoothing(Explorable):
    """For a chosen epsilon, number of tokens and confidence: the loss and its minimum."""

    QUESTION = "How sure does a smoothed label want a model to be?"
    SIZE = (450, 429)
    _esm, _css = script("label_smoothing"), style("label_smoothing")

    epsilon = traitlets.Float(0.1, min=0, max=0.6).tag(sync=True)
    vocab = traitlets.Int(4, min=2, max=65536).tag(sync=True)
    confidence = traitlets.Float(0.99, min=0.01, max=0.99).tag(sync=True)

    def __init__(self, epsilon: float = 0.1, vocab: int = 4, confidence: float = 0.99) -> None:
        if vocab < 2 or vocab & (vocab - 1) or vocab > 65536:
            raise ValueError(
                f"LabelSmoothing: vocab must be a power of two from 2 to 65536; got {vocab}. Try vocab=32768."
            )
        super().__init__(epsilon=float(epsilon), vocab=vocab, confidence=float(confidence))

    def best(self) -> float:
        """The confidence at which the loss is minimal."""
        return 1 - self.epsilon + self.epsilon / self.vocab

    def gap(self) -> float:
        """The difference between the right score and the others at the minimum."""
        if not self.epsilon:
            return math.inf
        return math.log((self.vocab * (1 - self.epsilon) + self.epsilon) / self.epsilon)

    def loss(self, confidence: float) -> float:
        """The smoothed loss if the right token has this probability and the others share the rest."""
        S = np.full((1, self.vocab), np.log1p(-confidence) - math.log(self.vocab - 1))
        S[0, 0] = math.log(confidence)
        nats, _ = smoothed_cross_entropy(S, np.array([0]), self.epsilon)
        return float(np.mean(nats))

    def figure(self) -> Figure:
        fig, ax = plt.subplots(figsize=(7.0, 3.2))
        places = np.linspace(0.0005, 0.9995, 201)
        ax.plot(places, [self.loss(p) for p in places], color=PALETTE[0])
        least = min(self.best(), 1 - 1e-12)
        ax.plot(least, self.loss(least), "o", color=PALETTE[1])
        ax.plot(self.confidence, self.loss(self.confidence), "o", mfc="none", color=INK)
        ax.set(xlabel="probability of the right token", ylabel="nats", ylim=(0, MOST))
        return fig
