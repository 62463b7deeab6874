"""What a backward pass keeps: how many bytes, and how to keep less by computing it twice.

Chapter 5 counts it (small-numbers). `recompute` changes no number: it keeps what enters a part, and runs the part once
more when its gradient is wanted, with the same random numbers.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from attnlib.shapes import Number, checked


def recompute(parts: Iterable[nn.Module]) -> None:
    """From now on each part, such as a block of `model.blocks`, keeps what enters it and nothing else.

    >>> layer, X = nn.Linear(3, 3), torch.ones(2, 3, requires_grad=True)
    >>> part = nn.Sequential(layer, nn.GELU(), layer, nn.GELU())
    >>> before = saved_bytes(lambda: part(X), part); recompute([part]); before, saved_bytes(lambda: part(X), part)
    (96, 24)
    """
    for part in parts:
        part.forward = partial(checkpoint, part.forward, use_reentrant=False)


def saved_bytes(run: Callable[[], Any], model: nn.Module) -> int:
    """How many bytes a forward pass keeps for the backward one, without the parameters; what is shared counts once."""
    known = {one.untyped_storage().data_ptr() for one in model.parameters()}
    found: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in known:
            found[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        kept = run()  # held until all is counted: what is freed makes room for another at the same place
    del kept
    return sum(found.values())


@checked
def block_bytes(
    n: Number[int, "1.."],
    d_model: Number[int, "1.."],
    n_heads: Number[int, "1.."],
    d_hidden: Number[int, "1.."],
    each: Number[int, "1.."] = 4,
) -> int:
    """What a block of `GPT` keeps for n tokens, with fused attention and no dropout (eq-block-bytes).

    Eight vectors of d_model a token: what enters both norms and what leaves them, queries, keys, values, and what the
    heads say. Two of d_hidden: before the bend and behind it. Of each norm two numbers, and of each head one.

    >>> block_bytes(1, 4, 2, 16)
    280
    """
    return each * n * (8 * d_model + 2 * d_hidden + 4 + n_heads)  # eq-block-bytes
