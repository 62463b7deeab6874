"""Pipeline schedules: which worker computes what at each tick, how long it waits, and what it keeps.

The book derives it in eq-bubble (Chapter 5).
"""

import matplotlib.pyplot as plt
import traitlets
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from attnlib.reference import pipeline
from attnlib.shapes import Array, Int
from attnlib.viz.explorables.base import Explorable, script, style
from attnlib.viz.style import PALETTE

SCHEDULES = {"GPipe": pipeline.gpipe, "1F1B": pipeline.one_f_one_b}
MOST = 2 * (16 + 8 - 1)  # ticks


class PipelineSchedule(Explorable):
    """For a chosen schedule, number of workers and of micro-batches: the table of tasks, and the waiting time."""

    QUESTION = "Who computes what when, and who waits?"
    SIZE = (519, 470)
    _esm, _css = script("pipeline_schedule"), style("pipeline_schedule")

    schedule = traitlets.Enum(tuple(SCHEDULES), "GPipe").tag(sync=True)
    workers = traitlets.Int(4, min=1, max=8).tag(sync=True)
    parts = traitlets.Int(6, min=1, max=16).tag(sync=True)
    tick = traitlets.Int(7, min=1, max=MOST).tag(sync=True)

    def table(self, schedule: str = "") -> Int[Array, "p ticks"]:
        """Row r is worker r's, as in `attnlib.reference.pipeline`: i forwards, -i backwards, 0 waits."""
        return SCHEDULES[schedule or self.schedule](self.workers, self.parts)

    def waiting(self) -> float:
        """The share of all ticks in which a worker waits."""
        return pipeline.waiting(self.table())

    def kept(self) -> list[int]:
        """For how many micro-batches at once each worker keeps what their backward pass needs."""
        return pipeline.kept(self.table()).tolist()

    def figure(self) -> Figure:
        """Both schedules, because in a static figure none can be chosen."""
        fig, axes = plt.subplots(
            2, 1, figsize=(8.0, 1.2 + 0.6 * self.workers), sharex=True, layout="constrained"
        )
        for ax, name in zip(axes, SCHEDULES, strict=True):
            self._draw(ax, name)
        axes[1].set(xlabel="ticks")
        return fig

    def _draw(self, ax: Axes, name: str) -> None:
        table, p = self.table(name), self.workers
        for r, row in enumerate(table):
            for tick, task in enumerate(row):
                if task:
                    y, colour = p - 1 - r, PALETTE[0] if task > 0 else PALETTE[1]
                    ax.add_patch(Rectangle((tick, y), 0.94, 0.88, fc=colour))
                    ax.text(
                        tick + 0.47, y + 0.42, abs(task), ha="center", va="center", color="white", fontsize=8
                    )
        ax.set(xlim=(0, table.shape[1]), ylim=(0, p), title=name)
        ax.set_yticks([p - 0.56 - r for r in range(p)], [f"worker {r}" for r in range(p)])
        ax.tick_params(length=0)
