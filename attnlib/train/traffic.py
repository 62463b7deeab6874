"""The communication of a program: a record of all messages and collectives that go through `torch.distributed`.

Chapter 5 uses it. For each it counts the bytes that this worker passes to the call, and how many of them leave the
worker if the collective is a ring (eq-ring-bytes). A backend may send them in another way.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor
from torch._C._distributed_c10d import _resolve_process_group
from torch.utils._python_dispatch import TorchDispatchMode

# The name, the index of the argument with the data, and the share of it that leaves each of p workers.
KINDS: dict[str, tuple[str, int, Callable[[int], float]]] = {
    "allreduce_": ("all-reduce", 0, lambda p: 2 * (p - 1) / p),
    "all_reduce": ("all-reduce", 0, lambda p: 2 * (p - 1) / p),
    "_allgather_base_": ("all-gather", 0, lambda p: (p - 1) / p),
    "_reduce_scatter_base_": ("reduce-scatter", 1, lambda p: (p - 1) / p),
    "send": ("send", 0, lambda p: 1),
}


class Sent(NamedTuple):
    """One message or collective."""

    kind: str
    handed: int  # bytes that were passed to it
    left: float  # bytes that leave this worker


def _group_size(arguments: tuple[Any, ...]) -> int:
    """The number of workers in the process group, an argument that is an object or, as the last one, a name."""
    for one in arguments[1:]:
        if isinstance(one, torch.ScriptObject) and "ProcessGroup" in str(one._type()):
            return dist.ProcessGroup.unbox(one).size()
    return _resolve_process_group(arguments[-1]).size()


class Traffic(TorchDispatchMode):
    """`with Traffic() as traffic:` and then `traffic.sent`, in order, and `traffic.bytes()`.

    A message of fewer than `least` bytes, such as a number of tokens, is not recorded.
    """

    def __init__(self, least: int = 16) -> None:
        super().__init__()
        self.least = least
        self.sent: list[Sent] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        if func.namespace in ("c10d", "_c10d_functional") and name in KINDS:
            kind, which, share = KINDS[name]
            given = [args[which]] if isinstance(args[which], Tensor) else args[which]
            size = sum(one.numel() * one.element_size() for one in given)
            if size >= self.least:
                self.sent.append(Sent(kind, size, size * share(_group_size(args))))
        return func(*args, **(kwargs or {}))

    def bytes(self, kind: str | None = None) -> int:
        """The bytes that have left this worker, in calls of one kind or of all."""
        return math.ceil(sum(one.left for one in self.sent if kind in (None, one.kind)) - 1e-6)
