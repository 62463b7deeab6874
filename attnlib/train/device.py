"""Where a training runs and how large it is: decided here and nowhere else, and announced before it starts.

Book: how-to-use. On a CPU everything is as the book shows it. Where torch sees a GPU, `scale` gives the larger size and
says so. The environment variable ATTNLIB_DEVICE overrides what is found: "cpu" keeps to the CPU, and "pretend" takes
every decision as on a GPU and computes on the CPU, which is how the tests go that way without one.
"""

import os
from typing import NamedTuple, TypeVar

import torch

T = TypeVar("T", int, float)


class Device(NamedTuple):
    """A place to compute."""

    where: str  # torch's word for it: "cpu" or "cuda"
    label: str  # what is written on the box
    gigabytes: float  # memory of its own; 0 for the CPU, which has none

    @property
    def is_gpu(self) -> bool:
        return self.gigabytes > 0


CPU = Device("cpu", "cpu", 0.0)
PRETENDED = Device("cpu", "no GPU, the CPU in its place", 16.0)


def device() -> Device:
    """The GPU if there is one, else the CPU; ATTNLIB_DEVICE overrides it."""
    asked = os.environ.get("ATTNLIB_DEVICE", "")
    if asked not in ("", "cpu", "pretend"):
        raise ValueError(
            f'device: ATTNLIB_DEVICE must be "cpu" or "pretend" or not set; got {asked!r}. '
            "Unset it to use what is there."
        )
    if asked:
        return CPU if asked == "cpu" else PRETENDED
    if not torch.cuda.is_available():
        return CPU
    found = torch.cuda.get_device_properties(0)
    return Device("cuda", found.name, round(found.total_memory / 1e9, 1))


def scale(what: str, *, cpu: T, gpu: T, minutes: int | float) -> T:
    """How much of something to use: `cpu`, or on a GPU the larger `gpu`, which is announced with its time.

    what       what is larger, as it reads in the announcement
    minutes    how long the larger size takes at most, as measured on two cores of a CPU
    """
    here = device()
    if not here.is_gpu:
        return cpu
    print(f"On the GPU ({here.label}): {what} {gpu:,} instead of {cpu:,}, at most {minutes:g} min.")
    return gpu
