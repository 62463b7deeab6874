"""Softmax and temperature: one score changes all weights, and the temperature decides how much.

The book derives it in eq-softmax, eq-temperature, eq-entropy and eq-softmax-jacobian (Chapter 1).
"""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import traitlets
from matplotlib.figure import Figure

from attnlib.reference.ops import entropy, softmax_jacobian, softmax_with_temperature
from attnlib.shapes import Array, Float
from attnlib.viz.explorables.base import Explorable, script, style
from attnlib.viz.heatmap import heatmap
from attnlib.viz.style import PALETTE


class SoftmaxTemperature(Explorable):
    """For chosen scores and temperature: the weights, their entropy and the Jacobian."""

    QUESTION = "What do one score and the temperature do to all the weights?"
    SIZE = (320, 610)
    _esm, _css = script("softmax_temperature"), style("softmax_temperature")

    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    scores = traitlets.List(traitlets.Float()).tag(sync=True)
    temperature = traitlets.Float(1.0).tag(sync=True)

    def __init__(self, tokens: Sequence[str], scores: Sequence[float], temperature: float = 1.0) -> None:
        if len(tokens) != len(scores) or not 2 <= len(tokens) <= 5:
            raise ValueError(
                "SoftmaxTemperature: there must be one score per token, and 2 to 5 tokens; "
                f"got {len(tokens)} tokens and {len(scores)} scores."
            )
        super().__init__(
            tokens=list(tokens), scores=[float(s) for s in scores], temperature=float(temperature)
        )

    def weights(self) -> Float[Array, "n"]:
        """The weights of the current scores."""
        return softmax_with_temperature(np.array(self.scores), self.temperature)

    def figure(self) -> Figure:
        P = self.weights()
        fig, axes = plt.subplots(1, 3, figsize=(7.2, 2.4), width_ratios=(1, 1, 1.25))
        places = np.arange(len(P))
        for ax, values, title in zip(axes, (self.scores, P), ("scores", "weights"), strict=False):
            ax.barh(places, values, color=PALETTE[0])
            ax.set_yticks(places, self.tokens)
            ax.invert_yaxis()
            ax.set_title(title)
        axes[1].set(xlim=(0, 1), xlabel=f"T = {self.temperature:.2f}, entropy {entropy(P):.2f}")
        J = softmax_jacobian(P) / self.temperature
        heatmap(J, rows=self.tokens, columns=self.tokens, title="∂ weight / ∂ score", ax=axes[2], signed=True)
        return fig
