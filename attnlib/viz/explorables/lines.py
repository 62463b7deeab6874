"""Words in two columns with a line for each attention weight, for two explorables.

They show the heads of eq-entropy (Chapter 2) and the cross-attention of eq-cross-projections (Chapter 4).
"""

from collections.abc import Iterable, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from attnlib.shapes import Array, Float
from attnlib.viz.style import INK, PALETTE

FAINT = 0.005  # a weight below this has no line


def shares(hundredths: Sequence[Sequence[int]]) -> Float[Array, "m n"]:
    """Weights from stored hundredths; each row is scaled to sum to one."""
    rows = np.array(hundredths, dtype=float)
    return rows / rows.sum(axis=-1, keepdims=True)


def draw_lines(
    left: Sequence[str],
    right: Sequence[str],
    P: Float[Array, "m n"],
    *,
    only: int = 0,
    rings: Iterable[int] = (),
    title: str = "",
    room: float = 0.2,
) -> Figure:
    """A line for each weight of P, from left to right; only for the left word number `only`, or for all if it is 0."""
    tall = max(len(left), len(right))
    fig, ax = plt.subplots(figsize=(4.6, 0.28 * tall + 0.6))
    for words, x, side in ((left, -0.04, "right"), (right, 1.04, "left")):
        for i, word in enumerate(words):
            ax.text(x, i, word, ha=side, va="center", fontsize=9)
    for i, j in np.argwhere(P > FAINT):
        if only in (0, i + 1):
            ax.plot([0, 1], [i, j], color=PALETTE[0], lw=0.5 + 4 * P[i, j], alpha=P[i, j])
    for j in rings:
        ax.plot(1, j, "o", ms=9, mfc="none", color=PALETTE[1])
    ax.set(xlim=(-room, 1 + room), ylim=(tall - 0.4, -0.6))
    ax.set_title(title, color=INK)
    ax.axis("off")
    return fig
