"""Length and accuracy: the bottleneck as measured, model by model, from a stored experiment.

The book measures it in Chapter 1, "What happens as sentences grow"; `experiments/bottleneck.py` made the numbers.
"""

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import traitlets
from matplotlib.figure import Figure

from attnlib.metrics.curves import first_below
from attnlib.viz.explorables.base import Explorable, script, style
from attnlib.viz.style import INK, PALETTE

NAMES = {
    "additive": "attention, additive",
    "dot": "attention, dot product",
    "fixed": "fixed context, each step",
    "initial": "fixed context, once",
}


class LengthAndAccuracy(Explorable):
    """A length and a level to move over the measured curves of four models."""

    QUESTION = "From which length on does each model lose its way?"
    SIZE = (660, 680)
    _esm, _css = script("length_and_accuracy"), style("length_and_accuracy")

    lengths = traitlets.List(traitlets.Int()).tag(sync=True)
    curves = traitlets.Dict().tag(sync=True)
    trained = traitlets.Int().tag(sync=True)
    length = traitlets.Int().tag(sync=True)
    level = traitlets.Float(0.9, min=0, max=1).tag(sync=True)
    measure = traitlets.Enum(["token", "exact"], default_value="token").tag(sync=True)

    def __init__(self, result: Mapping[str, Any], length: int) -> None:
        if length not in result["lengths"]:
            raise ValueError(
                f"LengthAndAccuracy: length must be one that was measured; got {length}. "
                f"Choose one of {result['lengths']}."
            )
        super().__init__(
            lengths=result["lengths"],
            curves={shown: result["models"][name]["mean"] for name, shown in NAMES.items()},
            trained=result["settings"]["trained_lengths"][1],
            length=length,
        )

    def below(self) -> dict[str, int | None]:
        """For each model the first length at which it is below the level."""
        return {
            name: first_below(self.lengths, curve[self.measure], self.level)
            for name, curve in self.curves.items()
        }

    def figure(self) -> Figure:
        fig, ax = plt.subplots(figsize=(7.0, 3.4))
        for (name, curve), colour in zip(self.curves.items(), PALETTE, strict=False):
            ax.plot(self.lengths, curve[self.measure], color=colour, label=name)
        for line, at in ((ax.axvline, self.length), (ax.axhline, self.level)):
            line(at, color=INK, lw=1, ls="--")
        what = {"token": "right words", "exact": "right sentences"}[self.measure]
        ax.set(xlabel="words in the sentence", ylabel=what, ylim=(0, 1.02))
        ax.legend(fontsize=9, loc="lower left")
        return fig
