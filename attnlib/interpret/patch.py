"""Put other words into a head's mouth, or take them out of one ear of a later layer.

Book: a-circuit. To replace what a head says by its mean takes the head out of a model (mean ablation); to replace it by
what it said of another text puts that one piece of information in (patching).
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
    said: Float[Tensor, "*#b #n d_v"],
    places: Bool[Tensor, "*#b n"] | None = None,
) -> Iterator[None]:
    """Inside the `with` block the head says `said` instead of its own output, at the `places` that are True.

    >>> layer, X = MultiHeadAttention(d_model=4, n_heads=2, bias=False), torch.ones(1, 3, 4)
    >>> with patched_head(layer, 0, torch.zeros(1, 2)), patched_head(layer, 1, torch.zeros(1, 2)):
    ...     print(float(layer(X).detach().abs().sum()))
    0.0
    """

    def speak(module: nn.Module, inputs: tuple[Tensor, ...], Z: Tensor) -> Tensor:
        own = Z[..., head, :, :]
        other = said if places is None else torch.where(places[..., None], said, own)
        return torch.cat(
            [Z[..., :head, :, :], other.expand_as(own)[..., None, :, :], Z[..., head + 1 :, :, :]], -3
        )

    handle = layer.heads.register_forward_hook(speak)
    try:
        yield
    finally:
        handle.remove()


@contextmanager
@checked
def deaf_to(projection: nn.Module, part: Float[Tensor, "*#b #n d_model"]) -> Iterator[None]:
    """Inside the `with` block the projection, one `W_Q`, `W_K` or `W_V`, reads its input without `part` of it.

    >>> layer, X = nn.Linear(2, 2, bias=False), torch.ones(1, 2)
    >>> with deaf_to(layer, X):
    ...     print(layer(X).tolist())
    [[0.0, 0.0]]
    """

    def listen(module: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (inputs[0] - part, *inputs[1:])

    handle = projection.register_forward_pre_hook(listen)
    try:
        yield
    finally:
        handle.remove()
