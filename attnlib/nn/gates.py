"""The twin of `attnlib.reference.gates`: a gate on each head, as a function and for a whole module.

The book derives it in eq-head-gate (Chapter 3).
"""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor, nn

from attnlib.nn.multihead import MultiHeadAttention
from attnlib.shapes import Float, checked


@checked
def gate_heads(Z: Float[Tensor, "*b h m d_v"], gates: Float[Tensor, "*#b h"]) -> Float[Tensor, "*b h m d_v"]:
    """Multiply each head's output with its gate; gates are (h,), or (*b, h) for each sequence (eq-head-gate)."""
    return Z * gates[..., None, None]  # eq-head-gate


@contextmanager
@checked
def gated_heads(module: MultiHeadAttention, gates: Tensor) -> Iterator[None]:
    """Inside the `with` block the module's heads are multiplied with `gates`; gradients reach the gates.

    >>> import torch
    >>> layer, gates = MultiHeadAttention(d_model=4, n_heads=2), torch.ones(2, requires_grad=True)
    >>> with gated_heads(layer, gates):
    ...     layer(torch.ones(1, 3, 4)).sum().backward()
    >>> gates.grad.shape
    torch.Size([2])
    """

    def hook(heads: nn.Module, inputs: tuple[Tensor, ...], Z: Tensor) -> Tensor:
        return gate_heads(Z, gates)

    handle = module.heads.register_forward_hook(hook)
    try:
        yield
    finally:
        handle.remove()
