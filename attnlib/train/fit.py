"""The training loop of the course: step by step, watched, and kept so that it can be stopped at any moment.

Book: the-bottleneck. It knows nothing about the model: `loss(model, batch)` says what to make small. One step is in
`attnlib.train.training`.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch.optim.lr_scheduler import LambdaLR, LRScheduler

from attnlib import rules
from attnlib.shapes import Number, checked
from attnlib.train.crew import Alone
from attnlib.train.held_out import HeldOut
from attnlib.train.training import Training

HALF = (torch.float16, torch.bfloat16)
M = TypeVar("M", bound=torch.nn.Module)
B = TypeVar("B")


@checked
def fit(
    model: M,
    loss: Callable[[M, B], torch.Tensor | tuple[torch.Tensor, int]],
    batches: Iterable[B],
    *,
    steps: Number[int, "1.."],
    lr: float = 2e-3,
    optimizer: torch.optim.Optimizer | None = None,
    schedule: LRScheduler | None = None,
    clip: float = 1.0,
    accumulate: Number[int, "1.."] = 1,
    autocast: torch.dtype | None = None,
    held_out: HeldOut | None = None,
    folder: Path | None = None,
    keep_every: Number[int, "1.."] = 100,
    progress: bool = False,
    after_step: Callable[[int, float], None] | None = None,
    crew: Alone | None = None,
) -> list[float]:
    """Train `model` in place for `steps` steps and return the loss of every step.

    loss          the mean loss of a batch; or the sum and how many tokens it is of, and then each token counts the same
    optimizer     with its `schedule`, if it has one. By default Adam, with the rate `lr` for the first half, which then
                  falls on a line to zero
    clip          a gradient longer than this is shortened to it
    accumulate    batches of one step, for when one that is large enough does not fit
    autocast      the format in which matrices are multiplied, with parameters, gradients and optimiser in float32;
                  for `torch.float16` the loss is scaled, and a step whose gradients are too large for it is left out
    held_out      looks at the model now and then, and may say when to stop
    folder        where all is kept every `keep_every` steps and at the end; the same call goes on where it was stopped
    after_step    `after_step(step, loss)` may look at the model, for example to draw a learning curve
    crew          workers who share each batch; by default this process is alone
    """
    if optimizer is None:
        optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        schedule = LambdaLR(optimizer, lambda step: min(1.0, 2 - 2 * step / steps))
    rules.must(autocast in (None, *HALF), "fit", f"autocast must be None or one of {HALF}; got {autocast}.")
    data = iter(batches)
    knows = hasattr(data, "state_dict") and hasattr(data, "load_state_dict")
    came = f"got {type(data).__name__}. TokenRows is such data."
    rules.must(folder is None or knows, "fit", f"with a folder, data must have a state_dict; {came}")
    training = Training(
        model,
        loss,
        data,
        optimizer=optimizer,
        schedule=schedule,
        clip=clip,
        accumulate=accumulate,
        autocast=autocast,
        crew=crew,
    )
    _resume(training, folder, held_out)
    while training.step < steps and not (held_out and held_out.is_over()):
        _one(training, steps, held_out)
        if after_step is not None:
            after_step(training.step, training.losses[-1])
        if progress:
            print(f"\r{progress_line(training, steps, held_out):<90}", end="", flush=True)
        if folder is not None and (training.step % keep_every == 0 or training.step == steps):
            training.keep(folder, _held(held_out))
    if progress:
        print()
    if held_out is not None and held_out.best is not None:
        model.load_state_dict(held_out.best)
    return training.losses


def _held(held_out: HeldOut | None) -> dict[str, Any]:
    return {} if held_out is None else {"held_out": held_out.state_dict()}


def _resume(training: Training, folder: Path | None, held_out: HeldOut | None) -> None:
    """Go on with what is in the folder, if it was there before."""
    state = None if folder is None else training.resume(folder)
    if state is not None and held_out is not None:
        held_out.load_state_dict(state.get("held_out") or held_out.state_dict())


def _one(training: Training, steps: int, held_out: HeldOut | None) -> None:
    """A step, and a look at what is held out where one is due."""
    try:
        training.one_step()
    except StopIteration:
        several = training.accumulate
        many = "as many" if several == 1 else steps * several
        came = f"got {training.step * several}. Repeat the data (epochs=None)."
        raise ValueError(f"fit: {steps} steps need {many} batches; {came}") from None
    if held_out is not None and (training.step % held_out.every == 0 or training.step == steps):
        held_out.look(training.step, training.model)


def progress_line(training: Training, steps: int, held_out: HeldOut | None = None) -> str:
    """Where a training is, how fast, and how long it will be."""
    seconds = max(training.seconds, 1e-9)
    left = seconds / training.step * (steps - training.step)
    time_left = f"{left / 60:.0f} min" if left >= 90 else f"{left:.0f} s"
    seen = f", held out {held_out.curve[-1][1]:.3f}" if held_out and held_out.curve else ""
    unit = "tokens" if training.counted else "batches"
    return (
        f"step {training.step} of {steps}: loss {training.losses[-1]:.3f}{seen}, "
        f"{training.tokens / seconds:,.0f} {unit}/s, {time_left} to go"
    )
