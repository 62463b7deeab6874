"""Length and accuracy: the bottleneck as measured, model by model, from a stored experiment.

The book measures it in Chapter 1 (the-bottleneck); `experiments/bottleneck.py` made the numbers.
"""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import traitlets
from matplotlib.figure import Figure

from attnlib.metrics.curves import first_below
from attnlib.viz.explorables.base import Explorable, script, style
from attnlib.viz.style import INK, PALETTE


class LengthAndAccuracy(Explorable):
    """A length and a level to choose on measured curves of at most four models."""

    QUESTION = "From which length on does each model lose its way?"
    SIZE = (660, 680)
    _esm, _css = script("length_and_accuracy"), style("length_and_accuracy")

    lengths = traitlets.List(traitlets.Int()).tag(sync=True)
    curves = traitlets.Dict().tag(sync=True)
    trained = traitlets.Int().tag(sync=True)
    length = traitlets.Int().tag(sync=True)
    level = traitlets.Float(0.9, min=0, max=1).tag(sync=True)
    measure = traitlets.Enum(["token", "exact"], default_value="token").tag(sync=True)

    def __init__(
        self,
        lengths: Sequence[int],
        curves: Mapping[str, Mapping[str, Sequence[float]]],
        *,
        trained: int,
        length: int,
    ) -> None:
        """`curves` has for each model the shares of correct words ("token") and sentences ("exact") by length."""
        if length not in lengths:
            raise ValueError(
                f"LengthAndAccuracy: length must be one that was measured; got {length}. "
                f"Choose one of {[*lengths]}."
            )
        if len(curves) > 4:
            raise ValueError(
                f"LengthAndAccuracy: there are colours for four models; got {len(curves)}. Leave some out."
            )
        if wrong := [name for name, curve in curves.items() if {*map(len, curve.values())} != {len(lengths)}]:
            raise ValueError(
                f"LengthAndAccuracy: a curve needs a share for each of the {len(lengths)} lengths; {wrong[0]!r} has "
                f"{[*map(len, curves[wrong[0]].values())]}. Measure all of them."
            )
        plain = {
            name: {key: [*map(float, curve[key])] for key in ("token", "exact")}
            for name, curve in curves.items()
        }
        super().__init__(lengths=[*lengths], curves=plain, trained=trained, length=length)

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
