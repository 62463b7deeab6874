"""`fit`: train any model on any data, watched by callbacks, with checkpoints from which the same call goes on.

Book: the-bottleneck. It knows nothing about the model: `loss(model, batch)` computes what is to be minimised. The loop
and its step are in `attnlib.train.training`.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

import torch
from torch.optim.lr_scheduler import LambdaLR, LRScheduler

from attnlib import rules
from attnlib.shapes import Number, checked
from attnlib.train.callbacks import AfterStep, Callback, Progress
from attnlib.train.held_out import HeldOut
from attnlib.train.state import Checkpoints, resume
from attnlib.train.training import Training
from attnlib.train.worker_group import Workers

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
    callbacks: Sequence[Callback] = (),
    after_step: Callable[[int, float], None] | None = None,
    held_out: HeldOut | None = None,
    progress: bool = False,
    folder: Path | str | None = None,
    keep_every: Number[int, "1.."] = 100,
    keep_seconds: Number[float, "0.."] | None = None,
    workers: Workers | None = None,
) -> list[float]:
    """Train `model` in place for `steps` steps and return the loss of every step.

    loss          the mean loss of a batch; or the sum and how many tokens it is of, and then each token counts the same
    optimizer     with its `schedule`, if it has one. By default Adam, with the rate `lr` for the first half, which then
                  falls on a line to zero
    clip          a longer gradient is shortened to this length; `math.inf` leaves each as it is
    accumulate    batches of one step, for when one that is large enough does not fit
    autocast      the format in which matrices are multiplied, with parameters, gradients and optimiser in float32;
                  for `torch.float16` the loss is scaled, and a step whose gradients are too large for it is left out
    callbacks     what is called at the beginning, after each step and at the end; see `attnlib.train.callbacks`.
                  The next four arguments are callbacks that come with it
    after_step    a function that is called with the step and its loss, for example to draw a learning curve
    held_out      measures the loss on other data now and then, and may end the training early
    progress      whether to print a line of progress
    folder        for a checkpoint every `keep_every` steps and at the end; the same call goes on from the newest one
    keep_seconds  for a checkpoint as well when the last one is older than this
    workers       a `WorkerGroup` of processes that share each batch; by default this process is the only one
    """
    if optimizer is None:
        optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        schedule = LambdaLR(optimizer, lambda step: min(1.0, 2 - 2 * step / steps))
    rules.must(autocast in (None, *HALF), "fit", f"autocast must be None or one of {HALF}; got {autocast}.")
    data = iter(batches)
    before, after = [held_out] if held_out else [], [AfterStep(after_step)] if after_step else []
    training = Training(
        model, loss, data, steps=steps, optimizer=optimizer, schedule=schedule, clip=clip,
        accumulate=accumulate, autocast=autocast, callbacks=[*before, *callbacks, *after], workers=workers,
    )  # fmt: skip
    if progress:
        training.callbacks.append(Progress(held_out))
    if folder is not None:
        knows = hasattr(data, "state_dict") and hasattr(data, "load_state_dict")
        came = f"got {type(data).__name__}. TokenRows is such data."
        rules.must(knows, "fit", f"with a folder, data must have a state_dict; {came}")
        resume(training, folder)
        training.callbacks.append(
            Checkpoints(folder, keep_every, keep_seconds)
        )  # last, when all others have seen the step
    training.run()
    return training.losses
