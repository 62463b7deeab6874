"""Draw the picture that is shown when a page is shared: book/_static/social-card.png, 1200 by 630 pixels."""

import io
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.patches import Circle, PathPatch  # noqa: E402
from matplotlib.path import Path as Curve  # noqa: E402
from PIL import Image  # noqa: E402

CARD = Path(__file__).resolve().parent.parent / "book" / "_static" / "social-card.png"
PAPER, INK, SOFT, BLUE, RED = "#fdfcfa", "#1f2430", "#4d5463", "#3f86bd", "#d55e00"
# Baseline, size and colour of each line.
LINES = (
    (265, 78, INK, "Attention,"),
    (378, 78, INK, "Executed"),
    (464, 31, SOFT, "Every equation runs,"),
    (518, 31, SOFT, "every claim is checked."),
)
SIZE = (1200, 630)
COLOURS = 64  # enough for flat colours with soft edges, in a small file


def draw_sign(axes: Axes, left: float, top: float, scale: float) -> None:
    """The book's sign (logo.svg): three keys whose values meet, the line as thick as the weight."""

    def place(x: float, y: float) -> tuple[float, float]:
        return left + scale * x, top + scale * y

    bends = {1.6: [(11, 9), (26, 9), (24, 24), (37, 24)], 6.0: [(11, 39), (26, 39), (24, 24), (37, 24)]}
    bends[3.0] = [(11, 24), (20, 24), (28, 24), (37, 24)]
    codes = [Curve.MOVETO, Curve.CURVE4, Curve.CURVE4, Curve.CURVE4]
    for width, points in bends.items():
        curve = Curve([place(*point) for point in points], codes)
        thick = width * scale * 0.72  # pixels in points
        axes.add_patch(PathPatch(curve, lw=thick, edgecolor=BLUE, facecolor="none", capstyle="round"))
    for y in (9, 24, 39):
        axes.add_patch(Circle(place(10, y), 5 * scale, color=BLUE, linewidth=0))
    axes.add_patch(Circle(place(38, 24), 7.5 * scale, color=RED, linewidth=0))


def card() -> bytes:
    """The picture as PNG."""
    mpl.rcdefaults()
    figure = plt.figure(figsize=(SIZE[0] / 100, SIZE[1] / 100), dpi=100, facecolor=PAPER)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, SIZE[0]), ylim=(SIZE[1], 0))
    axes.axis("off")
    draw_sign(axes, 70, 131, 7.6)
    for y, size, colour, line in LINES:
        axes.text(520, y, line, fontsize=size, color=colour, family="STIXGeneral")
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", facecolor=PAPER)
    plt.close(figure)
    small = io.BytesIO()
    Image.open(drawn).convert("RGB").quantize(COLOURS).save(small, format="png", optimize=True)
    return small.getvalue()


if __name__ == "__main__":
    CARD.write_bytes(card())
    print(f"{CARD}: {CARD.stat().st_size / 1000:.0f} kB")
    sys.exit(0)
