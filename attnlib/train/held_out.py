"""A look at what a model does not train on, now and then; and when to stop, because it does not get better.

Chapter 5 uses it, by way of `attnlib.train.fit`.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from attnlib.shapes import Number, checked


class HeldOut:
    """What `measure(model)` says every so many steps; less is better. Dropout is off, and no gradient is kept.

    patience    after so many looks without a better one the training stops, and the best parameters come back

    >>> held_out = HeldOut(lambda model: float(abs(model.bias)), every=10)
    >>> held_out.look(10, nn.Linear(1, 1)); len(held_out.curve)
    1
    """

    @checked
    def __init__(
        self,
        measure: Callable[[Any], float],
        *,
        every: Number[int, "1.."],
        patience: Number[int, "1.."] | None = None,
    ) -> None:
        self.measure, self.every, self.patience = measure, every, patience
        self.curve: list[tuple[int, float]] = []
        self.best: dict[str, torch.Tensor] | None = None

    @torch.no_grad()
    def look(self, step: int, model: nn.Module) -> None:
        """Measure, and remember the parameters if they are the best so far."""
        was = model.training
        model.eval()
        value = float(self.measure(model))
        model.train(was)
        if self.patience is not None and value < min((one for _, one in self.curve), default=math.inf):
            self.best = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        self.curve.append((step, value))

    def is_over(self) -> bool:
        """Whether the last `patience` looks were all worse than the best before them."""
        if self.patience is None or len(self.curve) <= self.patience:
            return False
        values = [one for _, one in self.curve]
        return min(values[-self.patience :]) >= min(values[: -self.patience])

    def state_dict(self) -> dict[str, Any]:
        return {"curve": self.curve, "best": self.best}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.curve, self.best = state["curve"], state["best"]
