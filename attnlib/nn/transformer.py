"""The twin of `attnlib.reference.transformer`: feed-forward networks, residual connections, and the block of both.

The book derives it in eq-feed-forward, eq-pre-norm, eq-post-norm and eq-decoder-block (Chapter 4). A norm is
`torch.nn.LayerNorm`, `torch.nn.RMSNorm`, or any module that maps vectors to vectors.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from attnlib import rules
from attnlib.nn.activations import gelu, gelu_tanh, relu, sigmoid, swish
from attnlib.nn.cache import KVCache, SourceCache
from attnlib.nn.depth import StochasticDepth
from attnlib.nn.multihead import Rotate
from attnlib.nn.ring_cache import RingCache
from attnlib.nn.state_cache import StateCache
from attnlib.shapes import Float, Number, checked

Map = Callable[[Tensor], Tensor]
LayerCache = KVCache | RingCache | StateCache  # what a layer keeps: all positions, the last ones, or a state


def _unchanged(A: Tensor) -> Tensor:
    """No activation function: two maps one after another are a map."""
    return A


ACTIVATIONS = {
    "relu": relu,
    "gelu": gelu,
    "gelu_tanh": gelu_tanh,
    "swish": swish,
    "sigmoid": sigmoid,
    "none": _unchanged,
}


@checked
def pre_norm(X: Float[Tensor, "*b d_model"], norm: Map, sublayer: Map) -> Float[Tensor, "*b d_model"]:
    """X + f(norm(X)): the residual stream passes every sublayer unchanged, from the first layer to the last."""
    return X + sublayer(norm(X))


@checked
def post_norm(X: Float[Tensor, "*b d_model"], norm: Map, sublayer: Map) -> Float[Tensor, "*b d_model"]:
    """norm(X + f(X)): the order of 2017; the residual stream passes a norm after every sublayer."""
    return norm(X + sublayer(X))


@checked
def without_residual(X: Float[Tensor, "*b d_model"], norm: Map, sublayer: Map) -> Float[Tensor, "*b d_model"]:
    """f(norm(X)): there is no residual connection, so what the sublayer does not return is lost.

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
    """A wider layer, an activation function, and a map back: the same for every position, and each position alone.

    activation    one of ACTIVATIONS
    gated         the activated layer is multiplied with a second map of X (with swish this is SwiGLU)

    >>> import torch
    >>> layer, X = FeedForward(d_model=4, d_hidden=16), torch.randn(3, 4)
    >>> layer(X).shape, torch.allclose(layer(X[:1]), layer(X)[:1], atol=1e-6)  # other positions change nothing
    (torch.Size([3, 4]), True)
    """

    @checked
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
        self.d_model, self.activation = d_model, ACTIVATIONS[activation]
        self.hidden = _gated if gated else _plain
        self.W_1 = nn.Linear(d_model, d_hidden, bias=bias)
        self.W_G = nn.Linear(d_model, d_hidden, bias=bias) if gated else None
        self.W_2 = nn.Linear(d_hidden, d_model, bias=bias)
        self.dropout = dropout_of(dropout)

    def forward(self, X: Float[Tensor, "*b d_model"]) -> Float[Tensor, "*b d_model"]:
        return self.dropout(self.W_2(self.hidden(self, X)))


def _plain(network: Any, X: Tensor) -> Tensor:
    """The hidden layer of a `FeedForward`."""
    return network.activation(network.W_1(X))


def _gated(network: Any, X: Tensor) -> Tensor:
    """That of a gated one: the activated map is multiplied with a second one."""
    return network.activation(network.W_G(X)) * network.W_1(X)


class Given(NamedTuple):
    """What the sublayers of a block may read beside the residual stream."""

    mask: Tensor | None = None
    bias: Tensor | None = None
    rotate: Rotate | None = None
    kv_cache: LayerCache | None = None
    memory: Tensor | None = None
    source_mask: Tensor | None = None
    source_cache: SourceCache | None = None


def _attention(block: Any, Z: Tensor, given: Given) -> Tensor:
    """What attention within the sequence adds to the stream."""
    Y = block.attention(Z, mask=given.mask, bias=given.bias, rotate=given.rotate, kv_cache=given.kv_cache)
    return block.dropout(Y)


def _state(block: Any, Z: Tensor, given: Given) -> Tensor:
    """What a layer with a state adds. Rotations and biases belong to scores, which it has none of: its tokens are in
    order because they are written one after another. A mask is passed on, to be refused."""
    return block.dropout(block.state(Z, mask=given.mask, kv_cache=given.kv_cache))


def _cross(block: Any, Z: Tensor, given: Given) -> Tensor:
    """What attention from the sequence to the memory of a source adds (eq-cross-projections)."""
    memory, mask = given.memory, given.source_mask
    return block.dropout(block.cross(Z, memory, mask=mask, kv_cache=given.source_cache))


