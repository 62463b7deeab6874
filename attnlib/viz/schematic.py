"""Boxes and arrows, with the shape of what flows along each arrow.

    drawing = Schematic(width=4, height=3)
    drawing.arrow((1, 0), (1, 2), "n × d")
    drawing.box(1, 2.4, "norm")
    viz.show(drawing.figure, alt="...")

Coordinates are in units of about a line of text, from the lower left corner.
"""

import matplotlib.pyplot as plt
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch

from attnlib.viz.style import INK

Point = tuple[float, float]


class Schematic:
    """A drawing of `width` times `height` units, each `unit` inches."""

    def __init__(self, width: float, height: float, unit: float = 0.5) -> None:
        self.figure, self.axes = plt.subplots(figsize=(width * unit, height * unit), layout="constrained")
        self.axes.set(xlim=(0, width), ylim=(0, height), aspect="equal")
        self.axes.axis("off")

    def box(self, x: float, y: float, name: str, *, color: str = INK, width: float = 2.8) -> None:
        """A box with a name, centred on (x, y), 0.9 high."""
        corner = (x - width / 2, y - 0.45)
        look = {"boxstyle": "round,pad=0,rounding_size=0.15", "fc": "none", "ec": color, "lw": 1.6}
        self.axes.add_patch(FancyBboxPatch(corner, width, 0.9, **look))
        self.text(x, y, name, ha="center", fontsize=10)

    def circle(self, x: float, y: float, name: str, *, color: str = INK) -> None:
        """A small operation, such as a sum, centred on (x, y), 0.6 wide."""
        self.axes.add_patch(Circle((x, y), 0.3, fc="none", ec=color, lw=1.6))
        self.text(x, y - 0.02, name, ha="center", fontsize=12)

    def arrow(self, *points: Point, label: str = "", color: str = INK, width: float = 1.4) -> None:
        """An arrow through the points in order; the label is to the right of its last segment."""
        for a, b in zip(points[:-2], points[1:-1], strict=True):
            self.axes.plot(*zip(a, b, strict=True), color=color, lw=width, solid_capstyle="projecting")
        (x, y), end = points[-2:]
        look = {"arrowstyle": "-|>", "mutation_scale": 8 + 3 * width, "shrinkA": 0, "shrinkB": 0}
        self.axes.add_patch(FancyArrowPatch((x, y), end, color=color, lw=width, **look))
        if label:
            self.text((x + end[0]) / 2 + 0.15, (y + end[1]) / 2, label)

    def text(self, x: float, y: float, text: str, **look: object) -> None:
        """Words beside the drawing."""
        self.axes.text(x, y, text, **({"fontsize": 10, "va": "center"} | look))  # type: ignore[arg-type]
