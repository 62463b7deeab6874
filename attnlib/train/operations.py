"""The operations of PyTorch in a program, each with its arithmetic and the bytes that it must move.

Chapter 5 counts a step with it (where-the-time-goes). The counts are those of the operations, not measurements of a
machine: its caches may save bytes, and a bad order of memory accesses costs more. A view moves none.
"""

from math import prod
from typing import Any, NamedTuple

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

# Fused attention on a CPU: how many products of (n, d) with (d, m), forward and backward.
ATTENTION = {
    "_scaled_dot_product_flash_attention_for_cpu": (0, 2),
    "_scaled_dot_product_flash_attention_for_cpu_backward": (1, 5),
}


class Operation(NamedTuple):
    """One call: its name, its operations (a multiply-add is two), and its bytes, in and out."""

    name: str
    flops: int
    moved: int


def tensors(found: Any) -> list[Tensor]:
    return [one for one in tree_leaves(found) if isinstance(one, Tensor)]


def flops_of(func: Any, args: Any, kwargs: Any, out: Any) -> int:
    """For matrix products by their sizes; for anything else one operation for each number of its largest argument."""
    name = func.overloadpacket.__name__
    if name in ATTENTION:
        first, products = ATTENTION[name]
        Q, K = args[first], args[first + 1]
        return 2 * products * prod(Q.shape) * K.shape[-2]
    if func.overloadpacket in flop_registry:
        return flop_registry[func.overloadpacket](*args, **kwargs, out_val=out)
    return max(sum(one.numel() for one in tensors(given)) for given in (*args, *kwargs.values(), out))


def written_in_place(func: Any, args: Any, kwargs: Any) -> list[Tensor]:
    """The tensors that an in-place operation writes; gradients are left out, because optimisers only read them."""
    given = dict(zip((one.name for one in func._schema.arguments), args, strict=False)) | kwargs
    changed = [one.name for one in func._schema.arguments if one.alias_info and one.alias_info.is_write]
    return tensors([given.get(name) for name in changed if name != "grads"])


class Operations(TorchDispatchMode):
    """`with Operations() as counted:` and then `counted.all`, in order.

    >>> import torch
    >>> with Operations() as counted: Y = torch.ones(2, 3) @ torch.ones(3, 5)
    >>> counted.all[-1]  # 2 x 2 x 3 x 5 operations; 6, 15 and 10 numbers of 4 bytes
    Operation(name='mm', flops=60, moved=124)
    """

    def __init__(self) -> None:
        super().__init__()
        self.all: list[Operation] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        name = func.overloadpacket.__name__
        results = tensors(out) or written_in_place(func, args, kwargs)
        moved = sum(one.nbytes for one in tensors((args, kwargs)) + results)
        if moved and not func.is_view and name != "_unsafe_view":
            self.all.append(Operation(name, flops_of(func, args, kwargs, out), moved))
        return out
