"""Callbacks: what a training calls before its first step, after each step, and after the last one.

Chapter 5 uses it, by way of `attnlib.train.fit`. A callback reads the training (`step`, `losses`, `model`, ...) and may
end it by `training.should_stop = True`. `HeldOut` and `Checkpoints` are callbacks too, in modules of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from attnlib.train.held_out import HeldOut
    from attnlib.train.training import Training


class Callback:
    """The moments of a training; a callback defines those that it needs.

    >>> class StopBelow(Callback):
    ...     def on_step_end(self, training):
    ...         training.should_stop = training.losses[-1] < 0.1
    """

    state_key: ClassVar[str | None] = None  # the name of its state in a checkpoint; None: it has no state

    def on_train_begin(self, training: Training) -> None:
        """Before the first step, or the first one after a checkpoint was read."""

    def on_step_end(self, training: Training) -> None:
        """After each step; `training.step` counts it, and the gradients are those that the optimiser has used."""

    def on_train_end(self, training: Training) -> None:
        """After the last step, unless an error has ended the training."""

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint holds under `state_key`."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from what `state_dict` returned."""


class AfterStep(Callback):
    """Calls a plain function with the step and its loss."""

    def __init__(self, function: Callable[[int, float], None]) -> None:
        self.function = function

    def on_step_end(self, training: Training) -> None:
        self.function(training.step, training.losses[-1])


class Progress(Callback):
    """One line on the screen, written anew after each step."""

    def __init__(self, held_out: HeldOut | None = None) -> None:
        self.held_out = held_out

    def on_step_end(self, training: Training) -> None:
        print(f"\r{progress_line(training, self.held_out):<90}", end="", flush=True)

    def on_train_end(self, training: Training) -> None:
        print()


def time_left(seconds: float) -> str:
    """A duration as one says it.

    >>> time_left(80), time_left(600), time_left(12_000), time_left(1e6)
    ('80 s', '10 min', '3.3 h', '11.6 days')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 48 * 3600 else f"{seconds / 86_400:.1f} days"


def progress_line(training: Training, held_out: HeldOut | None = None) -> str:
    """How many steps are done, the losses, the speed, and the time that is left."""
    seconds = max(training.seconds, 1e-9)
    left = seconds / training.step * (training.steps - training.step)
    seen = f", held out {held_out.curve[-1][1]:.3f}" if held_out and held_out.curve else ""
    unit = "tokens" if training.counted else "batches"
    return (
        f"step {training.step} of {training.steps}: loss {training.losses[-1]:.3f}{seen} (nats a token), "
        f"{training.tokens / seconds:,.0f} {unit}/s, {time_left(left)} to go"
    )
