"""Float formats: the stored bits of a number, and the distance to its neighbours in the format.

The book derives it in eq-spacing and eq-stored (Chapter 5).
"""

import math

import matplotlib.pyplot as plt
import numpy as np
import traitlets
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from attnlib.reference import floats
from attnlib.viz.explorables.base import Explorable, script, style
from attnlib.viz.style import INK, PALETTE

FORMATS = {"float32": floats.FLOAT32, "float16": floats.FLOAT16, "bfloat16": floats.BFLOAT16}
PARTS = ("sign", "power of two", "digits")
MOST = 1e40  # the largest number that can be entered, in absolute value


class FloatFormats(Explorable):
    """For a chosen number and format: the bits, the stored value, and the neighbouring numbers."""

    QUESTION = "Which numbers does a format hold, and what becomes of yours?"
    SIZE = (560, 546)
    _esm, _css = script("float_formats"), style("float_formats")

    x = traitlets.Float(0.1, min=-MOST, max=MOST).tag(sync=True)
    format = traitlets.Enum(tuple(FORMATS), "bfloat16").tag(sync=True)

    def stored(self, x: float | None = None) -> float:
        """The value that the format stores for x, by default for the current number."""
        return float(floats.stored(np.array(self.x if x is None else x), FORMATS[self.format]))

    def bits(self) -> tuple[str, str, str]:
        """Sign, power of two and digits, as they are stored."""
        return floats.bits(self.x, FORMATS[self.format])

    def beside(self) -> tuple[float, float]:
        """The next numbers of the format below and above what is stored."""
        y, format = self.stored(), FORMATS[self.format]
        if math.isinf(y):
            inner = math.copysign(floats.largest(format), y)
            return (y, inner) if y < 0 else (inner, y)

        def toward(end: float) -> float:
            """A step of half a spacing; where the spacing halves, of a little more than a quarter."""
            step = float(floats.spacing(np.array(y), format))
            nearer = self.stored(y + math.copysign(0.26 * step, end))
            return nearer if nearer != y else self.stored(y + math.copysign(0.51 * step, end))

        return toward(-math.inf), toward(math.inf)

    def figure(self) -> Figure:
        fig, axes = plt.subplots(3, 1, figsize=(7.0, 3.6), height_ratios=(1.0, 1.3, 0.8))
        self._draw_bits(axes[0])
        self._draw_ranges(axes[1])
        self._draw_beside(axes[2])
        return fig

    def _draw_bits(self, ax: Axes) -> None:
        place = 0.0
        for part, name, colour in zip(self.bits(), PARTS, (PALETTE[3], PALETTE[1], PALETTE[0]), strict=True):
            ax.text(place, 1.15, name, fontsize=8, ha="left")
            for bit in part:
                box = Rectangle((place, 0), 1, 1, fc=colour, alpha=0.35, ec=INK, lw=0.6)
                ax.add_patch(box)
                ax.text(place + 0.5, 0.5, bit, ha="center", va="center", fontsize=8)
                place += 1
            place += 1.5
        ax.set(xlim=(-0.2, 35.2), ylim=(-0.1, 1.7))
        ax.axis("off")

    def _draw_ranges(self, ax: Axes) -> None:
        for y, (name, format) in enumerate(FORMATS.items()):
            least, all_digits = floats.smallest(format), floats.smallest_normal(format)
            ax.barh(y, floats.largest(format) - all_digits, left=all_digits, height=0.6, color=PALETTE[0])
            ax.barh(y, all_digits - least, left=least, height=0.6, color=PALETTE[0], alpha=0.35)
            weight = "bold" if name == self.format else "normal"
            ax.text(1e-47, y, name, ha="right", va="center", fontsize=9, weight=weight)
        if self.x:
            ax.axvline(abs(self.x), color=PALETTE[1])
        ax.set(xscale="log", xlim=(1e-46, 1e40), yticks=[])
        ax.invert_yaxis()
        for side in ("left", "right", "top"):
            ax.spines[side].set_visible(False)

    def _draw_beside(self, ax: Axes) -> None:
        y = self.stored()
        for to in (self.beside()[0], y, self.beside()[1]):
            if math.isfinite(to):
                ax.plot(to, 0, "|", ms=14, color=PALETTE[1] if to == y else INK)
                ax.annotate(f"{to:.6g}", (to, 0), (0, -18), textcoords="offset points", ha="center")
        ax.plot(self.x, 0, "v", color=PALETTE[1])
        ax.margins(x=0.15)
        ax.axis("off")
