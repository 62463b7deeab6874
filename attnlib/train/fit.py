"""The training loop of the course: Adam, clipped gradients, a learning rate that falls to zero.

Book: the-bottleneck. It knows nothing about the model: `loss(model, batch)` says what to make small.
"""

from collections.abc import Callable, Iterable
from itertools import islice
from typing import TypeVar

import torch

from attnlib.shapes import Number, checked

M = TypeVar("M", bound=torch.nn.Module)
B = TypeVar("B")


@checked
def fit(
    model: M,
    loss: Callable[[M, B], torch.Tensor],
    batches: Iterable[B],
    *,
    steps: Number[int, "1.."],
    lr: float = 2e-3,
    clip: float = 1.0,
    after_step: Callable[[int, float], None] | None = None,
) -> list[float]:
    """Train `model` in place for `steps` steps, one batch each, and return the loss of every step.

    The learning rate is `lr` for the first half and then falls on a line to zero. A gradient longer than `clip` is
    shortened to it. `after_step(step, loss)` may look at the model, for example to draw a learning curve.
    """
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, 2 - 2 * step / steps))
    losses: list[float] = []
    for batch in islice(batches, steps):
        model.train()
        optimizer.zero_grad()
        value = loss(model, batch)
        value.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        schedule.step()
        losses.append(value.item())
        if after_step is not None:
            after_step(len(losses), losses[-1])
    if len(losses) < steps:
        raise ValueError(
            f"fit: {steps} steps need as many batches; got {len(losses)}. Repeat the data (epochs=None)."
        )
    return losses
