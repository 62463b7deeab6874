"""The twin of `attnlib.reference.transformer`: what stands between two layers of attention, and the block of both.

The book derives it in eq-feed-forward, eq-pre-norm and eq-post-norm (Chapter 4). A norm is
`torch.nn.LayerNorm`, `torch.nn.RMSNorm`, or any module that maps vectors to vectors.
"""

from collections.abc import Callable

from torch import Tensor, nn

from attnlib import rules
from attnlib.nn.activations import gelu, gelu_tanh, relu, sigmoid, swish
from attnlib.nn.cache import KeyValueCache
from attnlib.nn.depth import StochasticDepth
from attnlib.nn.multihead import MultiHeadAttention
from attnlib.shapes import Float, Number, checked

ACTIVATIONS = {"relu": relu, "gelu": gelu, "gelu_tanh": gelu_tanh, "swish": swish, "sigmoid": sigmoid}
Map = Callable[[Tensor], Tensor]


@checked
def pre_norm(X: Float[Tensor, "*b d_model"], norm: Map, sublayer: Map) -> Float[Tensor, "*b d_model"]:
    """X + f(norm(X)): the way around the sublayer is free from the first layer to the last."""
    return X + sublayer(norm(X))


@checked
def post_norm(X: Float[Tensor, "*b d_model"], norm: Map, sublayer: Map) -> Float[Tensor, "*b d_model"]:
    """norm(X + f(X)): the order of 2017; every layer's norm stands in the way of what goes around."""
    return norm(X + sublayer(X))


@checked
def without_residual(X: Float[Tensor, "*b d_model"], norm: Map, sublayer: Map) -> Float[Tensor, "*b d_model"]:
    """f(norm(X)): what the sublayer does not say again is gone.

    >>> import torch
    >>> without_residual(torch.tensor([[1.0, 2.0]]), nn.Identity(), torch.zeros_like)
    tensor([[0., 0.]])
    """
    return sublayer(norm(X))


ORDERS = {"pre": pre_norm, "post": post_norm, "without residual": without_residual}


@checked
def dropout_of(share: Number[float, "0..1"]) -> nn.Module:
    """A layer that drops a share while training; where nothing is dropped, one that does nothing.

    >>> dropout_of(0.1), dropout_of(0.0)
    (Dropout(p=0.1, inplace=False), Identity())
    """
    return nn.Dropout(share) if share else nn.Identity()


class FeedForward(nn.Module):
    """Out into a wider room, a bend, and back: the same for every position, and each position alone.

    activation    one of ACTIVATIONS
    gated         what comes out of the bend is multiplied with a second map of X (with swish this is SwiGLU)

    >>> import torch
    >>> layer, X = FeedForward(d_model=4, d_hidden=16), torch.randn(3, 4)
    >>> layer(X).shape, torch.allclose(layer(X[:1]), layer(X)[:1], atol=1e-6)  # a position does not hear of the others
    (torch.Size([3, 4]), True)
    """

    def __init__(
        self,
        *,
        d_model: int,
        d_hidden: int,
        activation: str = "relu",
        gated: bool = False,
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        rules.one_of("feed_forward", "activation", activation, ACTIVATIONS)
        self.activation = activation
        self.W_1 = nn.Linear(d_model, d_hidden, bias=bias)
        self.W_G = nn.Linear(d_model, d_hidden, bias=bias) if gated else None
        self.W_2 = nn.Linear(d_hidden, d_model, bias=bias)
        self.dropout = dropout_of(dropout)

    def forward(self, X: Float[Tensor, "*b d_model"]) -> Float[Tensor, "*b d_model"]:
        bend = ACTIVATIONS[self.activation]
        H = bend(self.W_1(X)) if self.W_G is None else bend(self.W_G(X)) * self.W_1(X)
        return self.dropout(self.W_2(H))


class Block(nn.Module):
    """Attention and a feed-forward network, each with its norm and a way around it.

    feed_forward    None leaves it out
    order           one of ORDERS: the norm stands before the sublayer ("pre") or behind the sum ("post")
    skipped         share of sequences that go around each sublayer while training: stochastic depth
    """

    def __init__(
        self,
        *,
        attention: MultiHeadAttention,
        feed_forward: nn.Module | None,
        norm: Callable[[int], nn.Module] = nn.LayerNorm,
        order: str = "pre",
        dropout: float = 0.0,
        skipped: float = 0.0,
    ) -> None:
        super().__init__()
        rules.one_of("block", "order", order, ORDERS)
        self.order = order
        self.attention, self.feed_forward = attention, feed_forward
        self.norm_1 = norm(attention.d_model)
        self.norm_2 = nn.Identity() if feed_forward is None else norm(attention.d_model)
        self.dropout = dropout_of(dropout)
        self.depth = StochasticDepth(skipped) if skipped else nn.Identity()

    def forward(
        self,
        X: Float[Tensor, "*b n d_model"],
        mask: Tensor | None = None,
        bias: Tensor | None = None,
        positions: Callable[[Tensor, int], Tensor] | None = None,
        cache: KeyValueCache | None = None,
    ) -> Float[Tensor, "*b n d_model"]:
        """Each position hears the others, then thinks alone; mask, bias, positions and cache are attention's."""
        around = ORDERS[self.order]

        def attention(Z: Tensor) -> Tensor:
            Y = self.attention(Z, mask=mask, bias=bias, positions=positions, cache=cache)
            return self.depth(self.dropout(Y))

        X = around(X, self.norm_1, attention)
        if self.feed_forward is None:
            return X
        network = self.feed_forward
        return around(X, self.norm_2, lambda Z: self.depth(network(Z)))
