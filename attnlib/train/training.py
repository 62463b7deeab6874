"""A model on its way: what one step does, and all that must be kept so that it can go on as if it had never stopped.

Chapter 5 uses it, by way of `attnlib.train.fit`. A step that cannot be made leaves the model as it was before it.
"""

import math
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from attnlib import rules
from attnlib.train.checkpoint import load_checkpoint, save_checkpoint
from attnlib.train.crew import Alone

Loss = Callable[[Any, Any], Tensor | tuple[Tensor, int]]


class TrainingStopped(RuntimeError):
    """No step can be made; the model, and what was kept of it, are as they were before."""


def random_states(where: torch.device) -> dict[str, Any]:
    """What the next random numbers follow from, of everyone who draws some."""
    name, keys, *rest = np.random.get_state()
    states = {"python": random.getstate(), "numpy": (name, np.asarray(keys).tolist(), *rest)}
    on_gpu = [torch.cuda.get_rng_state(where)] if where.type == "cuda" else []
    return {**states, "torch": torch.get_rng_state(), "where": where.type, "on_gpu": on_gpu}


def set_random_states(states: dict[str, Any], where: torch.device) -> None:
    """Go on drawing where `random_states` was asked."""
    random.setstate(states["python"])
    np.random.set_state(states["numpy"])
    torch.set_rng_state(states["torch"])
    for state in states["on_gpu"]:
        torch.cuda.set_rng_state(state, where)


def no_room(error: RuntimeError) -> bool:
    """Whether a batch did not fit: a GPU has an error of its own for it, the CPU has a sentence."""
    return isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error)


class Training:
    """A model, its optimiser and schedule, and where they are in the data."""

    def __init__(
        self,
        model: nn.Module,
        loss: Loss,
        batches: Iterator[Any],
        *,
        optimizer: torch.optim.Optimizer,
        schedule: torch.optim.lr_scheduler.LRScheduler | None,
        clip: float,
        accumulate: int = 1,
        autocast: torch.dtype | None = None,
        crew: Alone | None = None,
    ) -> None:
        self.model, self.loss = model, loss
        self.crew = crew or Alone()
        self.asked, self.batches = self.crew.spread(model), self.crew.share(batches)
        self.optimizer, self.schedule = optimizer, schedule
        self.clip, self.accumulate = clip, accumulate
        self.autocast = autocast
        needs_scale = autocast == torch.float16  # bfloat16 reaches as far down as float32
        self.scaler = torch.amp.GradScaler(self.where.type, enabled=needs_scale)
        self.losses: list[float] = []
        self.tokens, self.seconds = 0, 0.0  # as long as only means came, a batch counts as one
        self.counted = False

    @property
    def step(self) -> int:
        return len(self.losses)

    @property
    def where(self) -> torch.device:
        return next(self.model.parameters()).device

    def one_step(self) -> float:
        """Gradients of some batches, clipped; then the optimiser and the schedule move on."""
        begun = time.monotonic()
        self.model.train()
        self.optimizer.zero_grad()
        try:
            value = self._gradients()
        except RuntimeError as error:
            if not no_room(error):
                raise
            raise TrainingStopped(
                f"fit: a batch must fit into the memory of {self.where.type}; got one that does not in step "
                f"{self.step + 1}. Take a smaller one, and `accumulate` several in a step."
            ) from error
        self.scaler.unscale_(self.optimizer)  # before the clip: it is the gradient that has a length
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        may_skip = self.scaler.get_scale() > 1
        if not math.isfinite(value) or not (math.isfinite(norm) or may_skip):
            raise TrainingStopped(
                f"fit: loss and gradient must be finite; got {value:g} and {norm:g} in step {self.step + 1}. "
                "The model is as before it. Try a lower rate, a longer warmup or a smaller clip."
            )
        self.scaler.step(self.optimizer)  # or not, where the scale was too large for this gradient
        self.scaler.update()
        if self.schedule is not None:
            self.schedule.step()
        self.losses.append(value)
        self.seconds += time.monotonic() - begun
        return value

    def _gradients(self) -> float:
        """The mean loss over all tokens of this step, with its gradients; the batches may differ in size."""
        total, tokens = 0.0, 0
        for _ in range(self.accumulate):
            with torch.autocast(self.where.type, self.autocast, enabled=self.autocast is not None):
                found = self.loss(self.asked, next(self.batches))
            self.counted = isinstance(found, tuple)
            value, counted = found if isinstance(found, tuple) else (found, 1)
            self.scaler.scale(value).backward()
            total, tokens = total + value.item(), tokens + int(counted)
        total, tokens = self.crew.mean(total, tokens)
        rules.must(tokens > 0, "fit", f"a step must have a token that counts; got {tokens}.")
        for parameter in self.model.parameters():
            if parameter.grad is not None and tokens != 1:
                parameter.grad /= tokens
        self.tokens += round(tokens * self.crew.size)
        return total / tokens

    def keep(self, folder: Path, more: dict[str, Any]) -> None:
        """All of it, into a folder; of several workers the first one writes."""
        states = self.crew.everyones(random_states(self.where))
        if self.crew.rank:
            return
        state = {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "schedule": None if self.schedule is None else self.schedule.state_dict(),
            "scaler": self.scaler.state_dict(),
            "batches": self.batches.state_dict(),  # type: ignore[attr-defined]
            "random": states if self.crew.size > 1 else states[0],
            "losses": self.losses,
            "tokens": self.tokens,
            "seconds": self.seconds,
        }
        save_checkpoint(folder, self.step, state | more)

    def resume(self, folder: Path) -> dict[str, Any] | None:
        """Be what was kept in the folder, if something was; returns the state."""
        found = load_checkpoint(folder)
        if found is None:
            return None
        state = found.state
        states = state["random"] if isinstance(state["random"], list) else [state["random"]]
        was = states[0]["where"]
        came = f"got one on {self.where.type}. Move the model there first, or begin in another folder."
        rules.must(
            was == self.where.type, "fit", f"the model must be on {was}, where its training was kept; {came}"
        )
        try:
            self.model.load_state_dict(state["model"])
            self.optimizer.load_state_dict(state["optimizer"])
        except (RuntimeError, ValueError) as error:
            came = " ".join(str(error).split())[:200]
            raise ValueError(
                f"fit: a folder goes on with the model and the optimiser that it was begun with; got '{came}'. "
                "Choose another folder for another model."
            ) from error
        if self.schedule is not None:
            self.schedule.load_state_dict(state["schedule"])
        if self.scaler.is_enabled() and state.get("scaler"):
            self.scaler.load_state_dict(state["scaler"])
        self.batches.load_state_dict(state["batches"])  # type: ignore[attr-defined]
        self.losses, self.tokens, self.seconds = state["losses"], state["tokens"], state["seconds"]
        if len(states) == self.crew.size:  # with another number of workers, each draws on from where it is
            set_random_states(states[self.crew.rank], self.where)
        return state
