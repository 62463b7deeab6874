"""The attention weights of a translation as an alignment map, with the true links marked."""

from collections.abc import Iterable, Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from attnlib.shapes import Array, Float
from attnlib.viz.style import INK, PALETTE, SEQUENTIAL


def alignment_plot(
    P: Float[Array, "target source"],
    source: Sequence[str],
    target: Sequence[str],
    *,
    gold: Iterable[tuple[int, int]] | None = None,
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Weights P, one row per target word; `gold` links (source index, target index) get a ring."""
    if P.shape != (len(target), len(source)):
        raise ValueError(
            "alignment_plot: P must have one row per target word and one column per source word; "
            f"got P {P.shape} for {len(target)} target and {len(source)} source words."
        )
    if ax is None:
        _, ax = plt.subplots(figsize=(0.22 * len(source) + 1.0, 0.22 * len(target) + 1.0))
    ax.pcolormesh(P, cmap=SEQUENTIAL, vmin=0, vmax=1, edgecolors="#ffffff", linewidth=0.8)
    for j, i in gold or ():
        ax.plot(j + 0.5, i + 0.5, "o", ms=11, mfc="none", mec=PALETTE[1], mew=1.6)
    ax.set(xlim=(0, len(source)), ylim=(len(target), 0))
    ax.set_title(title, pad=8)
    ax.set_xticks([j + 0.5 for j in range(len(source))], source, rotation=60, ha="left", color=INK)
    ax.set_yticks([i + 0.5 for i in range(len(target))], target, color=INK)
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return ax
