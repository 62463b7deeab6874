"""Change what one head gives to the model, or what one projection of a later layer reads.

Book: a-circuit. Replacing a head's output by its mean removes the head (mean ablation). Replacing it by the head's
output on another text gives the model that one piece of information (activation patching).
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from attnlib.nn.multihead import MultiHeadAttention
from attnlib.shapes import Bool, Float, checked


@contextmanager
@checked
def patched_head(
    layer: MultiHeadAttention,
    head: int,
    output: Float[Tensor, "*#b #n d_v"],
    positions: Bool[Tensor, "*#b n"] | None = None,
) -> Iterator[None]:
    """Inside the `with` block the head's output becomes `output`, at the `positions` that are True (None: at all).

    >>> layer, X = MultiHeadAttention(d_model=4, n_heads=2, bias=False), torch.ones(1, 3, 4)
    >>> with patched_head(layer, 0, torch.zeros(1, 2)), patched_head(layer, 1, torch.zeros(1, 2)):
    ...     print(float(layer(X).detach().abs().sum()))
    0.0
    """

    def replace(module: nn.Module, inputs: tuple[Tensor, ...], Z: Tensor) -> Tensor:
        own = Z[..., head, :, :]
        other = output if positions is None else torch.where(positions[..., None], output, own)
        return torch.cat(
            [Z[..., :head, :, :], other.expand_as(own)[..., None, :, :], Z[..., head + 1 :, :, :]], -3
        )

    handle = layer.heads.register_forward_hook(replace)
    try:
        yield
    finally:
        handle.remove()


@contextmanager
@checked
def input_without(projection: nn.Module, part: Float[Tensor, "*#b #n d_model"]) -> Iterator[None]:
    """Inside the `with` block a projection (`W_Q`, `W_K` or `W_V` of a layer) gets its input minus `part`.

    >>> layer, X = nn.Linear(2, 2, bias=False), torch.ones(1, 2)
    >>> with input_without(layer, X):
    ...     print(layer(X).tolist())
    [[0.0, 0.0]]
    """

    def subtract(module: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (inputs[0] - part, *inputs[1:])

    handle = projection.register_forward_pre_hook(subtract)
    try:
        yield
    finally:
        handle.remove()
