"""A learning curve that is drawn while a model learns (book: train-your-own-gpt)."""

from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import display

from attnlib.shapes import Array, Float, Number, checked
from attnlib.viz.style import PALETTE, Figure, to_svg


def running_mean(values: Float[Array, "n"], n: int) -> Float[Array, "n"]:
    """The mean of each value and of up to n - 1 before it.

    >>> running_mean(np.array([1.0, 3.0, 5.0, 7.0]), 2).tolist()
    [1.0, 2.0, 4.0, 6.0]
    """
    total = np.concatenate([[0.0], np.cumsum(values)])
    end = np.arange(1, len(values) + 1)
    begin = np.maximum(end - n, 0)
    return (total[end] - total[begin]) / (end - begin)


@checked
def live_curve(
    *,
    steps: Number[int, "1.."],
    every: Number[int, "1.."] = 25,
    alt: str = "The loss of each step, drawn while the model trains.",
) -> Callable[[int, float], None]:
    """For `fit(..., after_step=live_curve(steps=1000))`: one picture, updated every so many steps.

    A point is the loss of a step, the line their running mean over `every` steps.
    """
    seen: list[tuple[int, float]] = []
    views: list[Any] = []

    def after_step(step: int, loss: float) -> None:
        seen.append((step, loss))
        if step % every and step != steps:
            return
        picture = drawn(seen, steps, every, alt)
        if views and views[0] is not None:
            views[0].update(picture)
        elif not views:  # a plain shell cannot update a picture: show it once
            views.append(display(picture, display_id=True))

    return after_step


def drawn(seen: list[tuple[int, float]], steps: int, every: int, alt: str) -> Figure:
    """A picture of the losses so far, on an axis for all steps."""
    at, losses = np.array(seen).T
    figure, ax = plt.subplots(figsize=(4.0, 2.6))
    ax.plot(at, losses, ".", ms=2, color=PALETTE[4], gid="losses")
    ax.plot(at, running_mean(losses, every), color=PALETTE[0])
    ax.set(xlim=(0, steps), xlabel="step", ylabel="nats a token")
    svg = to_svg(figure, alt)
    plt.close(figure)
    return Figure(svg, alt=alt)
