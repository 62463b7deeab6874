"""A nudge before a training begins: does a result hold if the parameters start a millionth away? (`make nudge`)

A result that depends on the last bits of a number depends on the machine. With ATTNLIB_NUDGE=SEED in the environment,
each optimiser of PyTorch multiplies its parameters by 1 + 1e-6 times a normal draw when it takes its first step. It is
off by default, and no notebook mentions it. Equal parameters get equal draws, so two trainings that are the same stay
the same; one that is continued from a checkpoint is not nudged again.
"""

import os
import zlib
from typing import Any
from weakref import WeakSet

import torch
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_pre_hook

SIZE = 1e-6
_begun: "WeakSet[Optimizer]" = WeakSet()


@torch.no_grad()
def nudge(parameter: torch.Tensor, seed: int) -> None:
    """Multiply each number by 1 + SIZE times a normal draw; the draws follow from the numbers and the seed."""
    numbers = parameter.detach().cpu().float().contiguous().numpy()
    draw = torch.Generator().manual_seed(zlib.crc32(numbers.tobytes(), seed))
    parameter.mul_(1 + SIZE * torch.randn(parameter.shape, generator=draw).to(parameter))


def at_first_step(optimizer: Optimizer, args: Any, kwargs: Any) -> None:
    """Nudge the parameters of an optimiser that has neither begun nor been loaded."""
    if optimizer in _begun:
        return
    _begun.add(optimizer)
    if not optimizer.state:
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                nudge(parameter, int(os.environ.get("ATTNLIB_NUDGE", "0")))


def switch_on() -> Any:
    """Nudge all trainings from now on; `remove()` of what is returned ends it."""
    return register_optimizer_step_pre_hook(at_first_step)
