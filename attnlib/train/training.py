"""The training loop: gradients of a batch, clipped; a step of the optimiser; a step of the schedule; the callbacks.

Chapter 5 uses it, by way of `attnlib.train.fit`. A step that cannot be made leaves the model as it was before it.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from attnlib import rules
from attnlib.train.callbacks import Callback
from attnlib.train.worker_group import SingleWorker, Workers

Loss = Callable[[Any, Any], Tensor | tuple[Tensor, int]]


class TrainingStopped(RuntimeError):
    """No further step can be made; the model and its checkpoints are as they were before."""


def out_of_memory(error: RuntimeError) -> bool:
    """Whether a batch did not fit: a GPU has an error class for it, the CPU has a sentence."""
    return isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error)


class Training:
    """A model, its optimiser and schedule, and how far they are."""

    def __init__(
        self,
        model: nn.Module,
        loss: Loss,
        batches: Iterator[Any],
        *,
        steps: int,
        optimizer: torch.optim.Optimizer,
        schedule: torch.optim.lr_scheduler.LRScheduler | None,
        clip: float,
        accumulate: int = 1,
        autocast: torch.dtype | None = None,
        callbacks: Sequence[Callback] = (),
        workers: Workers | None = None,
    ) -> None:
        self.model, self.loss, self.steps = model, loss, steps
        self.workers = workers or SingleWorker()
        self.replica, self.batches = self.workers.replica(model), self.workers.shard(batches)
        self.optimizer, self.schedule = optimizer, schedule
        self.clip, self.accumulate = clip, accumulate
        self.autocast = autocast
        needs_scale = autocast == torch.float16  # bfloat16 has the exponents of float32
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=needs_scale)
        self.callbacks, self.should_stop = list(callbacks), False
        self.losses: list[float] = []
        self.tokens, self.seconds = 0, 0.0  # where the loss is a mean, a batch counts as one token
        self.counted = False  # whether the loss says how many tokens it is of

    @property
    def step(self) -> int:
        return len(self.losses)

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    def run(self) -> None:
        """All steps that are left."""
        for callback in self.callbacks:
            callback.on_train_begin(self)
        while self.step < self.steps and not self.should_stop:
            self.one_step()
            for callback in self.callbacks:
                callback.on_step_end(self)
        for callback in self.callbacks:
            callback.on_train_end(self)

    def one_step(self) -> None:
        """Gradients of one or more batches, clipped; then the optimiser and the schedule move on."""
        begun = time.monotonic()
        self.model.train()
        self.optimizer.zero_grad()
        value = self._gradients()
        self.scaler.unscale_(self.optimizer)  # before clipping, which needs the gradient's true length
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        may_skip = self.scaler.get_scale() > 1
        if not math.isfinite(value) or not (math.isfinite(norm) or may_skip):
            raise TrainingStopped(
                f"fit: loss and gradient must be finite; got {value:g} and {norm:g} in step {self.step + 1}. "
                "The model is as before it. Try a lower rate, a longer warmup or a smaller clip."
            )
        self.scaler.step(self.optimizer)  # makes no step where the scaled gradient is not finite
        self.scaler.update()
        if self.schedule is not None:
            self.schedule.step()
        self.losses.append(value)
        self.seconds += time.monotonic() - begun

    def _gradients(self) -> float:
        """The mean loss over all tokens of this step, with its gradients; the batches may differ in size."""
        total, tokens = 0.0, 0
        for _ in range(self.accumulate):
            value, count = self._backward(self._next_batch())
            total, tokens = total + value, tokens + count
        total, tokens = self.workers.mean(total, tokens)
        rules.must(tokens > 0, "fit", f"a step must have a token that counts; got {tokens}.")
        for parameter in self.model.parameters():
            if parameter.grad is not None and tokens != 1:
                parameter.grad /= tokens
        self.tokens += round(tokens * self.workers.world_size)
        return total / tokens

    def _backward(self, batch: Any) -> tuple[float, int]:
        """The loss of a batch and of how many tokens it is the sum; its gradients are added to those that are there."""
        try:
            with torch.autocast(self.device.type, self.autocast, enabled=self.autocast is not None):
                found = self.loss(self.replica, batch)
            self.counted = isinstance(found, tuple)
            value, count = found if isinstance(found, tuple) else (found, 1)
            self.scaler.scale(value).backward()
            return value.item(), int(count)
        except RuntimeError as error:
            if not out_of_memory(error):
                raise
            raise TrainingStopped(
                f"fit: a batch must fit into the memory of {self.device.type}; got one that does not in step "
                f"{self.step + 1}. Take a smaller one, and `accumulate` several in a step."
            ) from error

    def _next_batch(self) -> Any:
        try:
            return next(self.batches)
        except StopIteration:
            several = self.accumulate
            many = "as many" if several == 1 else self.steps * several
            came = f"got {self.step * several}. Repeat the data (epochs=None)."
            raise ValueError(f"fit: {self.steps} steps need {many} batches; {came}") from None
