"""A matrix as a heat map with its numbers: attention weights, scores, Jacobians."""

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from attnlib.shapes import Array, Float
from attnlib.viz.style import SEQUENTIAL

DIVERGING = "RdBu_r"


def heatmap(
    M: Float[Array, "rows columns"],
    *,
    rows: Sequence[Any] | None = None,
    columns: Sequence[Any] | None = None,
    title: str = "",
    ax: Axes | None = None,
    values: bool | None = None,
    signed: bool = False,
    limits: tuple[float, float] | None = None,
) -> Axes:
    """Draw M with row 0 on top, as it is written on paper; returns the axes.

    values    write each number in its cell (by default up to 64 cells)
    signed    colours that are white at zero, for scores and gradients
    limits    the two ends of the colour scale; by default 0 to 1 for weights, symmetric for signed
    """
    if M.ndim != 2:
        raise ValueError(
            f"heatmap: M must have two axes, rows and columns; got shape {M.shape}. Choose one batch entry."
        )
    n_rows, n_columns = M.shape
    if ax is None:
        _, ax = plt.subplots(figsize=(min(0.62 * n_columns + 1.4, 4.0), 0.5 * n_rows + 0.9))
    largest = float(np.abs(M).max()) or 1.0
    low, high = limits or ((-largest, largest) if signed else (0.0, max(1.0, largest)))
    mesh = ax.pcolormesh(
        M, cmap=DIVERGING if signed else SEQUENTIAL, vmin=low, vmax=high, edgecolors="#ffffff", linewidth=1
    )
    ax.set(xlim=(0, n_columns), ylim=(n_rows, 0), title=title)
    ax.set_xticks(np.arange(n_columns) + 0.5, [str(c) for c in columns or range(n_columns)])
    ax.set_yticks(np.arange(n_rows) + 0.5, [str(r) for r in rows or range(n_rows)])
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    if values or (values is None and M.size <= 64):
        for (i, j), value in np.ndenumerate(M):
            red, green, blue, _ = mesh.cmap(mesh.norm(value))
            dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.55
            ax.text(
                j + 0.5,
                i + 0.5,
                f"{value:.2f}",
                ha="center",
                va="center",
                fontsize=10,
                color="#ffffff" if dark else "#111111",
            )
    return ax
