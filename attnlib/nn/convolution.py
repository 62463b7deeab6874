"""The twin of `attnlib.reference.convolution`: a feed-forward network with a convolution over positions.

Chapter 4 discusses it.
"""

import torch.nn.functional as F
from torch import Tensor, nn

from attnlib import rules
from attnlib.nn.activations import relu
from attnlib.shapes import Float, Number, checked


@checked
def depthwise_convolution(
    X: Float[Tensor, "*b n d"],
    C: Float[Tensor, "width d"],
    b: Float[Tensor, "d"],
    ahead: Number[int, "0.."] = 0,
) -> Float[Tensor, "*b n d"]:
    """Each coordinate is a weighted sum of its own values at `width` neighbouring positions."""
    n, d = X.shape[-2:]
    rules.must(ahead < len(C), "depthwise_convolution", f"ahead must be below width={len(C)}; got {ahead=}.")
    rows = F.pad(X.reshape(-1, n, d).mT, (len(C) - 1 - ahead, ahead))
    return F.conv1d(rows, C.T[:, None], b, groups=d).mT.reshape(X.shape)


class ConvolvedFeedForward(nn.Module):
    """A linear map to a larger width, a convolution over neighbouring positions, ReLU, and a linear map back.

    width    positions that a filter sees
    ahead    how many of them are later positions; 0 is causal, as a decoder needs
    """

    @checked
    def __init__(self, *, d_model: int, d_hidden: int, width: int = 3, ahead: int = 0) -> None:
        super().__init__()
        self.ahead = ahead
        self.W_1 = nn.Linear(d_model, d_hidden)
        self.C = nn.Parameter(nn.init.normal_(self.W_1.weight.new_empty(width, d_hidden), std=width**-0.5))
        self.b_C = nn.Parameter(self.W_1.weight.new_zeros(d_hidden))
        self.W_2 = nn.Linear(d_hidden, d_model)

    def forward(self, X: Float[Tensor, "*b n d_model"]) -> Float[Tensor, "*b n d_model"]:
        return self.W_2(relu(depthwise_convolution(self.W_1(X), self.C, self.b_C, self.ahead)))
