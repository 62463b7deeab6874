"""The valley of compute: at a budget, the loss over the size of the model, by a law and as measured.

The book derives it in eq-best-size (Chapter 5); `experiments/isoflop.py` made the points.
"""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import traitlets
from matplotlib.figure import Figure

from attnlib.metrics.scaling_law import ScalingLaw, Shape, best_of
from attnlib.viz.explorables.base import Explorable, script, style
from attnlib.viz.style import INK, PALETTE


class ComputeValley(Explorable):
    """A budget of operations and a size to choose; the loss that a law expects, beside what was measured."""

    QUESTION = "Where is the bottom of the valley, and what does it cost to miss it?"
    SIZE = (565, 521)
    _esm, _css = script("compute_valley"), style("compute_valley")

    law = traitlets.List(traitlets.Float()).tag(sync=True)  # A, a, B, b
    shape = traitlets.List(traitlets.Int()).tag(sync=True)  # layers, vocab, context
    points = traitlets.List().tag(sync=True)  # budget, parameters, nats above the entropy
    budget = traitlets.Float(12.0, min=10, max=16).tag(sync=True)  # as a power of ten
    factor = traitlets.Float(0.0, min=-5, max=5).tag(sync=True)  # the size, in doublings of the best

    def __init__(
        self, law: ScalingLaw, shape: Shape, points: Sequence[Sequence[float]], *, budget: float = 12.0
    ) -> None:
        """`points` are rows of budget, parameters and nats above the entropy."""
        if min(law.A, law.a, law.B, law.b) <= 0:
            raise ValueError(
                f"ComputeValley: A, a, B and b of the law must be positive; got {tuple(law[1:])}. "
                "A valley needs a term that falls with the size and one that falls with the text."
            )
        rows = [[float(number) for number in row] for row in points]
        super().__init__(law=[*map(float, law[1:])], shape=[*shape], points=rows, budget=budget)

    def parts(self) -> tuple[ScalingLaw, Shape]:
        return ScalingLaw(0.0, *self.law), Shape(*self.shape)

    def best(self, budget: float | None = None) -> float:
        """The best number of parameters at the budget."""
        return best_of(self.parts()[0], 10.0 ** (self.budget if budget is None else budget), self.parts()[1])

    def excess(self, N: float, budget: float | None = None) -> float:
        """Nats a token above the entropy with N parameters at the budget."""
        law, shape = self.parts()
        return law.loss(N, 10.0 ** (self.budget if budget is None else budget) / shape.operations(N))

    def figure(self) -> Figure:
        """All measured budgets, because in a static figure none can be chosen."""
        fig, ax = plt.subplots(figsize=(7.0, 3.8))
        budgets = sorted({row[0] for row in self.points})
        for k, C in enumerate(budgets):
            here = np.array([row[1:] for row in self.points if row[0] == C])
            colour, power = PALETTE[k % len(PALETTE)], float(np.log10(C))
            sizes = np.geomspace(here[:, 0].min() / 2, 2 * here[:, 0].max(), 60)
            ax.plot(sizes, [self.excess(N, power) for N in sizes], color=colour, lw=1)
            ax.plot(here[:, 0], here[:, 1], "o", color=colour, ms=4, label=f"{C:.0e}")
            bottom = self.best(power)
            ax.plot(bottom, self.excess(bottom, power), "v", color=INK, ms=6)
        ax.set(xscale="log", yscale="log", xlabel="parameters", ylabel="nats above the entropy")
        ax.legend(title="operations", fontsize=9)
        return fig
