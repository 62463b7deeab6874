"""The twin of `attnlib.reference.convolution`: convolutions over positions with one filter for each coordinate.

Chapter 4 discusses the feed-forward network with one; the short one is a part of layers with a state (Chapter 6).
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnlib import rules
from attnlib.nn.activations import relu, swish
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


@checked
def short_convolution(
    X: Float[Tensor, "*b n d"], C: Float[Tensor, "width d"], before: Float[Tensor, "*b rows d"] | None = None
) -> Float[Tensor, "*b n d"]:
    """A causal depthwise convolution without a bias, and swish.

    It is a sum of shifted rows: for the few positions of a short filter that takes less time than `F.conv1d`.

    before    the rows before X, of which the last width - 1 are seen; by default zeros
    """
    n, width = X.shape[-2], len(C)
    joined = X if before is None else torch.cat([before, X], dim=-2)
    first = joined.shape[-2] - n - (width - 1)  # the earliest row that is seen; below zero are rows of zeros
    rows = F.pad(joined, (0, 0, -first, 0))
    Y = rows[..., :n, :] * C[0]
    for i in range(1, width):
        Y = Y + rows[..., i : i + n, :] * C[i]
    return swish(Y)


class ShortConvolution(nn.Module):
    """A short convolution with its filters, which goes on where an earlier part of the text ended.

    d        how many coordinates there are, each with a filter of its own
    width    how many positions a filter sees: the token itself and width - 1 before it

    >>> layer, X = ShortConvolution(3, width=4), torch.randn(7, 3)
    >>> parts = layer(X[:5]), layer(X[5:], before=layer.recent(X[:5]))
    >>> torch.allclose(torch.cat(parts), layer(X))
    True
    """

    @checked
    def __init__(self, d: Number[int, "1.."], width: Number[int, "2.."] = 4) -> None:
        super().__init__()
        self.width = width
        self.C = nn.Parameter(0.1 * torch.randn(width, d))
        with torch.no_grad():
            self.C[-1] += (
                1  # at first almost the token alone, so that the queries and keys of different tokens differ
            )

    def extra_repr(self) -> str:
        """What the printed layer says."""
        return f"{self.C.shape[1]}, width={self.width}"

    def forward(
        self, X: Float[Tensor, "*b n d"], before: Float[Tensor, "*b rows d"] | None = None
    ) -> Float[Tensor, "*b n d"]:
        return short_convolution(X, self.C, before)

    def recent(
        self, X: Float[Tensor, "*b n d"], before: Float[Tensor, "*b rows d"] | None = None
    ) -> Float[Tensor, "*b recent d"]:
        """The rows that the next part of the text has to know: the last width - 1, or fewer where there are no more."""
        joined = X if before is None else torch.cat([before, X], dim=-2)
        return joined[..., max(0, joined.shape[-2] - self.width + 1) :, :]
