"""Learning-rate schedules: the rate of each step, the sum of all rates, and the share of high ones.

The book derives them in eq-warmup-schedule and eq-cosine-schedule (Chapter 5).
"""

import matplotlib.pyplot as plt
import traitlets
from matplotlib.figure import Figure

from attnlib.reference import schedules
from attnlib.viz.explorables.base import Explorable, script, style
from attnlib.viz.style import INK, PALETTE

KINDS = ("constant", "linear", "cosine", "root", "WSD")
MOST_STEPS, LARGEST_PEAK = 200, 0.01  # limits of the picture
HALF = 0.5 - 1e-9  # of the peak, with a margin for rounding


class ScheduleDesigner(Explorable):
    """For a chosen decay, warmup, peak, last share and length: the rates and their sum."""

    QUESTION = "Where does a schedule spend its steps?"
    SIZE = (523, 510)
    _esm, _css = script("schedule_designer"), style("schedule_designer")

    kind = traitlets.Enum(KINDS, "cosine").tag(sync=True)
    steps = traitlets.Int(100, min=20, max=MOST_STEPS).tag(sync=True)
    warmup = traitlets.Int(20, min=0, max=100).tag(sync=True)
    peak = traitlets.Float(0.006, min=0.001, max=LARGEST_PEAK).tag(sync=True)
    last = traitlets.Float(0.0, min=0, max=1).tag(sync=True)

    def rates(self, kind: str = "") -> list[float]:
        """The rate of each step, with this kind of decay, by default the chosen one."""
        steps, warmup = self.steps, min(self.warmup, self.steps)
        rules = {
            "constant": lambda i: schedules.constant(i, warmup, self.peak),
            "linear": lambda i: schedules.linear(i, steps, warmup, self.peak, self.last),
            "cosine": lambda i: schedules.cosine(i, steps, warmup, self.peak, self.last),
            "root": lambda i: schedules.inverse_square_root(i, max(1, warmup), self.peak),
            "WSD": lambda i: schedules.warmup_stable_decay(
                i, steps, steps // 4, warmup, self.peak, self.last
            ),
        }
        return [rules[kind or self.kind](i) for i in range(steps)]

    def total(self) -> float:
        """The sum of all rates: how far a parameter moves if each step moves it by the rate in one direction."""
        return sum(self.rates())

    def high(self) -> float:
        """The share of the steps whose rate is at least half of the peak."""
        rates = self.rates()
        return sum(rate >= HALF * self.peak for rate in rates) / len(rates)

    def figure(self) -> Figure:
        fig, ax = plt.subplots(figsize=(7.0, 3.0))
        t = range(1, self.steps + 1)
        others = [kind for kind in KINDS if kind != self.kind]
        for kind, dashes in zip(others, ((1, 1), (4, 1), (4, 1, 1, 1), (7, 2)), strict=True):
            ax.plot(t, self.rates(kind), color="0.55", lw=1.0, dashes=dashes, label=kind)
        ax.fill_between(t, self.rates(), color=PALETTE[0], alpha=0.2, lw=0)
        ax.plot(t, self.rates(), color=PALETTE[0], lw=2, label=self.kind)
        ax.plot([0, self.steps], [self.peak / 2] * 2, color=INK, lw=0.6)
        steps = [i for i, rate in enumerate(self.rates(), 1) if rate >= HALF * self.peak]
        ax.hlines([0] * len(steps), [i - 0.5 for i in steps], [i + 0.5 for i in steps], PALETTE[1], lw=5)
        ax.set(xlim=(0, MOST_STEPS), ylim=(0, 1.05 * LARGEST_PEAK), xlabel="step", ylabel="rate")
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False)
        return fig
