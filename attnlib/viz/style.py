"""The style of every figure: one text colour, one palette, one background.

Text and axes are drawn in `INK`, on `GROUND`. The book removes the background and replaces `INK` by the text colour of
the page, so a figure follows dark mode; elsewhere (Jupyter, Colab, GitHub) it is dark text on white, even in a
notebook with a dark theme.
"""

import io
import re
from html import escape
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from cycler import cycler
from IPython.display import display
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure as MatplotlibFigure
from matplotlib.transforms import Bbox

INK = "#1f2430"
COLORBAR = "<colorbar>"  # what matplotlib calls the axes of one
GAP = 1  # pixel, at least, between panels that are parted
GROUND = "background: #ffffff"  # a style of the whole SVG, so that the book can remove it
# Okabe and Ito's colours without black and yellow: distinct for every kind of colour vision, on light and on dark.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
# Light to dark in one hue, so that "more" reads as "darker" in print too.
SEQUENTIAL = LinearSegmentedColormap.from_list("attention", ["#f4f7fb", "#9ecae1", "#3182bd", "#08306b"])


def use_style() -> None:
    """Set matplotlib to the book's style; call it once at the top of a notebook."""
    mpl.rcdefaults()
    look: dict[Any, Any] = {
        "figure.figsize": (4.0, 3.0),
        "savefig.pad_inches": 0.05,
        "figure.constrained_layout.use": True,
        "figure.facecolor": "none",
        "axes.facecolor": "none",
        "savefig.facecolor": "none",
        "font.family": "DejaVu Sans",
        "font.size": 10,
        "axes.titlesize": 11,
        "axes.titlelocation": "left",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.prop_cycle": cycler(color=PALETTE),
        "legend.frameon": False,
        "lines.linewidth": 1.8,
        "svg.hashsalt": "attnlib",
    }
    for name in ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"):
        look[name] = INK
    mpl.rcParams.update(look)


class Figure:
    """A finished figure: an SVG with a description, which is also its plain-text form.

    >>> Figure("<svg></svg>", alt="A rising line.")
    A rising line.
    """

    def __init__(self, svg: str, *, alt: str) -> None:
        self.svg, self.alt = svg, alt

    def __repr__(self) -> str:
        return self.alt

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"image/svg+xml": self.svg, "text/plain": self.alt}


def to_svg(figure: MatplotlibFigure, alt: str) -> str:
    """The figure as an SVG document: no date, reproducible names, its description as `<title>`, its panels."""
    buffer = io.StringIO()
    windows = windows_of(figure)
    figure.savefig(buffer, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.S)
    label = f'role="img" aria-label="{escape(alt)}" style="{GROUND}"'
    label += f' data-windows="{windows}"' if windows else ""
    return re.sub(r"<svg ([^>]*)>", rf"<svg {label} \1><title>{escape(alt)}</title>", svg, count=1)


def windows_of(figure: MatplotlibFigure) -> str:
    """The parts of a figure that stand alone on a phone: its panels, and what stands above or below them all.

    Each is `x y width height` in points from the upper left corner; a comma stands between parts of a row, a semicolon
    between rows. Empty for a figure of one panel.
    """
    figure.draw_without_rendering()  # the layout is computed now
    whole = figure.get_tightbbox().padded(mpl.rcParams["savefig.pad_inches"])
    bands, panels = bands_and_panels(figure)
    if len(panels) < 2:
        return ""
    scale, pad = 72 / figure.dpi, 3

    def window(box: Bbox) -> str:
        x, y = box.x0 * scale - whole.x0 * 72 - pad, whole.y1 * 72 - box.y1 * scale - pad
        return f"{x:.0f} {y:.0f} {box.width * scale + 2 * pad:.0f} {box.height * scale + 2 * pad:.0f}"

    rows = sorted([*([band] for band in bands), panels], key=lambda row: -row[0].y1)
    return "; ".join(", ".join(map(window, row)) for row in rows)


def bands_and_panels(figure: MatplotlibFigure) -> tuple[list[Bbox], list[Bbox]]:
    """Boxes in pixels: of what stands above or below all axes, and of the panels from left to right, equally high."""
    parts = [part for part in figure.get_children() if part is not figure.patch and part.get_visible()]
    boxes = [(part, box) for part in parts if (box := part.get_tightbbox()) is not None]
    middle = Bbox.union([box for part, box in boxes if part in figure.axes])
    bands = [box for _, box in boxes if not overlaps(box, middle)]
    panels: list[Bbox] = []
    for part, box in sorted(boxes, key=lambda pair: pair[1].x0):
        if not overlaps(box, middle):
            continue
        is_bar = part.get_label() == COLORBAR  # it belongs to the panel on its left
        if panels and (is_bar or box.x0 - panels[-1].x1 < GAP):
            panels[-1] = Bbox.union([panels[-1], box])
        else:
            panels.append(box)
    return bands, [Bbox([[panel.x0, middle.y0], [panel.x1, middle.y1]]) for panel in panels]


def overlaps(one: Bbox, other: Bbox) -> bool:
    """Whether one box is as high as a part of the other."""
    return one.y0 < other.y1 and other.y0 < one.y1


def show(figure: MatplotlibFigure, *, alt: str) -> None:
    """Display a figure once, with a sentence that says what it shows, and close it.

    `alt` is for those who cannot see the figure: write what the figure shows.
    """
    _check_alt("show", alt)
    display(Figure(to_svg(figure, alt), alt=alt))
    plt.close(figure)


def explore(explorable: Any, *, alt: str) -> None:
    """Display a picture to move, with its static figure for where no script runs (paper, GitHub, a saved page).

    `explorable` is one of `attnlib.viz.explorables`; `alt` says what its figure shows at the start.
    """
    _check_alt("explore", alt)
    view, metadata = explorable._repr_mimebundle_()
    figure = explorable.figure()
    display(view | {"image/svg+xml": to_svg(figure, alt), "text/plain": alt}, metadata=metadata, raw=True)
    plt.close(figure)


def _check_alt(function: str, alt: str) -> None:
    if len(alt.split()) < 4:
        raise ValueError(
            f"{function}: alt must say in a sentence what the figure shows; got {alt!r}. Name the trend."
        )
