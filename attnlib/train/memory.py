"""The activations that are saved for the backward pass: how many bytes, and how to save fewer by recomputing them.

Chapter 5 counts them (small-numbers). `recompute` is activation checkpointing: it saves the input of a module alone,
and runs the module once more for its gradient, with the same random numbers. So no result changes.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from attnlib.shapes import Number, checked


def recompute(modules: Iterable[nn.Module]) -> None:
    """From now on each module, such as a block of `model.blocks`, saves its input for the backward pass, nothing else.

    >>> layer, X = nn.Linear(3, 3), torch.ones(2, 3, requires_grad=True)
    >>> block = nn.Sequential(layer, nn.GELU(), layer, nn.GELU())
    >>> before = saved_bytes(lambda: block(X), block); recompute([block]); before, saved_bytes(lambda: block(X), block)
    (96, 24)
    """
    for module in modules:
        module.forward = partial(checkpoint, module.forward, use_reentrant=False)


def saved_bytes(run: Callable[[], Any], model: nn.Module) -> int:
    """The bytes that a forward pass saves for the backward pass, without the parameters; shared memory counts once."""
    known = {one.untyped_storage().data_ptr() for one in model.parameters()}
    found: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in known:
            found[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        output = (
            run()
        )  # held until all is counted, because freed memory can be used again at the same address
    del output
    return sum(found.values())


@checked
def block_bytes(
    n: Number[int, "1.."],
    d_model: Number[int, "1.."],
    n_heads: Number[int, "1.."],
    d_hidden: Number[int, "1.."],
    each: Number[int, "1.."] = 4,
) -> int:
    """The bytes that a block of `GPT` saves for n tokens, with fused attention and no dropout (eq-block-bytes).

    Eight vectors of d_model a token: the inputs and outputs of both norms, queries, keys, values, and the heads'
    outputs. Two of d_hidden: before and after the activation function. Two numbers for each norm, one for each head.

    >>> block_bytes(1, 4, 2, 16)
    280
    """
    return each * n * (8 * d_model + 2 * d_hidden + 4 + n_heads)  # eq-block-bytes
