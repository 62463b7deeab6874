"""Figures in the book's one visual style, safe in light and in dark.

from attnlib import viz
viz.use_style()                      # once per notebook
ax = viz.heatmap(P, rows=queries, columns=keys)
viz.show(ax.figure, alt="What the figure shows, in a sentence.")

Interactive pictures are in `attnlib.viz.explorables`; `viz.explore` shows them.
"""

import attnlib.viz.needed  # noqa: F401  (first: one sentence where matplotlib is missing)
from attnlib.viz.alignment import alignment_plot
from attnlib.viz.heatmap import heatmap
from attnlib.viz.live import live_curve
from attnlib.viz.schematic import Schematic
from attnlib.viz.source import show_source
from attnlib.viz.style import INK, PALETTE, SEQUENTIAL, Figure, explore, show, use_style

__all__ = [
    "INK",
    "PALETTE",
    "SEQUENTIAL",
    "Figure",
    "Schematic",
    "alignment_plot",
    "explore",
    "heatmap",
    "live_curve",
    "show",
    "show_source",
    "use_style",
]
