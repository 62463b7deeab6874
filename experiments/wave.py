"""How fast may plain gradient descent go? A small net on noisy points of a wave, at several rates. (book: how-fast)

The net has one hidden layer of 64 ReLUs; SGD trains it on the squared error of 16 points a step. The figure is how much
nearer it comes to the true curve, which is known, than a net that answers zero everywhere. The rate belongs to the arm,
and the runner chooses none: every rate is reported.

    "stays"                     the same rate in each step
    "falls"                     on a line to zero
    "rises and falls"           on a line to the peak in a fifth of the steps, then on a line to zero
"""

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from _runner import Experiment, main
from torch import Tensor, nn

from attnlib.reference.schedules import constant, linear

POINTS, BATCH, HIDDEN, NOISE, SHARE = 200, 16, 64, 0.3, 0.2
RATES = (0.025, 0.05, 0.1, 0.2, 0.4, 0.8)
GRID = torch.linspace(-1, 1, 201)[:, None]
WORST = 10.0  # the error that is stored for a net whose outputs are no longer numbers


def wave(x: Tensor) -> Tensor:
    return torch.sin(6 * x)


def points() -> tuple[Tensor, Tensor]:
    """The 200 points of the page."""
    torch.manual_seed(0)
    x = torch.rand(POINTS, 1) * 2 - 1
    return x, wave(x) + NOISE * torch.randn(POINTS, 1)


def rate_of(kind: str, peak: float, steps: int) -> Callable[[int], float]:
    shapes: dict[str, Callable[[int], float]] = {
        "stays": lambda step: constant(step, peak=peak),
        "falls": lambda step: linear(step, steps, peak=peak),
        "rises and falls": lambda step: linear(step, steps, round(SHARE * steps), peak),
    }
    return shapes[kind]


def trial(seed: int, steps: int, *, kind: str, peak: float) -> dict[str, Any]:
    """Train one net; its mean squared distance from the true curve."""
    x, y = points()
    rate_at = rate_of(kind, peak, steps)
    torch.manual_seed(seed)
    net = nn.Sequential(nn.Linear(1, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 1))
    sgd = torch.optim.SGD(net.parameters())
    for step in range(steps):
        rows = torch.randint(POINTS, (BATCH,))
        loss = F.mse_loss(net(x[rows]), y[rows])
        sgd.zero_grad()
        loss.backward()
        sgd.param_groups[0]["lr"] = rate_at(step)
        sgd.step()
    with torch.no_grad():
        error = float(F.mse_loss(net(GRID), wave(GRID)))
    error = min(error, WORST) if math.isfinite(error) else WORST
    return {"error": round(error, 5), "gained": round(zero() - error, 5)}


def zero() -> float:
    """The error of a net that answers zero everywhere."""
    return float(wave(GRID).square().mean())


EXPERIMENT = Experiment(
    name="wave",
    question="which rates does plain gradient descent survive, under three schedules?",
    trial=trial,
    arms={
        kind: {f"{peak}": {"kind": kind, "peak": peak} for peak in RATES}
        for kind in ("stays", "falls", "rises and falls")
    },
    steps=1000,
    settings={"points": POINTS, "batch": BATCH, "hidden": HIDDEN, "noise": NOISE, "share": SHARE},
    figure="gained",
    best=zero(),
    always=tuple(f"{peak}" for peak in RATES),
    once=lambda: {"zero": round(zero(), 5)},
)

if __name__ == "__main__":
    main(EXPERIMENT)
