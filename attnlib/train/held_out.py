"""The loss on data that a model is not trained on, measured every so many steps; and early stopping by it.

Chapter 5 uses it, by way of `attnlib.train.fit`.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from attnlib.shapes import Number, checked
from attnlib.train.callbacks import Callback
from attnlib.train.training import Training


class HeldOut(Callback):
    """Calls `measure(model)` every so many steps; less is better. Dropout is off, and no gradient is kept.

    patience    early stopping: after so many measurements without a better one the training ends, and the model gets
                the best parameters back

    >>> held_out = HeldOut(lambda model: float(abs(model.bias)), every=10)
    >>> held_out.look(10, nn.Linear(1, 1)); len(held_out.curve)
    1
    """

    state_key = "held_out"

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

    def on_train_begin(self, training: Training) -> None:
        training.should_stop |= self.is_over()  # a training that had stopped early is not resumed

    def on_step_end(self, training: Training) -> None:
        if training.step % self.every == 0 or training.step == training.steps:
            self.look(training.step, training.model)
            training.should_stop |= self.is_over()

    def on_train_end(self, training: Training) -> None:
        if self.best is not None:
            training.model.load_state_dict(self.best)

    @torch.no_grad()
    def look(self, step: int, model: nn.Module) -> None:
        """Measure, and copy the parameters if they are the best so far."""
        was_training = model.training
        model.eval()
        value = float(self.measure(model))
        model.train(was_training)
        if self.patience is not None and value < min((one for _, one in self.curve), default=math.inf):
            self.best = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        self.curve.append((step, value))

    def is_over(self) -> bool:
        """Whether none of the last `patience` measurements was better than the best before them."""
        if self.patience is None or len(self.curve) <= self.patience:
            return False
        values = [one for _, one in self.curve]
        return min(values[-self.patience :]) >= min(values[: -self.patience])

    def state_dict(self) -> dict[str, Any]:
        return {"curve": self.curve, "best": self.best}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.curve, self.best = state["curve"], state["best"]