def _feed_forward(block: Any, Z: Tensor, given: Given) -> Tensor:
    """What the feed-forward network adds; it drops by itself."""
    return block.feed_forward(Z)


# How a block calls each kind of sublayer, by the name under which the block holds it.
SUBLAYERS = {"attention": _attention, "state": _state, "cross": _cross, "feed_forward": _feed_forward}
# The empty cache of those that carry information from position to position.
CACHES: dict[str, Callable[[Any, int | None], LayerCache]] = {
    "attention": lambda layer, capacity: getattr(layer, "new_cache", KVCache)(capacity),
    "state": lambda layer, capacity: StateCache(),
}


class Block(nn.Module):
    """Sublayers one after another, each with its norm and its residual connection (eq-pre-norm, eq-post-norm).

    sublayers    by name, one of SUBLAYERS, in the order in which they are applied; None leaves one out. With
                 `attention` and `feed_forward` it is a block of a GPT or of an encoder, with `cross` between
                 them one of a decoder (eq-decoder-block); `state` stands for `attention` in a layer with a state
    order        one of ORDERS: the norm stands before the sublayer ("pre") or after the sum ("post")
    dropout      share that is dropped, while training, of what attention and cross-attention add
    skipped      share of sequences that skip each sublayer while training: stochastic depth
    norm_after   a class of norm applied to what each sublayer adds, before the sum; with "pre" this is a sandwich
    """

    no_norm = staticmethod(
        torch.positive
    )  # returns what it gets: after a sublayer of a block without norms there

    def __init__(
        self,
        *,
        norm: Callable[[int], nn.Module] = nn.LayerNorm,
        order: str = "pre",
        dropout: float = 0.0,
        skipped: float = 0.0,
        norm_after: Callable[[int], nn.Module] | None = None,
        **sublayers: nn.Module | None,
    ) -> None:
        super().__init__()
        self.order = order
        held = {name: sublayer for name, sublayer in sublayers.items() if sublayer is not None}
        rules.must(len(held) > 0, "block", "there must be a sublayer or more; got none.")
        for name, sublayer in held.items():
            rules.one_of("block", "a sublayer", name, SUBLAYERS)
            self.add_module(name, sublayer)
        d_model: Any = next(iter(held.values())).d_model
        for i in range(len(held)):
            self.add_module(f"norm_{i + 1}", norm(d_model))
            if norm_after is not None:
                self.add_module(f"after_{i + 1}", norm_after(d_model))
        self.steps = tuple(
            (f"norm_{i}", SUBLAYERS[name], "no_norm" if norm_after is None else f"after_{i}")
            for i, name in enumerate(held, start=1)
        )
        self.dropout = dropout_of(dropout)
        self.depth = StochasticDepth(skipped) if skipped else nn.Identity()

    @property
    def order(self) -> str:
        """Where the norms stand, one of ORDERS; it may be changed later, because a norm is the same in each order."""
        return next(name for name, residual in ORDERS.items() if residual is self.residual)

    @order.setter
    def order(self, name: str) -> None:
        rules.one_of("block", "order", name, ORDERS)
        self.residual = ORDERS[name]

    def forward(
        self,
        X: Float[Tensor, "*b m d_model"],
        mask: Tensor | None = None,
        bias: Tensor | None = None,
        rotate: Rotate | None = None,
        kv_cache: LayerCache | None = None,
        memory: Float[Tensor, "*b n d_source"] | None = None,
        source_mask: Tensor | None = None,
        source_cache: SourceCache | None = None,
    ) -> Float[Tensor, "*b m d_model"]:
        """mask, bias, rotate and kv_cache are those of attention; memory and source_mask (*b, m, n) of cross-attention.
        A layer with a state takes the kv_cache alone.

        With a kv_cache, X are the tokens after those that it holds; with a source_cache the memory is projected once.
        """
        given = Given(mask, bias, rotate, kv_cache, memory, source_mask, source_cache)
        for norm, sublayer, after in self.steps:
            added = self._added_by(sublayer, getattr(self, after), given)
            X = self.residual(X, getattr(self, norm), added)
        return X

    def new_cache(self, capacity: int | None = None) -> LayerCache:
        """An empty cache of the kind that its mixer keeps. With `capacity`, one that grows takes its memory once."""
        for name, new in CACHES.items():
            if name in self._modules:
                return new(self._modules[name], capacity)
        return KVCache(capacity)

    def _added_by(self, sublayer: Callable[..., Tensor], after: Map, given: Given) -> Map:
        """A sublayer as a function of what it reads from the stream, with its last norm and stochastic depth."""
        return lambda Z: self.depth(after(sublayer(self, Z, given)))
