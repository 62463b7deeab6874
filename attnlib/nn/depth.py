"""The twin of `attnlib.reference.depth` (book: Chapter 5): for some sequences a sublayer is left out in training."""

import torch
from torch import Tensor, nn

from attnlib import rules
from attnlib.shapes import Bool, Float, Number, checked


@checked
def stochastic_depth(
    Y: Float[Tensor, "*b n d"], kept: Bool[Tensor, "*b"], share: Number[float, "0<..1"]
) -> Float[Tensor, "*b n d"]:
    """What a sublayer adds for the sequences that keep it, divided by the share of them; zeros for the others."""
    return Y * (kept.to(Y.dtype) / share)[..., None, None]


class StochasticDepth(nn.Module):
    """Zeros for a share `rate` of the sequences while training; `Block` has one after each sublayer.

    >>> layer = StochasticDepth(0.5)
    >>> sorted(set(layer(torch.ones(100, 1, 2)).flatten().tolist())), layer.eval()(torch.ones(1, 2))
    ([0.0, 2.0], tensor([[1., 1.]]))
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        rules.must(0 <= rate < 1, "StochasticDepth", f"rate must be at least 0 and below 1; got {rate=}.")
        self.rate = rate

    def forward(self, Y: Float[Tensor, "*b n d"]) -> Float[Tensor, "*b n d"]:
        if not self.training or self.rate == 0:
            return Y
        return stochastic_depth(Y, torch.rand(Y.shape[:-2], device=Y.device) >= self.rate, 1 - self.rate)
