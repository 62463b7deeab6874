"""The device that a training runs on, and how large it is there; both are decided here alone.

Book: how-to-use. On a CPU everything is as the book shows it. Where torch finds a GPU, `scale` returns the larger size
and prints a line about it. The environment variable ATTNLIB_DEVICE overrides what is found: "cpu" keeps to the CPU, and
"pretend" takes every decision as on a GPU and computes on the CPU, so that tests without a GPU can run that code.
"""

import contextlib
import os
from collections.abc import Iterator
from typing import NamedTuple, TypeVar

import torch

T = TypeVar("T", int, float)


class Device(NamedTuple):
    """A processor that computes: the CPU or a GPU."""

    type: str  # as in `torch.device(type)`: "cpu" or "cuda"
    label: str  # the name of the model of GPU
    gigabytes: float  # the GPU's memory; 0 for the CPU, which has none of its own

    @property
    def is_gpu(self) -> bool:
        return self.gigabytes > 0


CPU = Device("cpu", "cpu", 0.0)
PRETENDED = Device("cpu", "no GPU, the CPU in its place", 16.0)


def device() -> Device:
    """The GPU if there is one, else the CPU; ATTNLIB_DEVICE overrides it."""
    wanted = os.environ.get("ATTNLIB_DEVICE", "")
    if wanted not in ("", "cpu", "pretend"):
        raise ValueError(
            f'device: ATTNLIB_DEVICE must be "cpu" or "pretend" or not set; got {wanted!r}. '
            "Unset it to use what is there."
        )
    if wanted:
        return CPU if wanted == "cpu" else PRETENDED
    if not torch.cuda.is_available():
        return CPU
    found = torch.cuda.get_device_properties(0)
    return Device("cuda", found.name, round(found.total_memory / 1e9, 1))


def scale(what: str, *, cpu: T, gpu: T, minutes: int | float) -> T:
    """How much of something to use: `cpu`, or on a GPU the larger `gpu`, and then a line says so.

    what       the name of what is larger, for the printed line
    minutes    how long the larger size takes at most, as measured on two cores of a CPU
    """
    here = device()
    if not here.is_gpu:
        return cpu
    print(f"On the GPU ({here.label}): {what} {gpu:,} instead of {cpu:,}, at most {minutes:g} min.")
    return gpu


@contextlib.contextmanager
def on_device(name: str | None) -> Iterator[None]:
    """Inside, also in processes that are started there, "cpu" or "cuda" computes; None leaves it open."""
    if name is None:
        yield
        return
    if name == "cuda" and not torch.cuda.is_available():
        raise ValueError('device: there must be a GPU for "cuda"; torch finds none. Take "cpu".')
    before = os.environ.get("ATTNLIB_DEVICE")
    os.environ["ATTNLIB_DEVICE"] = "cpu" if name == "cpu" else ""
    try:
        yield
    finally:
        os.environ.pop("ATTNLIB_DEVICE")
        if before is not None:
            os.environ["ATTNLIB_DEVICE"] = before
