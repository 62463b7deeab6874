"""Checkpoints of a training: all that it needs to go on, after any interruption, as if it had never stopped.

Chapter 5 uses it, by way of `attnlib.train.fit`. What a checkpoint is on the disk is in `attnlib.train.checkpoint`.
"""

import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from attnlib import rules
from attnlib.train.callbacks import Callback
from attnlib.train.checkpoint import load_checkpoint, save_checkpoint
from attnlib.train.training import Training


def random_states(device: torch.device) -> dict[str, Any]:
    """The states of all random generators: of Python, NumPy, PyTorch and, where the model is on one, the GPU."""
    name, keys, *rest = np.random.get_state()
    states = {"python": random.getstate(), "numpy": (name, np.asarray(keys).tolist(), *rest)}
    on_gpu = [torch.cuda.get_rng_state(device)] if device.type == "cuda" else []
    return {**states, "torch": torch.get_rng_state(), "where": device.type, "on_gpu": on_gpu}


def set_random_states(states: dict[str, Any], device: torch.device) -> None:
    """Put back what `random_states` returned, so that the same numbers are drawn again."""
    random.setstate(states["python"])
    np.random.set_state(states["numpy"])
    torch.set_rng_state(states["torch"])
    for state in states["on_gpu"]:
        torch.cuda.set_rng_state(state, device)


class Checkpoints(Callback):
    """Saves the training every so many steps, or seconds, and at its end; of several workers the first one writes."""

    def __init__(self, folder: str | Path, every: int, seconds: float | None = None) -> None:
        self.folder, self.every, self.seconds = folder, every, seconds
        self.saved = time.monotonic()

    def is_due(self, training: Training) -> bool:
        """The same for all workers, of which the first one's clock counts."""
        if training.step % self.every == 0 or training.step == training.steps or training.should_stop:
            return True
        if self.seconds is None:
            return False
        late = time.monotonic() - self.saved >= self.seconds and training.workers.rank == 0
        return training.workers.mean(float(late))[0] > 0

    def on_step_end(self, training: Training) -> None:
        if not self.is_due(training):
            return
        states = training.workers.gather(random_states(training.device))  # all workers take part in this
        consolidate = getattr(training.optimizer, "consolidate_state_dict", None)
        if consolidate is not None:  # of a sharded optimiser each worker has a share of the state
            consolidate(to=0)
        if training.workers.rank == 0:
            save_checkpoint(self.folder, training.step, state_of(training, states))
        self.saved = time.monotonic()


def with_states(callbacks: list[Callback]) -> dict[str, Callback]:
    """The callbacks that have a state, by the name that it has in a checkpoint."""
    found = [(one.state_key, one) for one in callbacks if one.state_key is not None]
    names = [name for name, _ in found]
    came = f"got {', '.join(names)}. Give each class a `state_key` of its own."
    rules.must(len(set(names)) == len(names), "fit", f"callbacks must keep their states apart; {came}")
    return dict(found)


def state_of(training: Training, states: list[dict[str, Any]]) -> dict[str, Any]:
    """What a checkpoint holds; `states` are the random states of each worker."""
    schedule = training.schedule
    return {
        "model": training.model.state_dict(),
        "optimizer": training.optimizer.state_dict(),
        "schedule": None if schedule is None else schedule.state_dict(),
        "scaler": training.scaler.state_dict(),
        "batches": training.batches.state_dict(),  # type: ignore[attr-defined]
        "random": states if len(states) > 1 else states[0],
        "losses": training.losses,
        "tokens": training.tokens,
        "seconds": training.seconds,
        **{name: one.state_dict() for name, one in with_states(training.callbacks).items()},
    }


def resume(training: Training, folder: str | Path) -> None:
    """Give a new training the state of the newest checkpoint in the folder, if there is one."""
    found = load_checkpoint(folder)
    if found is None:
        return
    state = found.state
    states = state["random"] if isinstance(state["random"], list) else [state["random"]]
    kept_on, device = states[0]["where"], training.device
    came = f"got one on {device.type}. Move the model there first, or begin in another folder."
    rules.must(
        kept_on == device.type, "fit", f"the model must be on {kept_on}, where its training was kept; {came}"
    )
    load_model_and_optimizer(training, state)
    if training.schedule is not None:
        training.schedule.load_state_dict(state["schedule"])
    if training.scaler.is_enabled() and state.get("scaler"):
        training.scaler.load_state_dict(state["scaler"])
    training.batches.load_state_dict(state["batches"])  # type: ignore[attr-defined]
    training.losses, training.tokens, training.seconds = state["losses"], state["tokens"], state["seconds"]
    for name, callback in with_states(training.callbacks).items():
        if state.get(name):  # else this callback is new
            callback.load_state_dict(state[name])
    if len(states) == training.workers.world_size:  # another number of workers draws new random numbers
        set_random_states(states[training.workers.rank], device)


def load_model_and_optimizer(training: Training, state: dict[str, Any]) -> None:
    """Both as they were kept, or one sentence that says that they do not fit."""
    try:
        training.model.load_state_dict(state["model"])
        training.optimizer.load_state_dict(state["optimizer"])
    except (RuntimeError, ValueError) as error:
        came = " ".join(str(error).split())[:200]
        raise ValueError(
            f"fit: a folder goes on with the model and the optimiser that it was begun with; got '{came}'. "
            "Choose another folder for another model."
        ) from error
